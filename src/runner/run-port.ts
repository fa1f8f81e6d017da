import type { AgentAnswer, AgentRequest } from "../model/agent.ts";
import type { Json } from "../model/canonical.ts";
import type { RunnerFault } from "../model/pass.ts";
import type {
  AttemptRef,
  JournalEntry,
  JournalInput,
  RunEnding,
  RunLogInput,
  RunOrders,
} from "../model/run.ts";
import type { PassHost } from "./port.ts";

/** One pass of a run to execute: everything the runner may know. */
export type RunPass = {
  runId: string;
  project: string;
  workflow: string;
  digest: string;
  input: Json;
  /** 1 for the first runner; a later one folds the journal first. */
  epoch: number;
  /**
   * Present where the store was restored from a backup: the first pass since. What the run did between
   * the backup and then is missing from its journal (E-12).
   */
  doubtedFrom?: number;
  /** Until the run's deadline, when the pass began. Milliseconds. */
  remainingMs: number;
};

/**
 * What a run may ask of the server while a runner executes it; the implementation adds the claim.
 * Writes are made in the order in which they are asked for, and each is durable when it resolves.
 */
export type RunHost = Pick<PassHost, "beginEffect" | "settleEffect" | "log" | "secrets"> & {
  /** Lines after `after`, oldest first, at most `limit`; only an empty page says that there are no more. */
  readJournal(after: number, limit: number): Promise<JournalEntry[]>;
  appendJournal(entries: JournalInput[]): Promise<void>;
  appendRunLog(entries: RunLogInput[]): Promise<void>;
  /** What people want of the run now. */
  runOrders(): Promise<RunOrders>;
  askAgent(question: AgentQuestion): Promise<AgentAnswer>;
  closeAgent(conversation: string): Promise<void>;
};

/** A question to an agent, and the attempt that asks it, for the run's log. */
export type AgentQuestion = Omit<AgentRequest, "runId"> & Pick<AttemptRef, "visit" | "node">;

/** Told to a runner while it executes: look at the orders again, or stop for a while. */
export type RunNotice = "orders" | "pause";

export type RunOutcome =
  | { kind: "ran"; ending: RunEnding }
  /** The engine itself failed: tried again like a pass that threw. */
  | { kind: "failed"; message: string; stack?: string; terminal: boolean }
  | { kind: "crashed"; fault: RunnerFault; message: string };

/** How a run is spoken to from outside while a runner executes it. */
export type RunControl = {
  /** Whoever aborts it names the fault that the outcome is to have. */
  signal: AbortSignal;
  /** Called once; what it is given gets every notice, also before the runner has begun. */
  onNotice: (listen: (notice: RunNotice) => void) => void;
};

/** Executes runs; the second half of `RunnerPort`. */
export type RunExecutor = {
  /** Never rejects; when it resolves nothing of the pass is still running (F-5). */
  execute(pass: RunPass, host: RunHost, control: RunControl): Promise<RunOutcome>;
};
