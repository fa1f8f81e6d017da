import { z } from "zod";
import { PiWorkflowsError } from "../model/errors.ts";

// Enough to see what is wrong without echoing a whole batch back.
const ISSUES_SHOWN = 10;

/**
 * `value` as `schema` reads it.
 * @throws BAD_REQUEST naming each place that is wrong; TOO_LARGE where only sizes are.
 */
export function parseRequest<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues
    .slice(0, ISSUES_SHOWN)
    .map((issue) => `${z.core.toDotPath(issue.path) || "the request"}: ${issue.message}`);
  const code = parsed.error.issues.every(isSize) ? "TOO_LARGE" : "BAD_REQUEST";
  throw new PiWorkflowsError(code, issues.join("; "), { details: { issues } });
}

function isSize(issue: z.core.$ZodIssue): boolean {
  return issue.code === "too_big" && (issue.origin === "string" || issue.origin === "array");
}
