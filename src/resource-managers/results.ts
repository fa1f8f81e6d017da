import type { Json } from "../model/canonical.ts";
import type { ConditionInput } from "../model/condition.ts";

/** What a pass wants written; absent parts of the status stay as they are. */
export type ResultPatch<TStatus> = {
  resourceManagerStatus?: TStatus;
  /** Merged by type: types not named are kept. */
  conditions?: ConditionInput[];
};

/** The end of one pass. Make one with `ctx.settled`, `ctx.requeue` or `ctx.requeueAfter`. */
export type ReconcileResult<TStatus> =
  | ({ kind: "settled" } & ResultPatch<TStatus>)
  | ({ kind: "requeue" } & ResultPatch<TStatus>)
  | ({ kind: "requeueAfter"; delayMs: number } & ResultPatch<TStatus>);

/** `type` holds. `reason` is CamelCase and stable; `message` is a sentence for people. */
export function conditionTrue(type: string, reason: string, message?: string): ConditionInput {
  return condition(type, true, reason, message);
}

/** `type` does not hold. */
export function conditionFalse(type: string, reason: string, message?: string): ConditionInput {
  return condition(type, false, reason, message);
}

/** It can't be told whether `type` holds. */
export function conditionUnknown(type: string, reason: string, message?: string): ConditionInput {
  return condition(type, "unknown", reason, message);
}

function condition(
  type: string,
  status: true | false | "unknown",
  reason: string,
  message: string | undefined,
): ConditionInput {
  return message === undefined ? { type, status, reason } : { type, status, reason, message };
}

// Definitions run from a bundle and may bring their own copy of this module, so classes are told
// by a registered symbol, not by identity.
const TERMINAL = Symbol.for("pi-workflows.TerminalError");
const REJECTED = Symbol.for("pi-workflows.EffectRejected");

/** Throw it where trying again can't help: no retry until the spec changes. */
export class TerminalError extends Error {
  override name = "TerminalError";
  readonly [TERMINAL] = true;
}

/**
 * Throw it from an effect's `apply` where the provider refused for good: the effect is `rejected`.
 * `ctx.effects.ensure` throws it again for an effect that was rejected before.
 */
export class EffectRejected extends Error {
  override name = "EffectRejected";
  readonly [REJECTED] = true;
}

export function isTerminalError(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && TERMINAL in thrown;
}

export function isEffectRejected(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && REJECTED in thrown;
}

/** What an effect's `apply` may return: the provider's name for the result, and what to remember. */
export type EffectApplied = { externalRef?: string; result?: Json };
