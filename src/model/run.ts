import type { Json } from "./canonical.ts";
import type { NodeKind } from "./graph.ts";

/** The states of a run, as its parent sees them (specification, "Resource model"). */
export const RUN_STATES = [
  "pending",
  "running",
  "waiting",
  "succeeded",
  "failed",
  "interrupted",
] as const;
export type RunState = (typeof RUN_STATES)[number];

/**
 * Why a run is in its state; constants, so that `why` can explain each.
 * `succeeded` and `failed` are final; `waiting` and `interrupted` wait for a person.
 */
export const RUN_REASONS = {
  waiting: ["Checkpoint", "Paused"],
  interrupted: ["Ambiguous", "DefinitionChanged", "Stalled"],
  failed: ["NodeFailed", "DeadlineExceeded", "Cancelled", "InvalidInput", "InvalidOutput"],
} as const;
export type RunReason = (typeof RUN_REASONS)[keyof typeof RUN_REASONS][number];

/** How one pass of a run ended, as its runner reports it. Ends of the run carry their result. */
export type RunEnding =
  | { state: "succeeded"; exit: string; output: Json }
  | { state: "failed"; reason: (typeof RUN_REASONS.failed)[number]; message: string; node?: string }
  | {
      state: "waiting";
      reason: (typeof RUN_REASONS.waiting)[number];
      message: string;
      node?: string;
    }
  | {
      state: "interrupted";
      reason: "Ambiguous" | "DefinitionChanged";
      message: string;
      node?: string;
    };

/** What went wrong with one attempt of a node. */
export type NodeError = { message: string; reason: string; stack?: string };

/**
 * One line of a run's journal. The journal is the run: its runner is the only writer, lines are only
 * appended, and folding them through the step function gives the state. A node that
 * is not pure has a `begun` before anything of it happens; a pure one has its end only.
 */
export type JournalEntry = JournalInput & {
  /** From 1, without gaps, given by the store. */
  sequence: number;
  /** The pass that wrote it: rises with every runner that took the run up. */
  epoch: number;
};

/** Which attempt a line is about. `visit` counts the entries of nodes over the run, from 1. */
export type AttemptRef = {
  visit: number;
  /** Path in the flat graph. */
  node: string;
  /** From 1. */
  attempt: number;
  /** Present where it is the node's compensation that runs. */
  compensation?: true;
};

export type JournalInput = { at: number } & (
  | ({ event: "begun"; kind: NodeKind; input?: Json } & AttemptRef)
  | ({
      event: "succeeded";
      kind: NodeKind;
      startedAt: number;
      /** Of a node whose input is worth keeping; absent for what follows from what is kept. */
      input?: Json;
      output?: Json;
      /** The choice of a decision. */
      choice?: string;
      /** Who answered a checkpoint or resolved an ambiguous attempt. */
      by?: string;
    } & AttemptRef)
  | ({
      event: "failed";
      kind: NodeKind;
      startedAt: number;
      input?: Json;
      error: NodeError;
      /** False where another attempt can't help. */
      retryable: boolean;
    } & AttemptRef)
  /** Called off: by a pause, a cancel, or the failure of a branch beside it. */
  | ({ event: "aborted"; kind: NodeKind; startedAt: number } & AttemptRef)
  /** A person settled an ambiguous attempt so that it is to be made again. */
  | ({ event: "released"; by: string } & AttemptRef)
  /** The end of a manual attempt was not seen: a person must say how it ended. */
  | ({ event: "ambiguous"; kind: NodeKind } & AttemptRef)
  /** A new runner took the run up: what had begun without an end is to be judged. */
  | { event: "recovered" }
  | { event: "cancel"; by: string }
  | { event: "deadline" }
);

/** How a person settles an ambiguous attempt. */
export type NodeResolution =
  | { outcome: "succeeded"; output?: Json }
  | { outcome: "failed"; message: string }
  | { outcome: "retry" };

export type NodeOrder = NodeResolution & { by: string };

/** What people want of a run, durable until its runner has journaled it. */
export type RunOrders = {
  cancel?: { by: string };
  answers: { node: string; ordinal: number; value: Json; by: string }[];
  resolutions: ({ visit: number } & NodeOrder)[];
};

/** A run, all but its journal. */
export type StoredRun = {
  runId: string;
  project: string;
  workflow: string;
  /** Of the code that it runs, from its first to its last node. */
  digest: string;
  input: Json;
  state: RunState;
  reason?: RunReason;
  message?: string;
  /** The node that the reason is about. */
  node?: string;
  output?: Json;
  /** By which exit it ended. */
  exit?: string;
  /** Runs of the same request before it, plus one. */
  attempt: number;
  /** The resource that wanted it, and the key under which it did. */
  parent?: { uid: string; resourceManager: string; key: string; requestKey: string };
  /** The Pi session that started it, which is asked its questions. */
  session?: string;
  startedBy: string;
  /** True while a cancel is wanted and not done. */
  cancelling: boolean;
  paused: boolean;
  /** Present while a runner works on it: when its pass began. */
  claimedAt?: number;
  /** Passes so far. */
  epochs: number;
  /** Lines in its journal. */
  entries: number;
  createdAt: number;
  startedAt?: number;
  endedAt?: number;
  /** The run must have ended by then. */
  deadlineAt: number;
};
/** A run as lists show it. */
export type RunSummary = Omit<StoredRun, "input" | "output">;

/** A question that a checkpoint asks. */
export type RunQuestion = {
  runId: string;
  visit: number;
  node: string;
  message: string;
  /** JSON Schema of the answer. */
  schema?: Record<string, unknown>;
  askedAt: number;
};

/** One piece of what a run said beside its journal: output of commands, log lines, transcripts. */
export type RunLogEntry = {
  sequence: number;
  at: number;
  visit: number;
  node: string;
  stream: "stdout" | "stderr" | "log" | "agent";
  text: string;
};
export type RunLogInput = Omit<RunLogEntry, "sequence">;

/** Whether a run has come to its end. */
export function hasEnded({ state }: { state: RunState }): boolean {
  return state === "succeeded" || state === "failed";
}
