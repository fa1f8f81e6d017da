import { joinPath } from "../model/canonical.ts";
import type { FieldPath } from "./json-tree.ts";
import { didYouMean, listed, nearestName } from "../model/nearest.ts";

/** One thing that a schema finds wrong. */
export type Issue = {
  path: FieldPath;
  /** What is wrong and what is allowed. */
  message: string;
  /** `name` where the member should not be there at all. */
  of: "value" | "name";
};

/** `spec.users[2].name`. */
export function formatPath(path: FieldPath): string {
  return path.reduce<string>(
    (text, part) => (typeof part === "number" ? `${text}[${part}]` : joinPath(text, part)),
    "",
  );
}

/** The message of a member that the schema does not know. */
export function unknownMember(name: string, allowed: readonly string[]): string {
  return `unknown field${didYouMean(name, allowed, "allowed")}`;
}

/** The message of a value that is not one of a few. */
export function notOneOf(value: unknown, allowed: readonly unknown[]): string {
  const names = allowed.filter((option) => typeof option === "string");
  const near = typeof value === "string" ? nearestName(value, names) : undefined;
  const hint = near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
  const options = listed(allowed.map((option) => JSON.stringify(option)));
  return allowed.length === 1
    ? `must be ${options}, not ${show(value)}`
    : `must be one of ${options}, not ${show(value)}${hint}`;
}

/** The message of a value of the wrong kind. */
export function wrongType(expected: string, value: unknown): string {
  return value === undefined
    ? `is missing; must be ${article(expected)}`
    : `must be ${article(expected)}, not ${show(value)}`;
}

/** A value as a message shows it: short ones as JSON, others by their kind. */
export function show(value: unknown): string {
  if (value === null || typeof value === "number" || typeof value === "boolean") {
    return String(value);
  }
  if (typeof value === "string") {
    return value.length <= 60 ? JSON.stringify(value) : `a string of ${value.length} characters`;
  }
  if (value === undefined) return "missing";
  return Array.isArray(value) ? "an array" : article(typeof value);
}

function article(kind: string): string {
  if (kind === "null" || / or |^(?:a|an|the|one) /.test(kind)) return kind;
  return `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`;
}
