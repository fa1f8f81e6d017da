import { canonicalJson, type Json } from "../model/canonical.ts";
import type { EffectObservation, StoredEffect } from "../model/effect.ts";
import { byteLength, LIMITS } from "../model/limits.ts";
import type { AppliedEffect, EffectRequest } from "../resource-managers/context.ts";
import { EffectRejected } from "../resource-managers/results.ts";
import { messageOf } from "./message.ts";

/**
 * What a terminal record means to the caller (E-3).
 * @throws EffectRejected where the provider refused it.
 */
export function recorded(effect: StoredEffect): AppliedEffect {
  if (effect.state !== "applied") {
    throw new EffectRejected(effect.reason ?? `effect ${effect.key} is ${effect.state}`);
  }
  return {
    key: effect.key,
    resourceUid: effect.resourceUid,
    generation: effect.generation,
    requestFingerprint: effect.requestFingerprint,
    state: effect.state,
    ...(effect.externalRef === undefined ? {} : { externalRef: effect.externalRef }),
    startedAt: effect.startedAt,
    ...(effect.completedAt === undefined ? {} : { completedAt: effect.completedAt }),
    ...(effect.result === undefined ? {} : { result: effect.result }),
  };
}

/** What can be kept of a provider's answer: that it was applied counts, whatever it returned. */
export function keepApplied(
  value: unknown,
  drop: (part: string, why: string) => void,
): { externalRef?: string; result?: Json } {
  if (typeof value !== "object" || value === null) return {};
  const { externalRef, result } = value as Record<string, unknown>;
  const kept: { externalRef?: string; result?: Json } = {};
  if (typeof externalRef === "string" && byteLength(externalRef) <= LIMITS.message) {
    kept.externalRef = externalRef;
  } else if (externalRef !== undefined) {
    drop("externalRef", `not text of at most ${LIMITS.message} bytes`);
  }
  if (result === undefined) return kept;
  try {
    const text = canonicalJson(result);
    if (byteLength(text) <= LIMITS.effectResult) kept.result = JSON.parse(text) as Json;
    else drop("result", `more than ${LIMITS.effectResult} bytes of JSON`);
  } catch (error) {
    drop("result", messageOf(error));
  }
  return kept;
}

/**
 * Checks what an author asked for.
 * @throws TypeError that names the member, and NOT_JSON for a request that JSON can't hold.
 */
export function checkRequest(request: EffectRequest): void {
  const { key, kind, consistencyWindowMs: window } = request;
  if (typeof key !== "string" || key === "" || key.length > LIMITS.effectKey) {
    throw new TypeError(`effects.ensure: key must be 1 to ${LIMITS.effectKey} characters`);
  }
  if (typeof kind !== "string" || kind === "" || kind.length > LIMITS.name) {
    throw new TypeError(`effects.ensure ${key}: kind must be 1 to ${LIMITS.name} characters`);
  }
  if (typeof request.observe !== "function" || typeof request.apply !== "function") {
    throw new TypeError(`effects.ensure ${key}: observe and apply must be functions`);
  }
  if (window !== undefined && !(window >= 0 && window <= LIMITS.maxRequeueMs)) {
    throw new TypeError(
      `effects.ensure ${key}: consistencyWindowMs must be 0 to ${LIMITS.maxRequeueMs}, not ${window}`,
    );
  }
  const bytes = byteLength(canonicalJson(request.request));
  if (bytes > LIMITS.effectRequest) {
    throw new TypeError(
      `effects.ensure ${key}: request has ${bytes} bytes of JSON, at most ${LIMITS.effectRequest}`,
    );
  }
}

/**
 * Checks what an author's `observe` returned.
 * @throws TypeError where it says nothing.
 */
export function checkObservation(seen: unknown): EffectObservation {
  const { state, reason } = (seen ?? {}) as Record<string, unknown>;
  if (state === "applied" || state === "absent") return seen as EffectObservation;
  if (state === "rejected" || state === "unknown") {
    return { state, reason: typeof reason === "string" ? reason : "no reason given" };
  }
  throw new TypeError(
    `observe must return { state: "applied" | "absent" | "rejected" | "unknown" }`,
  );
}
