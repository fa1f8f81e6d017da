import { LIMITS } from "./limits.ts";

/** A source that says which one of its kind it was: `cron:0 3 * * *`, `webhook:github`. */
export type SourceCause = `${"cron" | "files" | "watch" | "webhook"}:${string}`;

/** Why a key was looked at; constants but for sources, so that `why` can explain each. */
export type WakeCause = PlainCause | SourceCause;

/** The causes that are constants. */
export type PlainCause =
  | "spec"
  | "delete"
  | "request"
  | "schedule"
  | "requeue"
  | "retry"
  | "effect"
  | "child"
  | "status"
  | "recovery"
  | "repair"
  | "source";

/**
 * Priority classes, best first. A class is a head start in milliseconds, not a wall: a ready row of
 * class `c` is taken before every row that became ready `CLASS_DELAY_MS[c]` later, so no class
 * starves and a rebuild of the queue does not delay fresh edits.
 */
export const QUEUE_CLASSES = ["urgent", "normal", "low"] as const;
export type QueueClass = (typeof QUEUE_CLASSES)[number];
export const CLASS_DELAY_MS: Readonly<Record<QueueClass, number>> = {
  urgent: 0,
  normal: 2_000,
  low: 30_000,
};

/** Whether `cause` names one source of a manager. */
export function isSourceCause(cause: WakeCause): cause is SourceCause {
  return cause.includes(":");
}

/** The class a wake-up goes in: what a person just did first, rebuilds last. */
export function classOf(cause: WakeCause): QueueClass {
  if (isSourceCause(cause)) return "normal";
  switch (cause) {
    case "spec":
    case "delete":
    case "request":
      return "urgent";
    case "repair":
    case "recovery":
      return "low";
    case "schedule":
    case "requeue":
    case "retry":
    case "effect":
    case "child":
    case "status":
    case "source":
      return "normal";
  }
}

/**
 * The delay before attempt `attempts + 1` (B-2): exponential with equal jitter, in
 * [LIMITS.backoffFloorMs, LIMITS.backoffCapMs]. `random` is in [0, 1).
 */
export function backoffMs(attempts: number, random: number): number {
  const exponent = Math.min(Math.max(attempts - 1, 0), 30);
  const ceiling = Math.min(LIMITS.backoffCapMs, LIMITS.backoffFloorMs * 2 ** exponent);
  return Math.round(Math.max(LIMITS.backoffFloorMs, ceiling / 2 + (ceiling / 2) * random));
}

/** One queue row, as people see it. */
export type QueueEntry = {
  uid: string;
  project: string;
  resourceManager: string;
  key: string;
  class: QueueClass;
  cause: WakeCause;
  /** Epoch milliseconds at which it may be claimed. */
  readyAt: number;
  /** Failed passes in a row. */
  attempts: number;
  /** Passes in a row that ended without an answer (runner died, server died). */
  crashAttempts: number;
  claimed: boolean;
  /** True when it became dirty again after the running pass read it. */
  dirty: boolean;
};
