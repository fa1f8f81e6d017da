import { LIMITS } from "../../model/limits.ts";
import type { PassOutcome } from "../../model/pass.ts";
import { backoffMs, type WakeCause } from "../../model/queue.ts";
import type { ClaimedRow } from "./claimed.ts";

const MINUTE = 60_000;

// What makes it no loop when passes ask for passes: something outside the pass changed.
const PROGRESS: ReadonlySet<WakeCause> = new Set(["spec", "delete", "request", "child", "effect"]);

/** What the queue remembers of a pass that ended. Times are queue time. */
export type NextPass = {
  /** Absent where the key leaves the queue, unless something was asked for during the pass. */
  wanted?: { at: number; cause: WakeCause };
  attempts: number;
  crashAttempts: number;
  backoffUntil: number | null;
  hotPasses: number;
  hotSince: number;
  /** True when passes ask for passes too often (B-5). */
  hot: boolean;
  /** True when there were too many passes without an answer (B-6). */
  stalled: boolean;
  /** True when the runtime gives up until the spec changes or a person asks. */
  givenUp: boolean;
};

type Counters = Pick<
  ClaimedRow,
  | "attempts"
  | "crash_attempts"
  | "backoff_until"
  | "hot_passes"
  | "hot_since"
  | "claimed_at"
  | "claim_cause"
>;

/** Decides from how a pass ended when its key is looked at again. Pure. */
export function nextPass(
  row: Counters,
  outcome: PassOutcome,
  at: { queueTime: number; random: number },
): NextPass {
  const rested: NextPass = {
    attempts: 0,
    crashAttempts: 0,
    backoffUntil: null,
    hotPasses: row.hot_passes,
    hotSince: row.hot_since,
    hot: false,
    stalled: false,
    givenUp: false,
  };
  switch (outcome.kind) {
    case "settled":
    case "parked":
      return rested;
    case "requeue":
      return askedFor(row, rested, at.queueTime, 0);
    case "requeueAfter":
      return askedFor(row, rested, at.queueTime, Math.ceil(outcome.delayMs));
    case "failed":
      return outcome.terminal ? { ...rested, givenUp: true } : failed(row, rested, at);
    case "crashed":
      return crashed(row, rested, { ...at, fault: outcome.fault });
  }
}

function askedFor(row: Counters, rested: NextPass, now: number, delayMs: number): NextPass {
  const fresh = PROGRESS.has(row.claim_cause) || now - row.hot_since >= MINUTE;
  const hotPasses = fresh ? 1 : row.hot_passes + 1;
  return {
    ...rested,
    wanted: { at: now + delayMs, cause: "requeue" },
    hotPasses,
    hotSince: fresh ? now : row.hot_since,
    hot: hotPasses > LIMITS.hotLoopPasses && delayMs < LIMITS.hotLoopDelayMs,
  };
}

function failed(
  row: Counters,
  rested: NextPass,
  { queueTime, random }: { queueTime: number; random: number },
): NextPass {
  // Woken during its backoff: this was no retry, so the retry's time stands (B-4).
  const early = row.backoff_until !== null && row.claimed_at < row.backoff_until;
  const attempts = early ? row.attempts : row.attempts + 1;
  const until =
    early && row.backoff_until !== null
      ? row.backoff_until
      : queueTime + backoffMs(attempts, random);
  return { ...rested, attempts, backoffUntil: until, wanted: { at: until, cause: "retry" } };
}

function crashed(
  row: Counters,
  rested: NextPass,
  end: { queueTime: number; random: number; fault: string },
): NextPass {
  const kept = { ...rested, attempts: row.attempts, backoffUntil: row.backoff_until };
  const now = { at: end.queueTime, cause: "recovery" as const };
  if (end.fault === "shutdown") {
    return { ...kept, crashAttempts: row.crash_attempts, wanted: now };
  }
  const crashAttempts = row.crash_attempts + 1;
  if (crashAttempts >= LIMITS.crashAttempts) return { ...rested, stalled: true, givenUp: true };
  if (end.fault === "lease-lost") return { ...kept, crashAttempts, wanted: now };
  const until = end.queueTime + backoffMs(crashAttempts, end.random);
  return { ...kept, crashAttempts, backoffUntil: until, wanted: { at: until, cause: "retry" } };
}

/** `next`, slowed down because it is a loop. */
export function slowed(next: NextPass, queueTime: number): NextPass {
  if (!next.wanted) return next;
  const at = Math.max(next.wanted.at, queueTime + LIMITS.hotLoopDelayMs);
  return { ...next, wanted: { ...next.wanted, at } };
}
