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
/**
 * `node` may be left out where one checkpoint is open. With `visit` the answer is for that question
 * alone; without it, for the one that is open, or else for the next.
 */
export type RunAnswerRequest = { runId: string; node?: string; visit?: number; value: Json };

/** One step of a watch of runs: first all that match, then each as it changes. */
export type RunItem =
  | { kind: "present"; run: RunSummary }
  | { kind: "removed"; runId: string }
  | { kind: "listed" };

/** Streams about runs; part of `StreamApi`. */
export type RunStreamApi = {
  watchRuns: { params: RunQuery; item: RunItem };
  /** The log from `after` (exclusive) on, until the run has ended or the client leaves. */
  followRunLog: { params: { runId: string; after?: number }; item: RunLogEntry };
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

/** How the routes about runs are reached; part of `ROUTES`. */
export const RUN_ROUTES = {
  workflows: { method: "GET", path: "/v1/workflows" },
  acceptWorkflows: { method: "POST", path: "/v1/workflows" },
  startRun: { method: "POST", path: "/v1/runs/start" },
  run: { method: "GET", path: "/v1/run" },
  runs: { method: "GET", path: "/v1/runs" },
  journal: { method: "GET", path: "/v1/run/journal" },
  runLog: { method: "GET", path: "/v1/run/log" },
  questions: { method: "GET", path: "/v1/run/questions" },
  pauseRun: { method: "POST", path: "/v1/run/pause" },
  resumeRun: { method: "POST", path: "/v1/run/resume" },
  cancelRun: { method: "POST", path: "/v1/run/cancel" },
  answerRun: { method: "POST", path: "/v1/run/answer" },
  resolveRun: { method: "POST", path: "/v1/run/resolve" },
  retryRun: { method: "POST", path: "/v1/run/retry" },
} as const satisfies Record<keyof RunApi, { method: "GET" | "POST"; path: string }>;

/** The streams about runs; part of `STREAMS`. */
export const RUN_STREAMS = {
  watchRuns: "/v1/runs/watch",
  followRunLog: "/v1/run/log/follow",
} as const satisfies Record<keyof RunStreamApi, string>;

type RunTransport = {
  call: <R extends keyof RunApi>(
    route: R,
    params: RunApi[R]["params"],
  ) => Promise<RunApi[R]["result"]>;
  stream: <S extends keyof RunStreamApi>(
    stream: S,
    params: RunStreamApi[S]["params"],
    signal: AbortSignal,
  ) => AsyncIterable<RunStreamApi[S]["item"]>;
};

/** The client's methods about runs over any transport. */
export function runClientOver({ call, stream }: RunTransport): RunClient {
  return {
    workflows: (project) => call("workflows", project === undefined ? {} : { project }),
    acceptWorkflows: (project, proposals) => call("acceptWorkflows", { project, proposals }),
    startRun: (start) => call("startRun", start),
    run: (runId) => call("run", { runId }).catch(absentIfNotFound),
    runs: (query) => call("runs", query),
    journal: (runId, query) => call("journal", { runId, ...query }),
    runLog: (runId, query) => call("runLog", { runId, ...query }),
    questions: (query) => call("questions", query),
    pauseRun: (runId) => call("pauseRun", { runId }),
    resumeRun: (runId) => call("resumeRun", { runId }),
    cancelRun: (runId) => call("cancelRun", { runId }),
    answerRun: (request) => call("answerRun", request),
    resolveRun: (runId, resolution, visit) =>
      call("resolveRun", { runId, resolution, ...(visit === undefined ? {} : { visit }) }),
    retryRun: (runId) => call("retryRun", { runId }),
    watchRuns: (query, signal) => stream("watchRuns", query, signal),
    followRunLog: (runId, after, signal) => stream("followRunLog", { runId, after }, signal),
  };
}

/** What a client answers where the server knows no such thing. @throws what is no such answer */
export function absentIfNotFound(thrown: unknown): undefined {
  if (thrown instanceof Error && "code" in thrown && thrown.code === "NOT_FOUND") return undefined;
  throw thrown;
}
