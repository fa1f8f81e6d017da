import type { Json } from "./canonical.ts";

/**
 * One intended external effect, recorded before its provider is called.
 * Source: spec/resource-managers.md, "External effects".
 */
export type EffectRecord = {
  key: string;
  resourceUid: string;
  generation: number;
  requestFingerprint: string;
  state: EffectState;
  /** What the provider calls the result, e.g. a commit. */
  externalRef?: string;
  /** ISO 8601. */
  startedAt: string;
  completedAt?: string;
};

export type EffectState = "pending" | "applied" | "rejected" | "indeterminate";

/**
 * The only moves an effect may make (E-5). `indeterminate → pending` needs an observation that
 * proves the effect absent; `applied` and `rejected` are terminal.
 */
export const EFFECT_TRANSITIONS: Readonly<Record<EffectState, readonly EffectState[]>> = {
  pending: ["applied", "rejected", "indeterminate"],
  indeterminate: ["applied", "rejected", "pending"],
  applied: [],
  rejected: [],
};

/** What the ledger keeps of an effect beyond the record that authors see. */
export type StoredEffect = EffectRecord & {
  kind: string;
  /** The request, as JSON; at most LIMITS.effectRequest bytes. */
  request: Json;
  /** What `apply` or `observe` returned, at most LIMITS.effectResult bytes. */
  result?: Json;
  /** Why it was rejected or can't be told. */
  reason?: string;
  /** Calls made to the provider. */
  attempts: number;
  /** True when it can't be told and waits for a person or a later observation (E-6). */
  parked: boolean;
  /** Store-wide order of the latest move; times are for people only. */
  sequence: number;
};

/** What observing the outside world proved about an effect. */
export type EffectObservation =
  | { state: "applied"; externalRef?: string; result?: Json }
  | { state: "absent" }
  | { state: "rejected"; reason: string }
  | { state: "unknown"; reason: string };

/**
 * What the caller of `beginEffect` must do next.
 * - `call`: the pending row is durable; call the provider, then settle.
 * - `observe`: an earlier call may have happened; observe first, then settle or begin again with proof.
 *   One that has ended and is to be observed (after a restore) is settled with what was seen, never
 *   called again.
 * - `done`: the record is terminal; make no call (E-3).
 */
export type EffectDecision =
  | { next: "call" | "done"; effect: StoredEffect }
  | {
      next: "observe";
      effect: StoredEffect;
      /**
       * For so long surely no call of it has begun, by a clock that nobody sets and no suspend moves: what
       * a consistency window is measured with (E-7). Milliseconds.
       */
      quietMs: number;
    };

/** How an effect that was begun ended. */
export type EffectOutcome =
  | { state: "applied"; externalRef?: string; result?: Json }
  | { state: "rejected"; reason: string }
  | { state: "indeterminate"; reason: string; park: boolean };
