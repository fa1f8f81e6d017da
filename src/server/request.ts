import { z } from "zod";
import { PiWorkflowsError } from "../model/errors.ts";

// Enough to see what is wrong without echoing a whole batch back.
const ISSUES_SHOWN = 10;

/**
 * `value` as `schema` reads it.
 * @throws BAD_REQUEST naming each place that is wrong.
 */
export function parseRequest<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, ISSUES_SHOWN).map(
    (issue) => `${z.core.toDotPath(issue.path) || "the request"}: ${issue.message}`,
  );
  throw new PiWorkflowsError("BAD_REQUEST", issues.join("; "), { details: { issues } });
}
