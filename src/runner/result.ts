import { canonicalJson, type Json } from "../model/canonical.ts";
import type { ConditionInput } from "../model/condition.ts";
import { byteLength, LIMITS } from "../model/limits.ts";
import type { PassResult, StatusPatch } from "../model/pass.ts";
import { clean } from "./message.ts";

/** A result that a pass may end with by itself. */
export type NormalResult = Extract<PassResult, { kind: "settled" | "requeue" | "requeueAfter" }>;

/**
 * Checks a delay that an author asked for and rounds it up to whole milliseconds.
 * @throws TypeError that names the value.
 */
export function checkDelay(delayMs: unknown): number {
  if (typeof delayMs === "number" && delayMs > 0 && delayMs <= LIMITS.maxRequeueMs) {
    return Math.ceil(delayMs);
  }
  throw new TypeError(
    `requeueAfter: delayMs must be more than 0 and at most ${LIMITS.maxRequeueMs}, not ${String(delayMs)}`,
  );
}

/**
 * Checks what a reconcile function returned and copies it, so that nothing the author does later
 * can change it.
 * @throws TypeError that says what is wrong with it.
 * @throws PiWorkflowsError NOT_JSON where the status holds what JSON can't.
 */
export function checkResult(returned: unknown): NormalResult {
  if (!isRecord(returned)) {
    throw new TypeError(`reconcile returned ${describe(returned)}; ${RETURN_ONE}`);
  }
  const patch = checkPatch(returned);
  switch (returned["kind"]) {
    case "settled":
    case "requeue":
      return { kind: returned["kind"], ...patch };
    case "requeueAfter":
      return { kind: "requeueAfter", delayMs: checkDelay(returned["delayMs"]), ...patch };
    default:
      throw new TypeError(`reconcile returned an object that is no result; ${RETURN_ONE}`);
  }
}

const RETURN_ONE = "return one of ctx.settled(…), ctx.requeue(…) and ctx.requeueAfter(…)";

function checkPatch({ resourceManagerStatus, conditions }: Record<string, unknown>): StatusPatch {
  return {
    ...(resourceManagerStatus === undefined
      ? {}
      : { resourceManagerStatus: checkStatus(resourceManagerStatus) }),
    ...(conditions === undefined ? {} : { conditions: checkConditions(conditions) }),
  };
}

function checkStatus(status: unknown): Json {
  const text = canonicalJson(status);
  const bytes = byteLength(text);
  if (bytes > LIMITS.status) {
    throw new TypeError(
      `resourceManagerStatus has ${bytes} bytes of JSON, at most ${LIMITS.status}`,
    );
  }
  return JSON.parse(text) as Json;
}

function checkConditions(conditions: unknown): ConditionInput[] {
  if (!Array.isArray(conditions) || conditions.length > LIMITS.conditions) {
    throw new TypeError(`conditions must be an array of at most ${LIMITS.conditions}`);
  }
  const checked = conditions.map(checkCondition);
  const types = new Set(checked.map(({ type }) => type));
  if (types.size !== checked.length) {
    throw new TypeError("conditions must not name one type twice");
  }
  return checked;
}

function checkCondition(condition: unknown): ConditionInput {
  if (!isRecord(condition)) {
    throw new TypeError(`a condition must be an object, not ${describe(condition)}`);
  }
  const { type, status, reason, message } = condition;
  if (!isName(type))
    throw new TypeError(`a condition's type must be 1 to ${LIMITS.name} characters`);
  if (status !== true && status !== false && status !== "unknown") {
    throw new TypeError(`condition ${type}: status must be true, false or "unknown"`);
  }
  if (!isName(reason)) {
    throw new TypeError(`condition ${type}: reason must be 1 to ${LIMITS.name} characters`);
  }
  if (message !== undefined && typeof message !== "string") {
    throw new TypeError(`condition ${type}: message must be text`);
  }
  return { type, status, reason, ...(message === undefined ? {} : { message: clean(message) }) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= LIMITS.name;
}

function describe(value: unknown): string {
  return value === undefined ? "nothing" : value === null ? "null" : `a ${typeof value}`;
}
