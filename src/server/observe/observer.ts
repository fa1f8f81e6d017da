import type { EffectState } from "../../model/effect.ts";
import type { PassOutcome } from "../../model/pass.ts";
import type { WakeCause } from "../../model/queue.ts";
import type { SyncAttempt } from "../../model/sync.ts";

/** A key that was claimed. */
export type SeenClaim = {
  lane: number;
  project: string;
  /** Of a run: the lane of its workflow. */
  manager: string;
  key: string;
  uid: string;
  reconcileId: string;
  cause: WakeCause;
  /** Passes that failed before it. */
  attempts: number;
  /** How long it was ready before it was claimed. Milliseconds. */
  queuedMs: number;
  isRun: boolean;
};

/** Times are epoch milliseconds. */
type Span = { startedAt: number; endedAt: number };

export type SeenPass = SeenClaim &
  Span & {
    outcome: PassOutcome["kind"];
    message?: string;
    /** A failed one that is not tried again by itself. */
    terminal: boolean;
    /** True where the key is in the queue again. */
    requeued: boolean;
    /** State of the run whose pass it was, where it said how it ended. */
    runState?: string;
  };

/** One call of a provider, or one observation that settled an effect. */
export type SeenEffect = Span & {
  claim: SeenClaim;
  key: string;
  kind: string;
  state: EffectState;
  parked: boolean;
  attempts: number;
};

/** One attempt of a node of a run. */
export type SeenNode = Span & {
  claim: SeenClaim;
  node: string;
  visit: number;
  attempt: number;
  kind: string;
  event: "succeeded" | "failed" | "aborted";
  message?: string;
};

export type SeenSync = Span & { project: string; attempt: SyncAttempt };

/**
 * What measures a server. Its functions are called in the middle of its work: they only note what they
 * are told, never wait, and never throw.
 */
export type Observer = {
  enqueued?(lane: number): void;
  claimed?(claim: SeenClaim): void;
  /** A claim was lost: how its pass ended does not count. */
  lost?(claim: SeenClaim): void;
  pass?(pass: SeenPass): void;
  effect?(effect: SeenEffect): void;
  node?(node: SeenNode): void;
  sync?(sync: SeenSync): void;
};
