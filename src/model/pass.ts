import type { Json } from "./canonical.ts";
import type { ConditionInput } from "./condition.ts";
import type { WakeCause } from "./queue.ts";

/** What a pass says of its resource's status; absent parts stay as they are. */
export type StatusPatch = {
  resourceManagerStatus?: Json;
  conditions?: ConditionInput[];
};

/** How a pass ended, as the runner reports it. */
export type PassResult =
  | ({ kind: "settled" } & StatusPatch)
  | ({ kind: "requeue" } & StatusPatch)
  | ({ kind: "requeueAfter"; delayMs: number } & StatusPatch)
  | { kind: "failed"; message: string; stack?: string; terminal: boolean }
  /** An effect can't be told and was parked: wait until it is resolved. */
  | { kind: "parked"; effectKey: string; message: string };

/** Why a pass ended without a result of its own (P-2): each way a runner can die, once. */
export const RUNNER_FAULTS = [
  "deadline",
  "exit",
  "signal",
  "out-of-memory",
  "never-ready",
  "bad-message",
  "oversized-message",
  "load-failed",
  "lease-lost",
  "shutdown",
] as const;
export type RunnerFault = (typeof RUNNER_FAULTS)[number];

/** Everything a pass can end as, from the server's point of view. */
export type PassOutcome = PassResult | { kind: "crashed"; fault: RunnerFault; message: string };

/** The structured record of one pass. */
export type PassRecord = {
  reconcileId: string;
  uid: string;
  project: string;
  resourceManager: string;
  key: string;
  generation: number;
  cause: WakeCause;
  outcome: PassOutcome["kind"];
  /** Message of a failure, reason of a requeue. */
  detail?: string;
  /** Milliseconds until the next pass, where the outcome asked for one. */
  requeueAfterMs?: number;
  startedAt: number;
  durationMs: number;
};
