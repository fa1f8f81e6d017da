import { waitFor } from "../apply/wait.ts";
import type { WaitGoal, WaitOutcome, WaitTarget } from "../apply/waiting.ts";
import { LIMITS } from "../model/limits.ts";
import { describeRef } from "../model/resource.ts";
import { printable } from "../model/text.ts";
import type { Client } from "../server/protocol.ts";
import { describeGoal } from "./goal.ts";
import type { Cli } from "./invocation.ts";

/** How long a wait takes where `--timeout` is not given. Milliseconds. */
export const DEFAULT_WAIT_MS = 5 * 60_000;

export type WaitRequest = { targets: WaitTarget[]; goal: WaitGoal; timeoutMs: number };

/**
 * Waits for resources of the project, and says on stderr that it does.
 * @throws PiWorkflowsError WAIT_TIMEOUT, NOT_FOUND
 */
export async function waitOn(
  cli: Cli,
  client: Client,
  { targets, goal, timeoutMs }: WaitRequest,
): Promise<WaitOutcome[]> {
  if (targets.length === 0) return [];
  const [first] = targets as [WaitTarget];
  const what = targets.length === 1 ? printable(describeRef(first)) : `${targets.length} resources`;
  cli.output.note(`waiting for ${what} to be ${describeGoal(goal)}`);
  const over = new AbortController();
  const manager = targets.every(({ resourceManager }) => resourceManager === first.resourceManager)
    ? { manager: first.resourceManager }
    : {};
  const query = { project: cli.project, ...manager };
  try {
    const changes = client.watch(query, AbortSignal.any([cli.signal, over.signal]));
    return await waitFor(targets, goal, changes, { timeoutMs, clock: { schedule } });
  } finally {
    over.abort();
  }
}

function schedule(callback: () => void, delayMs: number): () => void {
  const timer = setTimeout(callback, Math.min(delayMs, LIMITS.maxTimerMs));
  return () => clearTimeout(timer);
}

/** What became of a wait, for people: one line for each resource that the runtime gave up on. */
export function describeOutcomes(outcomes: readonly WaitOutcome[], goal: WaitGoal): string {
  const stalled = outcomes.filter(({ state }) => state === "stalled");
  const suspended = outcomes.filter(({ state }) => state === "suspended");
  const met = outcomes.length - stalled.length - suspended.length;
  return [
    ...suspended.map((outcome) =>
      printable(
        `${describeRef(outcome)} is suspended; \`pi-workflows resume ${describeRef(outcome)}\``,
      ),
    ),
    ...stalled.map((outcome) => {
      const reason = outcome.condition ? ` (${outcome.condition.reason})` : "";
      const message = outcome.condition?.message ? `: ${outcome.condition.message}` : "";
      return printable(`${describeRef(outcome)} is not tried any more${reason}${message}`);
    }),
    ...(met === 0 ? [] : [metLine(outcomes, met, goal)]),
  ].join("\n");
}

function metLine(outcomes: readonly WaitOutcome[], met: number, goal: WaitGoal): string {
  const [only] = outcomes;
  const word = describeGoal(goal);
  if (outcomes.length !== 1 || only === undefined) return `${met} of ${outcomes.length} ${word}`;
  const reason = only.condition ? ` (${only.condition.reason})` : "";
  return printable(`${describeRef(only)} is ${word}${reason}`);
}
