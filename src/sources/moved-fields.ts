import { redactText } from "../model/redact.ts";
import { covers } from "./secret-path.ts";
import { show } from "./issue.ts";
import type { FieldPath } from "./json-tree.ts";

/** A field that had another value when its file was evaluated again. */
export type MovedField = { path: FieldPath; before: unknown; after: unknown };

/** More of one manifest say nothing new. */
const MAX_FIELDS = 5;
/** Deeper values are refused by what checks them next. */
const MAX_DEPTH = 200;

/** The fields in which two values differ, the first few. */
export function movedFields(before: unknown, after: unknown): MovedField[] {
  const moved: MovedField[] = [];
  try {
    compare({ path: [], before, after }, moved);
  } catch {
    // A proxy or a getter that throws; what checks them next refuses it.
  }
  return moved;
}

function compare({ path, before, after }: MovedField, moved: MovedField[]): void {
  if (moved.length >= MAX_FIELDS || path.length > MAX_DEPTH || Object.is(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    const items: [unknown[], unknown[]] = [before, after];
    const length = Math.max(before.length, after.length);
    for (let index = 0; index < length; index += 1) {
      compare({ path: [...path, index], before: items[0][index], after: items[1][index] }, moved);
    }
  } else if (isRecord(before) && isRecord(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare({ path: [...path, name], before: before[name], after: after[name] }, moved);
    }
  } else if (textOf(before) !== textOf(after)) moved.push({ path, before, after });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Anything else by what JSON makes of it: a date by its time, a function as nothing. */
function textOf(value: unknown): string | undefined {
  try {
    return typeof value === "bigint" ? String(value) : JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/**
 * `1 at first, and 2 when it was evaluated again`. `secretPaths` are those of the spec; undefined
 * where they are not known, so that any field may be one.
 */
export function describeMove(
  { path, before, after }: MovedField,
  secretPaths: readonly string[] | undefined,
): string {
  const [top, ...steps] = path;
  const isSecret =
    secretPaths === undefined ||
    (top === "spec" && secretPaths.some((secret) => covers(secret, steps)));
  const [first, second] = isSecret
    ? ["*** (1)", "*** (2)"]
    : [before, after].map((value) => redactText(show(value)));
  return `was ${first} at first, and ${second} when it was evaluated again`;
}
