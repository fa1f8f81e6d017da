import type { Json } from "../model/canonical.ts";
import type { ResolvedWorkflow, WorkflowRecord } from "../model/graph.ts";
import type {
  JournalEntry,
  JournalInput,
  NodeOrder,
  RunOrders,
  RunLogEntry,
  RunLogInput,
  RunState,
  RunSummary,
  StoredRun,
} from "../model/run.ts";
import type { Claim } from "./store.ts";

/**
 * The part of the store that is about workflow runs. A run is a resource of its workflow's lane, with
 * its run id as uid and key: it is queued, claimed, fenced, given its effects and events, and settled
 * like any other. What is its own is here. Nothing here shows in lists of resources, and nothing of a
 * run can be changed by `applyBatch`, `delete` or `suspend`. One that has ended is a removed resource.
 *
 * A run that waits for an answer has a queue row for its deadline, so that it is handed out when that
 * has passed: its runner then ends it. Every change of a run that its parent sees (not `running`)
 * enqueues the parent in the same transaction, by the cause `child`.
 */
export type RunStore = RunReader & {
  /**
   * Records a workflow that the server accepted. Runs of another digest that have begun keep their
   * code: instead of being handed out they are `interrupted` by `DefinitionChanged`, until `resumeRun`
   * says to go on with the old code. A cancel says so too. Runs that have not begun take today's.
   * @throws BAD_REQUEST for a name too long to make a lane
   */
  acceptWorkflow(project: string, workflow: ResolvedWorkflow): Promise<WorkflowRecord>;

  /**
   * Creates a run that a person or a session asked for, and enqueues it. The same `requestKey` finds
   * the run that it made before. @throws UNKNOWN_WORKFLOW, RUN_CONFLICT, TOO_LARGE
   */
  startRun(request: StartRun): Promise<StoredRun>;

  /**
   * Creates or finds the child run of a pass's resource: the run, its queue row, the link in the
   * parent's status, and the finalizer that makes the parent's deletion wait, in one transaction
   * . A run found is the newest attempt under the key, whatever became of it. @throws LEASE_LOST, UNKNOWN_WORKFLOW, RUN_CONFLICT for another workflow or input under the
   * key, DELETING
   */
  ensureChildRun(claim: Claim, request: EnsureRun): Promise<StoredRun>;
  /** The newest attempt under a request key of the claim's resource. @throws LEASE_LOST */
  childRun(claim: Claim, requestKey: string): Promise<StoredRun | undefined>;
  /** Asks that a child run be cancelled. Undefined where there is none. @throws LEASE_LOST */
  cancelChildRun(claim: Claim, requestKey: string): Promise<StoredRun | undefined>;

  /**
   * Appends to a run's journal; all of it or nothing. The end of an attempt resets crash attempts, and
   * what a person said of a checkpoint or an ambiguous attempt is done with when its line is here.
   * @throws LEASE_LOST, TOO_LARGE
   */
  appendJournal(claim: Claim, entries: JournalInput[]): Promise<void>;
  /**
   * Appends to a run's log, redacted, dropping its oldest past LIMITS.runLog but for its head. On the
   * disk with the next write that is. @throws LEASE_LOST
   */
  appendRunLog(claim: Claim, entries: RunLogInput[]): Promise<void>;
  /** What the runner of a run needs beside its journal to begin with. @throws LEASE_LOST */
  runOrders(claim: Claim): Promise<RunOrders>;

  /**
   * Keeps a run from going on; a runner that works on it is for the server to stop.
   * @throws NOT_FOUND, RUN_ENDED, also where it is being cancelled
   */
  pauseRun(runId: string): Promise<StoredRun>;
  /**
   * Lifts a pause, revives a stalled run, and lets one whose definition changed keep its code. Nothing
   * where a run waits for something else. @throws NOT_FOUND, RUN_ENDED
   */
  resumeRun(runId: string): Promise<StoredRun>;
  /** Ends a run that has not begun; asks any other to undo what it did and end. @throws RUN_ENDED */
  cancelRun(runId: string, by: string): Promise<StoredRun>;
  /**
   * Answers a checkpoint, also before it is reached. The first answer wins.
   * @throws RUN_ENDED, ALREADY_ANSWERED
   */
  answerRun(runId: string, answer: RunAnswer): Promise<StoredRun>;
  /** Settles an ambiguous attempt. @throws NOT_AMBIGUOUS */
  resolveRun(runId: string, visit: number, order: NodeOrder): Promise<StoredRun>;
  /**
   * A new attempt of a run that failed: same request and input, today's code. Also of one that is
   * stalled or whose definition changed, which ends as cancelled, with nothing undone.
   * @throws NOT_FOUND, UNKNOWN_WORKFLOW, RUN_NOT_FAILED, and DELETING where its parent is gone or going
   */
  retryRun(runId: string, by: string): Promise<StoredRun>;
};

export type RunReader = {
  workflows(project?: string): Promise<WorkflowRecord[]>;
  run(runId: string): Promise<StoredRun | undefined>;
  /** One page, newest first; `next` continues it. */
  runs(query: RunQuery): Promise<{ items: RunSummary[]; next?: string }>;
  /** The runs of one request, of which `runId` is one: the first, and what was tried again. By attempt. */
  attempts(runId: string): Promise<RunAttempt[]>;
  /**
   * Lines after `after`, oldest first. With `bodies: false` inputs and outputs are left out; with them,
   * a page ends before `limit` where they are large, and only an empty page says that there are no more.
   */
  journal(runId: string, query: JournalQuery): Promise<JournalEntry[]>;
  /**
   * The lines since which a run waits for a person, oldest first, with their values: of checkpoints that
   * were reached, and of attempts of which nobody knows how they ended. Also of a run that has ended.
   */
  awaited(runId: string): Promise<AwaitedLine[]>;
  runLog(runId: string, query: { after?: number; limit?: number }): Promise<RunLogEntry[]>;
};

export type RunAttempt = Pick<StoredRun, "runId" | "attempt">;
export type AwaitedLine = Extract<JournalEntry, { event: "begun" | "ambiguous" }>;

export type StartRun = {
  project: string;
  workflow: string;
  input: Json;
  startedBy: string;
  session?: string;
  /** Chosen by the client, so that a repeated request starts one run. */
  requestKey?: string;
};
export type EnsureRun = { requestKey: string; workflow: string; input: Json };

/** An answer to the `ordinal`-th time that a checkpoint is reached; absent: the one that is open, or the next. */
export type RunAnswer = {
  node: string;
  value: Json;
  by: string;
  ordinal?: number;
  /** The visit whose question was read: the answer is for no other, also where that one is closed. */
  visit?: number;
};
export type RunQuery = {
  project?: string;
  workflow?: string;
  state?: RunState;
  /** Only runs that have not ended. */
  open?: boolean;
  parentUid?: string;
  session?: string;
  /** The beginning of a run id, as people type it. */
  prefix?: string;
  limit?: number;
  after?: string;
};
export type JournalQuery = { after?: number; limit?: number; bodies?: boolean };
