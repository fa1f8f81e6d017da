import type { z } from "zod";
import type { JsonSchema } from "../model/manifest.ts";
import { type Issue, notOneOf, unknownMember, wrongType } from "./issue.ts";
import { memberNames } from "./json-schema.ts";
import type { FieldPath } from "./json-tree.ts";

type ZodIssue = z.core.$ZodIssue;

// The words that zod itself uses; an author's own message never matches and is kept as it is.
const DEFAULT_WORDS = /^(?:Invalid|Too (?:big|small)|Unrecognized)\b/;

/** Zod's issues in the product's words: what is wrong, what is allowed. */
export function zodIssues(
  issues: readonly ZodIssue[],
  value: unknown,
  schema: JsonSchema | undefined,
): Issue[] {
  return issues.flatMap((issue) => translate(issue, value, schema));
}

function translate(issue: ZodIssue, root: unknown, schema: JsonSchema | undefined): Issue[] {
  const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
  if (issue.code === "unrecognized_keys") {
    const allowed = memberNames(schema, path);
    return issue.keys.map((name) => ({
      path: [...path, name],
      message: unknownMember(name, allowed),
      of: "name" as const,
    }));
  }
  const value = valueAt(root, path);
  const own = DEFAULT_WORDS.test(issue.message) ? words(issue, value) : undefined;
  return [{ path, message: own ?? issue.message, of: "value" }];
}

/** Undefined where zod's own words are as good. */
function words(issue: ZodIssue, value: unknown): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return wrongType(KINDS[issue.expected] ?? issue.expected, value);
    case "invalid_value":
      return value === undefined && issue.values.length > 1
        ? `is missing; ${notOneOf(value, issue.values).replace(/, not missing$/, "")}`
        : notOneOf(value, issue.values);
    case "too_big":
      return bound(issue.inclusive === false ? "below" : "at most", issue.maximum, issue.origin);
    case "too_small":
      return bound(issue.inclusive === false ? "above" : "at least", issue.minimum, issue.origin);
    case "invalid_format":
      return issue.format === "regex"
        ? `must match ${String(issue.pattern)}`
        : `must be a valid ${issue.format}`;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_union":
      return union(issue.errors, value);
    case "unrecognized_keys":
    case "invalid_key":
    case "invalid_element":
    case "custom":
      return undefined;
  }
}

const KINDS: Readonly<Record<string, string>> = {
  int: "whole number",
  record: "object",
  map: "object",
  set: "array",
  tuple: "array",
  nan: "number",
};

const UNITS: Readonly<Record<string, string>> = {
  string: " characters",
  array: " items",
  set: " items",
  file: " bytes",
};

function bound(word: string, limit: number | bigint, origin: string): string {
  const verb = origin in UNITS ? "must have" : "must be";
  return `${verb} ${word} ${limit}${UNITS[origin] ?? ""}`;
}

function union(branches: readonly (readonly ZodIssue[])[], value: unknown): string | undefined {
  const reasons = branches
    .map((issues) => zodIssues(issues, value, undefined)[0])
    .filter((issue) => issue !== undefined)
    .map((issue) => (issue.path.length > 0 ? `${issue.path.join(".")} ` : "") + issue.message);
  if (reasons.length === 0) return undefined;
  return `fits none of the forms allowed: ${[...new Set(reasons)].join("; or ")}`;
}

function valueAt(root: unknown, path: FieldPath): unknown {
  let value = root;
  for (const part of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return value;
}
