import type { WorkflowRecord } from "../../model/graph.ts";
import { LIMITS } from "../../model/limits.ts";
import type { JsonSchema } from "../../model/manifest.ts";
import {
  hasEnded,
  type JournalEntry,
  type RunQuestion,
  type RunSummary,
  type StoredRun,
} from "../../model/run.ts";
import { questionOf } from "../../model/question.ts";
import type { QueueEntry } from "../../model/queue.ts";
import type { RunAttempt, RunReader } from "../../store/runs.ts";
import type { StoreReader } from "../../store/store.ts";
import { visitsOfRun, type NodeVisit } from "./visits.ts";

/** A run with what can be told of its nodes. */
export type RunDetails = {
  run: StoredRun;
  nodes: NodeVisit[];
  questions: RunQuestion[];
  /** All runs of its request, by attempt. */
  attempts: RunAttempt[];
  /** The workflow with whose code it runs; absent where a newer definition was accepted since. */
  workflow?: WorkflowRecord;
  /** Absent where nothing of it is to be done now. */
  queue?: QueueEntry;
  /** Field paths of its input that are secret, as the workflow says today. */
  secretPaths: readonly string[];
};

/** Reads a run with its journal; without `bodies` it has no inputs and outputs of nodes. */
export async function readRunDetails(
  reader: StoreReader,
  run: StoredRun,
  { bodies }: { bodies: boolean },
): Promise<RunDetails> {
  const journal = await readJournal(reader, run.runId, { bodies });
  const nodes = visitsOfRun(journal, run);
  const accepted = await workflowOf(reader, run);
  const workflow = accepted?.digest === run.digest ? accepted : undefined;
  const asked = hasEnded(run) ? [] : await reader.awaited(run.runId);
  const questions = asked
    .filter(({ event }) => event === "begun")
    .map((line) => questionOf(run.runId, line, workflow?.graph.nodes[line.node]));
  const secretPaths = accepted?.secretPaths ?? [];
  const [queue] = hasEnded(run) ? [] : await reader.queue({ uid: run.runId });
  return {
    run,
    nodes,
    questions,
    attempts: await reader.attempts(run.runId),
    secretPaths,
    ...(queue ? { queue } : {}),
    ...(workflow ? { workflow } : {}),
  };
}

/** A journal from `after` on, page by page. */
export async function readJournal(
  reader: Pick<RunReader, "journal">,
  runId: string,
  { bodies = false, after = 0 }: { bodies?: boolean; after?: number },
): Promise<JournalEntry[]> {
  const all: JournalEntry[] = [];
  for (;;) {
    const last = all.at(-1)?.sequence ?? after;
    const page = await reader.journal(runId, { after: last, limit: LIMITS.page, bodies });
    all.push(...page);
    // A page of large values is shorter than asked for, so only an empty one is the end.
    if (page.length === 0) return all;
  }
}

/** The workflow that a run is of, as it was accepted last. */
export async function workflowOf(
  reader: Pick<RunReader, "workflows">,
  { project, workflow }: Pick<RunSummary, "project" | "workflow">,
): Promise<WorkflowRecord | undefined> {
  const all = await reader.workflows(project);
  return all.find(({ name }) => name === workflow);
}

/** What an answer to a checkpoint must be, or what a node hands over; undefined where not known. */
export function schemaOfNode(
  workflow: WorkflowRecord | undefined,
  node: string,
): JsonSchema | undefined {
  return workflow?.graph.nodes[node]?.outputSchema;
}
