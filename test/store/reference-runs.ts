import type { Json } from "../../src/model/canonical.ts";
import type {
  JournalEntry,
  NodeOrder,
  RunEnding,
  RunReason,
  RunState,
  StoredRun,
} from "../../src/model/run.ts";

import type { AwaitedLine } from "../../src/store/runs.ts";

/** A run as the reference model keeps it, beside its resource. */
export type ModelRun = {
  workflow: string;
  digest: string;
  keepsCode: boolean;
  input: Json;
  state: RunState;
  reason?: RunReason;
  message?: string;
  node?: string;
  exit?: string;
  output?: Json;
  parent?: { uid: string; resourceManager: string; key: string };
  requestKey: string;
  attempt: number;
  session?: string;
  startedBy: string;
  cancelBy?: string;
  epochs: number;
  journal: JournalEntry[];
  answers: { node: string; ordinal: number; value: Json; by: string }[];
  resolutions: ({ visit: number } & NodeOrder)[];
  startedAt?: number;
  endedAt?: number;
  deadlineAt: number;
};

export type ModelMove =
  | RunEnding
  | { state: "pending" | "running"; message?: string }
  | { state: "interrupted"; reason: "Stalled" | "DefinitionChanged"; message: string };

export const PAUSED_MOVE = { state: "waiting", reason: "Paused", message: "" } as const;

export function isEnded({ endedAt }: ModelRun): boolean {
  return endedAt !== undefined;
}

/** Given up until somebody says `resume`. */
export function isHeldBack({ reason }: Pick<ModelRun, "reason">): boolean {
  return reason === "Stalled" || reason === "DefinitionChanged";
}

type AttemptLine = Extract<JournalEntry, { visit: number }>;

function attemptLines({ journal }: ModelRun): AttemptLine[] {
  return journal.filter((entry): entry is AttemptLine => "visit" in entry);
}

/** The visits of a checkpoint in the order in which they were reached: its ordinals. */
export function reachedVisits(run: ModelRun, node: string): number[] {
  const reached = attemptLines(run)
    .filter((entry) => "kind" in entry && entry.kind === "checkpoint" && entry.node === node)
    .map(({ visit }) => visit);
  return [...new Set(reached)];
}

/** What the journal said last of a visit. */
export function lastOf(run: ModelRun, visit: number): string | undefined {
  return attemptLines(run).findLast((entry) => entry.visit === visit)?.event;
}

export function isAmbiguousVisit(run: ModelRun, visit: number): boolean {
  const last = attemptLines(run).findLast(
    (entry) => entry.visit === visit && entry.event !== "begun",
  );
  return last?.event === "ambiguous";
}

/** Of each visit that waits for a person, the line with which it began to. */
export function awaitedLines(run: ModelRun): AwaitedLine[] {
  const since = new Map<number, AwaitedLine>();
  for (const line of attemptLines(run)) {
    if (line.event === "ambiguous") since.set(line.visit, line);
    else if (line.event !== "begun") since.delete(line.visit);
    else if (line.kind === "checkpoint") since.set(line.visit, line);
  }
  return [...since.values()].sort((a, b) => a.sequence - b.sequence);
}

export function ordinalFor(run: ModelRun, node: string): number {
  const visits = reachedVisits(run, node);
  const open = visits.findIndex((visit) => lastOf(run, visit) === "begun");
  return open === -1 ? visits.length + 1 : open + 1;
}

/** Forgets what people said and the journal has by now. */
export function forgetTaken(run: ModelRun, lines: readonly JournalEntry[]): void {
  for (const line of lines) {
    if (!("visit" in line) || line.event === "begun" || line.event === "ambiguous") continue;
    run.resolutions = run.resolutions.filter(({ visit }) => visit !== line.visit);
    const ordinal = reachedVisits(run, line.node).indexOf(line.visit) + 1;
    run.answers = run.answers.filter(
      (answer) => answer.node !== line.node || answer.ordinal !== ordinal,
    );
  }
}

export function hasHeard(run: ModelRun): boolean {
  const cancel = run.cancelBy !== undefined && !run.journal.some(({ event }) => event === "cancel");
  return cancel || run.answers.length > 0 || run.resolutions.length > 0;
}

export function toModelStored(
  run: ModelRun,
  resource: { uid: string; project: string; suspended: boolean; createdAt: number },
  claimedAt: number | undefined,
): StoredRun {
  return {
    runId: resource.uid,
    project: resource.project,
    workflow: run.workflow,
    digest: run.digest,
    input: run.input,
    state: run.state,
    ...(run.reason === undefined ? {} : { reason: run.reason }),
    ...(run.message === undefined ? {} : { message: run.message }),
    ...(run.node === undefined ? {} : { node: run.node }),
    ...(run.exit === undefined ? {} : { exit: run.exit }),
    ...(run.output === undefined ? {} : { output: run.output }),
    attempt: run.attempt,
    ...(run.parent ? { parent: { ...run.parent, requestKey: run.requestKey } } : {}),
    ...(run.session === undefined ? {} : { session: run.session }),
    startedBy: run.startedBy,
    cancelling: run.cancelBy !== undefined && !isEnded(run),
    paused: resource.suspended,
    ...(claimedAt === undefined ? {} : { claimedAt }),
    epochs: run.epochs,
    entries: run.journal.length,
    createdAt: resource.createdAt,
    ...(run.startedAt === undefined ? {} : { startedAt: run.startedAt }),
    ...(run.endedAt === undefined ? {} : { endedAt: run.endedAt }),
    deadlineAt: run.deadlineAt,
  };
}
