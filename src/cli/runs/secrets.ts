import type { Json } from "../../model/canonical.ts";
import type { RunQuestion, StoredRun } from "../../model/run.ts";
import { maskSecretsIn } from "../../model/secret-text.ts";
import { maskValue } from "../../diff/mask.ts";
import { secretValues } from "../../diff/secret-values.ts";
import type { RunReader } from "../../store/runs.ts";
import { workflowOf, type RunDetails } from "./details.ts";
import type { NodeAttempt, NodeVisit } from "./visits.ts";

/** Masks the secrets of one run, and what looks like a credential, in a value or a text. */
export type RunMask = <Value extends Json>(value: Value) => Value;

/** The mask for what repeats the secret fields of a run's input. */
export function maskOfRun(
  { input }: Pick<StoredRun, "input">,
  secretPaths: readonly string[],
): RunMask {
  const secrets = secretValues(input, secretPaths);
  return (value) => maskValue(maskSecretsIn(value, secrets) as Json, []) as typeof value;
}

/**
 * A run with the secret fields of its input, their values wherever else they stand, and what looks
 * like a credential, masked.
 */
export function presentableRun(details: RunDetails, showSecrets: boolean): RunDetails {
  if (showSecrets) return details;
  const { run, nodes, questions, secretPaths } = details;
  const mask = maskOfRun(run, secretPaths);
  return {
    ...details,
    run: maskRun(run, secretPaths),
    nodes: nodes.map((visit) => maskVisit(visit, mask)),
    questions: questions.map((question) => maskQuestion(question, mask)),
  };
}

/** The same of a run alone, for what a command that changes it prints. */
export async function presentableStored(
  reader: Pick<RunReader, "workflows">,
  run: StoredRun,
): Promise<StoredRun> {
  return maskRun(run, (await workflowOf(reader, run))?.secretPaths ?? []);
}

function maskRun(run: StoredRun, secretPaths: readonly string[]): StoredRun {
  const mask = maskOfRun(run, secretPaths);
  return {
    ...run,
    input: maskValue(run.input, secretPaths),
    ...(run.output === undefined ? {} : { output: mask(run.output) }),
    ...(run.message === undefined ? {} : { message: mask(run.message) }),
  };
}

export function maskQuestion(question: RunQuestion, mask: RunMask): RunQuestion {
  return { ...question, message: mask(question.message) };
}

function maskVisit(visit: NodeVisit, mask: RunMask): NodeVisit {
  const { attempts, undone } = visit;
  return {
    ...visit,
    attempts: attempts.map((attempt) => maskAttempt(attempt, mask)),
    ...(undone ? { undone: undone.map((attempt) => maskAttempt(attempt, mask)) } : {}),
  };
}

function maskAttempt(attempt: NodeAttempt, mask: RunMask): NodeAttempt {
  const { error, input, output } = attempt;
  return {
    ...attempt,
    ...(error ? { error: mask(error) } : {}),
    ...(input === undefined ? {} : { input: mask(input) }),
    ...(output === undefined ? {} : { output: mask(output) }),
  };
}
