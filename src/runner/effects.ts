import { fingerprint } from "../model/canonical.ts";
import type {
  EffectDecision,
  EffectObservation,
  EffectOutcome,
  StoredEffect,
} from "../model/effect.ts";
import { LIMITS } from "../model/limits.ts";
import type { AppliedEffect, EffectRequest } from "../resource-managers/context.ts";
import {
  EffectRejected,
  isEffectRejected,
  type EffectApplied,
} from "../resource-managers/results.ts";
import { checkObservation, checkRequest, keepApplied, recorded } from "./effect-values.ts";
import { clean, messageOf } from "./message.ts";
import type { PassHost } from "./port.ts";

/**
 * Why a pass can't go on past an effect. It is thrown through the author's code, and the pass ends
 * with it even where the author catches it.
 * - `parked`: a person or a later observation must say what happened (E-6).
 * - `uncertain`: it is not known whether it happened; the next pass observes it first.
 * - `early`: absent, but too soon after the call to prove anything (E-7).
 */
export type EffectHold =
  | { kind: "parked"; effectKey: string; message: string }
  | { kind: "uncertain"; effectKey: string; message: string }
  | { kind: "early"; effectKey: string; message: string; delayMs: number };

export class EffectHeld extends Error {
  override readonly name = "EffectHeld";
  readonly hold: EffectHold;

  constructor(hold: EffectHold, cause?: unknown) {
    super(hold.message, cause === undefined ? undefined : { cause });
    this.hold = hold;
  }
}

/** What `ensureEffect` needs of its pass. */
export type EffectScope = {
  host: Pick<PassHost, "beginEffect" | "settleEffect" | "log">;
  signal: AbortSignal;
};

/**
 * Makes sure that an effect has happened, effectively once: the ledger's pending row is durable
 * before the provider is called (E-1), and every further call is preceded by an observation that
 * proves the effect absent (E-2).
 * @throws EffectRejected where the provider refused it, now or before.
 * @throws EffectHeld where the pass can't go on.
 * @throws PiWorkflowsError EFFECT_CONFLICT, LEASE_LOST
 */
export async function ensureEffect(
  scope: EffectScope,
  request: EffectRequest,
): Promise<AppliedEffect> {
  checkRequest(request);
  scope.signal.throwIfAborted();
  const first = await begin(scope, request, false);
  switch (first.next) {
    case "done":
      return recorded(first.effect);
    case "call":
      return callProvider(scope, request, first.effect);
    case "observe":
      return observeFirst(scope, request, first);
  }
}

type Open = Extract<EffectDecision, { next: "observe" }>;

async function observeFirst(
  scope: EffectScope,
  request: EffectRequest,
  open: Open,
): Promise<AppliedEffect> {
  const { effect } = open;
  const seen = await look(scope, request);
  if (effect.state === "applied" || effect.state === "rejected") {
    return confirm(scope, effect, seen);
  }
  switch (seen.state) {
    case "applied":
      return settleApplied(scope, effect, seen);
    case "rejected":
      return settleRejected(scope, effect, seen.reason);
    case "unknown":
      return park(scope, effect, `can't be told: ${seen.reason}`);
    case "absent":
      return repeat(scope, request, open);
  }
}

/** What had ended before a restore stays as it was recorded; what is seen of it is written down (E-12). */
async function confirm(
  scope: EffectScope,
  effect: StoredEffect,
  seen: EffectObservation,
): Promise<AppliedEffect> {
  const outcome: EffectOutcome =
    seen.state === "absent"
      ? { state: "indeterminate", reason: "absent", park: false }
      : seen.state === "unknown"
        ? { state: "indeterminate", reason: clean(seen.reason), park: false }
        : seen;
  return recorded(await settle(scope, effect, outcome));
}

/** An observation that throws says nothing, not even where it throws `EffectRejected`. */
async function look(scope: EffectScope, request: EffectRequest): Promise<EffectObservation> {
  try {
    return checkObservation(await request.observe(scope.signal));
  } catch (thrown) {
    const message = `effect ${request.key} can't be observed: ${messageOf(thrown)}`;
    throw new EffectHeld({ kind: "uncertain", effectKey: request.key, message }, thrown);
  }
}

/** Calls again after an observation found the effect absent, where that proves it. */
async function repeat(
  scope: EffectScope,
  request: EffectRequest,
  { effect, quietMs }: Open,
): Promise<AppliedEffect> {
  const delayMs = (request.consistencyWindowMs ?? 0) - quietMs;
  if (delayMs > 0) {
    const message = `effect ${effect.key} is not to be seen yet; its provider may still show it`;
    throw new EffectHeld({ kind: "early", effectKey: effect.key, message, delayMs });
  }
  if (effect.attempts >= LIMITS.effectAttempts) {
    return park(scope, effect, `was called ${effect.attempts} times and is still absent`);
  }
  scope.signal.throwIfAborted();
  const again = await begin(scope, request, true);
  switch (again.next) {
    case "done":
      return recorded(again.effect);
    case "call":
      return callProvider(scope, request, again.effect);
    case "observe":
      return park(scope, again.effect, "was not released for another call");
  }
}

async function callProvider(
  scope: EffectScope,
  request: EffectRequest,
  effect: StoredEffect,
): Promise<AppliedEffect> {
  // Called off while the ledger was written: from then on no call begins (E-7).
  scope.signal.throwIfAborted();
  let value: EffectApplied | void;
  try {
    value = await request.apply(scope.signal, {
      idempotencyKey: fingerprint([effect.resourceUid, effect.key, effect.requestFingerprint]),
      attempt: effect.attempts,
    });
  } catch (thrown) {
    const reason = messageOf(thrown);
    if (isEffectRejected(thrown)) return settleRejected(scope, effect, reason, thrown);
    await settle(scope, effect, { state: "indeterminate", reason, park: false });
    const message = `effect ${effect.key}: ${reason}`;
    throw new EffectHeld({ kind: "uncertain", effectKey: effect.key, message }, thrown);
  }
  return settleApplied(scope, effect, value ?? {});
}

async function settleApplied(
  scope: EffectScope,
  effect: StoredEffect,
  value: unknown,
): Promise<AppliedEffect> {
  const kept = keepApplied(value, (part, why) =>
    scope.host.log("warn", "effect answer not kept", { effect: effect.key, part, why }),
  );
  return recorded(await settle(scope, effect, { state: "applied", ...kept }));
}

async function settleRejected(
  scope: EffectScope,
  effect: StoredEffect,
  reason: string,
  thrown?: unknown,
): Promise<never> {
  await settle(scope, effect, { state: "rejected", reason: clean(reason) });
  throw thrown ?? new EffectRejected(clean(reason));
}

async function park(scope: EffectScope, effect: StoredEffect, why: string): Promise<never> {
  const reason = clean(why);
  await settle(scope, effect, { state: "indeterminate", reason, park: true });
  const message = `effect ${effect.key} ${reason}`;
  throw new EffectHeld({ kind: "parked", effectKey: effect.key, message });
}

function begin(scope: EffectScope, request: EffectRequest, provenAbsent: boolean) {
  const { key, kind } = request;
  return scope.host.beginEffect({ key, kind, request: request.request, provenAbsent });
}

function settle(
  { host }: EffectScope,
  { key, requestFingerprint }: StoredEffect,
  outcome: EffectOutcome,
): Promise<StoredEffect> {
  return host.settleEffect({ key, requestFingerprint, outcome });
}
