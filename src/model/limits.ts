const KiB = 1024;
const MiB = 1024 * KiB;
const SECOND = 1000;
const MINUTE = 60 * SECOND;

/**
 * Every limit of the product, once. Sizes are bytes of UTF-8, times are milliseconds.
 * Each has a test at the limit and one past it.
 */
export const LIMITS = {
  /** A resource's canonical spec (specification, "Work queue"). */
  spec: 1 * MiB,
  /** A resource's status with its conditions (specification, "Work queue"). */
  status: 1 * MiB,
  /** Objects and arrays in one another, of any value that is kept: what walks it may call itself. */
  nesting: 500,
  /** An event's payload (specification, "Work queue"). */
  eventPayload: 64 * KiB,
  /** A message of an event or condition; longer ones are cut. */
  message: 4 * KiB,
  /** One spec file, and one definition file with what it imports locally. */
  manifestFile: 4 * MiB,
  /** A definition's bundle with its source map. */
  bundle: 16 * MiB,
  /** Resources in one atomic batch. */
  batch: 1_000,
  /** Manifests in one spec file. */
  manifestsPerFile: 10_000,
  /** Spec files in one load. */
  files: 100_000,
  /** What a node hands over, its input, and a prompt: canonical JSON. */
  nodeOutput: 1 * MiB,
  /** Lines of a run's journal in one message, and bytes of them on their way to the store. */
  journalPage: 500,
  journalInFlight: 4 * MiB,
  /** One piece of a run's log: characters. */
  runLogPiece: 16 * KiB,
  /** A run's log: bytes, of which the oldest go first but for the beginning. */
  runLog: 4 * MiB,
  /** Attempts of one run that are made at once; further branches wait. */
  attemptsAtOnce: 16,
  /** What is kept of each output stream of a command: head and tail. */
  shellOutput: 256 * KiB,
  /** Times that an agent is told what is wrong with its answer. */
  agentCorrections: 2,
  /** What is kept of one question's transcript. */
  agentTranscript: 256 * KiB,
  /** Tools that one agent may be given. */
  agentTools: 64,
  /** After a run's deadline: to call off what runs and to undo what was done. */
  endRunMs: 60 * SECOND,
  /** A resource key, a manager name, a label's key or value, a finalizer: characters. */
  key: 512,
  name: 128,
  label: 256,
  labels: 64,
  dependsOn: 64,
  finalizers: 32,
  conditions: 64,
  /** An effect's key, request and kept result. */
  effectKey: 512,
  effectRequest: 64 * KiB,
  effectResult: 64 * KiB,
  /** Calls of one effect's provider before it is parked. */
  effectAttempts: 3,
  /** One message between server and runner: a resource at its limits, escaped, fits. */
  runnerMessage: 8 * MiB,
  /** One HTTP request body: a batch at its limits is sent in several. */
  requestBody: 32 * MiB,
  /** A runner's or resolver's output kept per stream: head and tail. */
  childOutput: 64 * KiB,
  /** A pass without an answer: default and longest (design, section 7). */
  deadlineMs: 60 * SECOND,
  maxDeadlineMs: 10 * MINUTE,
  /** From the start of a run to its end, waiting included: default and longest. */
  runDeadlineMs: 24 * 60 * MINUTE,
  maxRunDeadlineMs: 366 * 24 * 60 * MINUTE,
  /** Nodes of a workflow with all that it includes. */
  graphNodes: 20_000,
  /** How often a loop may go round, a node be retried; branches of one fork, choices of a decision. */
  loopTimes: 1_000_000,
  nodeRetries: 100,
  branches: 100,
  choices: 100,
  /** Between asking a runner to stop, SIGTERM and SIGKILL. */
  killGraceMs: 2 * SECOND,
  /** A runner that has not reported ready by then is killed. */
  readyMs: 20 * SECOND,
  /** A claim outlives its pass's deadline and kill ladder by this much. */
  claimMarginMs: 30 * SECOND,
  /** One load of spec files in a resolver, and the heap it may use (MiB). */
  resolveMs: 60 * SECOND,
  /** Evaluating one spec file or definition: past this it counts as an endless loop. */
  evaluateMs: 10 * SECOND,
  resolverHeapMiB: 1_024,
  /** What one load may come to: bytes of manifests, definitions and problems. */
  resolverOutput: 256 * MiB,
  /** A runner's heap (MiB), the resident size (bytes) and age past which it is replaced. */
  runnerHeapMiB: 512,
  runnerRecycleBytes: 400 * MiB,
  runnerRecycleMs: 60 * MINUTE,
  /** A warm runner with nothing to do is let go after this. */
  runnerIdleMs: 5 * MINUTE,
  /** Failed passes: first and longest delay. */
  backoffFloorMs: 1 * SECOND,
  backoffCapMs: 10 * MINUTE,
  /** Passes in a row without an answer before the resource is parked as stalled (B-6). */
  crashAttempts: 5,
  /** A key that asks for a pass more often than this per minute with nothing changing is slowed (B-5). */
  hotLoopPasses: 30,
  hotLoopDelayMs: 30 * SECOND,
  /** Longest requeueAfter. */
  maxRequeueMs: 366 * 24 * 60 * MINUTE,
  /** Node fires a longer timer at once (2³¹−1). */
  maxTimerMs: 2_147_483_647,
  /** The scan that catches lost wake-ups. */
  heartbeatMs: 10 * SECOND,
  /** Passes at once: in all, per project, per manager where it does not say. */
  concurrency: 8,
  concurrencyPerProject: 8,
  concurrencyPerManager: 4,
  /** Of these, passes of workflow runs: the rest is kept for reconciles. */
  runConcurrency: 6,
  /** Agents that work at once; more wait for their turn. */
  agents: 4,
  /** The most passes at once that a definition may ask for. */
  maxConcurrent: 1_000,
  /** Draining at stop before running passes are aborted. */
  drainMs: 10 * SECOND,
  /** A server without clients, claims or due work exits after this. */
  idleExitMs: 30 * MINUTE,
  /** Prune guard: held when it exceeds both. */
  pruneCount: 3,
  pruneFraction: 0.1,
  /** Rows in one page of a list. */
  page: 500,
  /** Kept per resource: passes, events, generations. */
  passesKept: 20,
  eventsKept: 200,
  generationsKept: 50,
  /** A webhook's request: its body, its headers, and how long a sender may take over it. */
  webhookBody: 1 * MiB,
  webhookHeaders: 16 * KiB,
  webhookMs: 10 * SECOND,
  /** Requests per minute to one webhook, and at once to all. */
  webhookRate: 600,
  webhookConnections: 64,
  /** The id of a delivery; how many are kept in all, and for how long. */
  deliveryId: 256,
  deliveriesKept: 10_000,
  deliveryKeptMs: 7 * 24 * 60 * MINUTE,
  /** Files that one `files` source looks at; paths given to its `map` at once. */
  watchedFiles: 20_000,
  mappedPaths: 1_000,
  /** Keys that one call of a source's `map` may return, and how long it may take. */
  mappedKeys: 1_000,
  mapMs: 5 * SECOND,
  /** Runners that map at once, beside those of passes. */
  mapConcurrency: 2,
  /** Sources of one definition, and globs of one `files` source. */
  sources: 32,
  globs: 32,
  /** Prunes kept per project, as `sync` records them. */
  prunesKept: 100,
  /** Runs that have ended: so many are kept per workflow, whatever their age. */
  runsKept: 200,
  /** A removed resource's history is kept this long, and longer while an effect of it is open. */
  removedKeptMs: 30 * 24 * 60 * MINUTE,
  /**
   * Around a restore: effects that ended so shortly before it are looked at once more, and what is made
   * so shortly after it counts as made anew.
   */
  restoredDoubtMs: 7 * 24 * 60 * MINUTE,
} as const;

/** Bytes of `text` in UTF-8. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/** What stands at the end of a text that was cut. */
export const CUT = "… (cut)";

/** Cuts `text` to `bytes` of UTF-8 and says that it was cut. */
export function truncate(text: string, bytes: number = LIMITS.message): string {
  if (byteLength(text) <= bytes) return text;
  const room = Math.max(0, bytes - byteLength(CUT));
  return (
    Buffer.from(text)
      .subarray(0, room)
      .toString("utf8")
      .replace(/\uFFFD$/u, "") + CUT
  );
}
