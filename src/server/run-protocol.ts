import type { Json } from "../model/canonical.ts";
import type { WorkflowProposal, WorkflowRecord } from "../model/graph.ts";
import type {
  JournalEntry,
  NodeResolution,
  RunLogEntry,
  RunQuestion,
  RunSummary,
  StoredRun,
} from "../model/run.ts";
import type { JournalQuery, RunQuery } from "../store/runs.ts";

/** Routes about workflows and their runs; part of `Api`. */
export type RunApi = {
  workflows: { params: { project?: string }; result: WorkflowRecord[] };
  acceptWorkflows: {
    params: { project: string; proposals: WorkflowProposal[] };
    result: WorkflowRecord[];
  };
  startRun: { params: RunStart; result: StoredRun };
  run: { params: { runId: string }; result: StoredRun };
  runs: { params: RunQuery; result: { items: RunSummary[]; next?: string } };
  journal: { params: { runId: string } & JournalQuery; result: JournalEntry[] };
  runLog: { params: { runId: string; after?: number; limit?: number }; result: RunLogEntry[] };
  /** Open questions of a run, or of every run that a session started. */
  questions: { params: { runId?: string; session?: string }; result: RunQuestion[] };
  pauseRun: { params: { runId: string }; result: StoredRun };
  resumeRun: { params: { runId: string }; result: StoredRun };
  cancelRun: { params: { runId: string }; result: StoredRun };
  answerRun: { params: RunAnswerRequest; result: StoredRun };
  resolveRun: {
    /** `visit` may be left out where one attempt is ambiguous. */
    params: { runId: string; visit?: number; resolution: NodeResolution };
    result: StoredRun;
  };
  retryRun: { params: { runId: string }; result: StoredRun };
};

export type RunStart = {
  project: string;
  workflow: string;
  input: Json;
  session?: string;
  requestKey?: string;
};
/** `node` may be left out where one checkpoint is open. */
export type RunAnswerRequest = { runId: string; node?: string; value: Json };

/** One step of a watch of runs: first all that match, then each as it changes. */
export type RunItem =
  | { kind: "present"; run: RunSummary }
  | { kind: "removed"; runId: string }
  | { kind: "listed" };

/** Streams about runs; part of `StreamApi`. */
export type RunStreamApi = {
  runs: { params: RunQuery; item: RunItem };
  /** The log from `after` (exclusive) on, until the run has ended or the client leaves. */
  runLog: { params: { runId: string; after?: number }; item: RunLogEntry };
};

/** The client's methods about runs; part of `Client`. */
export type RunClient = {
  workflows(project?: string): Promise<WorkflowRecord[]>;
  acceptWorkflows(project: string, proposals: WorkflowProposal[]): Promise<WorkflowRecord[]>;
  startRun(start: RunStart): Promise<StoredRun>;
  run(runId: string): Promise<StoredRun | undefined>;
  runs(query: RunQuery): Promise<{ items: RunSummary[]; next?: string }>;
  journal(runId: string, query?: JournalQuery): Promise<JournalEntry[]>;
  runLog(runId: string, query?: { after?: number; limit?: number }): Promise<RunLogEntry[]>;
  questions(query: { runId?: string; session?: string }): Promise<RunQuestion[]>;
  pauseRun(runId: string): Promise<StoredRun>;
  resumeRun(runId: string): Promise<StoredRun>;
  cancelRun(runId: string): Promise<StoredRun>;
  answerRun(request: RunAnswerRequest): Promise<StoredRun>;
  resolveRun(runId: string, resolution: NodeResolution, visit?: number): Promise<StoredRun>;
  retryRun(runId: string): Promise<StoredRun>;
  watchRuns(query: RunQuery, signal: AbortSignal): AsyncIterable<RunItem>;
  followRunLog(runId: string, after: number, signal: AbortSignal): AsyncIterable<RunLogEntry>;
};
