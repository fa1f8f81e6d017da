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
import type { QueueEntry } from "../../model/queue.ts";
import type { RunReader } from "../../store/runs.ts";
import type { StoreReader } from "../../store/store.ts";
import { visitsOf, type AttemptState, type NodeVisit } from "./visits.ts";

/** A run with what can be told of its nodes. */
export type RunDetails = {
  run: StoredRun;
  nodes: NodeVisit[];
  questions: RunQuestion[];
  /** The workflow with whose code it runs; absent where a newer definition was accepted since. */
  workflow?: WorkflowRecord;
  /** Absent where nothing of it is to be done now. */
  queue?: QueueEntry;
  /** Field paths of its input that are secret, as the workflow says today. */
  secretPaths: readonly string[];
};

/** Reads a run with its journal; without `bodies` it has no inputs and outputs of nodes. */
export async function readRunDetails(
  reader: RunReader & Pick<StoreReader, "queue">,
  run: StoredRun,
  { bodies }: { bodies: boolean },
): Promise<RunDetails> {
  const journal = await readJournal(reader, run.runId, { bodies });
  const nodes = closed(visitsOf(journal), run);
  const accepted = await workflowOf(reader, run);
  const workflow = accepted?.digest === run.digest ? accepted : undefined;
  const questions = await openQuestions(reader, journal, { run, nodes, workflow });
  const secretPaths = accepted?.secretPaths ?? [];
  const [queue] = hasEnded(run) ? [] : await reader.queue({ uid: run.runId });
  return {
    run,
    nodes,
    questions,
    secretPaths,
    ...(queue ? { queue } : {}),
    ...(workflow ? { workflow } : {}),
  };
}

/** With the end of a run ends what was open, though no line of its journal says so. */
function closed(nodes: NodeVisit[], run: StoredRun): NodeVisit[] {
  const { endedAt } = run;
  if (endedAt === undefined) return nodes;
  const isOpen = ({ state }: { state: AttemptState }) => state === "running" || state === "waiting";
  return nodes.map((visit) =>
    isOpen(visit)
      ? {
          ...visit,
          state: "aborted",
          endedAt,
          attempts: visit.attempts.map((attempt) =>
            isOpen(attempt) ? { ...attempt, state: "aborted", endedAt } : attempt,
          ),
        }
      : visit,
  );
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

/** The questions that wait for an answer, in the order in which they were asked. */
async function openQuestions(
  reader: RunReader,
  journal: readonly JournalEntry[],
  { run, nodes, workflow }: Asked,
): Promise<RunQuestion[]> {
  const questions: RunQuestion[] = [];
  for (const { visit, node, kind, state, startedAt } of nodes) {
    if (kind !== "checkpoint" || state !== "waiting" || hasEnded(run)) continue;
    const begun = journal.findLast((entry) => entry.event === "begun" && entry.visit === visit);
    const schema = schemaOfNode(workflow, node);
    questions.push({
      runId: run.runId,
      visit,
      node,
      message: (await messageOf(reader, run.runId, begun)) ?? run.message ?? node,
      ...(schema ? { schema } : {}),
      askedAt: startedAt,
    });
  }
  return questions;
}

type Asked = {
  run: StoredRun;
  nodes: readonly NodeVisit[];
  workflow: WorkflowRecord | undefined;
};

/** A checkpoint's `begun` keeps its message as its input, which is read here where it was not. */
async function messageOf(
  reader: Pick<RunReader, "journal">,
  runId: string,
  begun: JournalEntry | undefined,
): Promise<string | undefined> {
  if (begun === undefined) return undefined;
  const [entry] = await reader.journal(runId, {
    after: begun.sequence - 1,
    limit: 1,
    bodies: true,
  });
  const input = entry?.event === "begun" ? entry.input : undefined;
  if (typeof input === "string") return input;
  const message = (input as { message?: unknown } | null | undefined)?.message;
  return typeof message === "string" ? message : undefined;
}
