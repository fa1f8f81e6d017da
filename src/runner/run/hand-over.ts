import type { z } from "zod";
import { canonicalJson, type Json } from "../../model/canonical.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import { byteLength, LIMITS, truncate } from "../../model/limits.ts";
import type { NodeError } from "../../model/run.ts";
import { formatPath } from "../../sources/issue.ts";
import { zodIssues } from "../../sources/zod-issues.ts";
import { clean, messageOf } from "../message.ts";

/** What is wrong with a value that one part of a run hands to another. */
export class HandOverError extends Error {
  override readonly name = "HandOverError";
  readonly reason: "InvalidInput" | "InvalidOutput" | "TooLarge";

  constructor(reason: HandOverError["reason"], message: string) {
    super(message);
    this.reason = reason;
  }

  toNodeError(): NodeError {
    return { reason: this.reason, message: clean(this.message) };
  }
}

/** Names a value for messages: `node review/judge handed over an output`. */
type Naming = { what: string; reason: "InvalidInput" | "InvalidOutput" };

/**
 * Checks a value by its schema, where there is one, and makes of it what the journal keeps: JSON, a
 * copy of its own, within LIMITS.nodeOutput.
 * @throws HandOverError that names the value, the place in it, and what was expected there.
 */
export function handOver(
  value: unknown,
  schema: z.ZodType | undefined,
  naming: Naming,
): Json | undefined {
  const checked = schema === undefined ? value : conform(value, schema, naming);
  if (checked === undefined) return undefined;
  let text: string;
  try {
    text = canonicalJson(checked);
  } catch (thrown) {
    throw new HandOverError(naming.reason, `${naming.what} that JSON can't hold: ${why(thrown)}`);
  }
  const bytes = text.length > LIMITS.nodeOutput / 4 ? byteLength(text) : text.length;
  if (bytes > LIMITS.nodeOutput) {
    const most = `${bytes} bytes of JSON, at most ${LIMITS.nodeOutput}`;
    throw new HandOverError("TooLarge", `${naming.what} that is too large: ${most}`);
  }
  return JSON.parse(text) as Json;
}

/** What a schema makes of a value. @throws HandOverError */
export function conform(value: unknown, schema: z.ZodType, { what, reason }: Naming): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new HandOverError(reason, `${what} that does not fit: ${problemsOf(parsed.error, value)}`);
}

const PROBLEMS_SHOWN = 5;

/** The first problems that a schema found in a value, each with its place. */
export function problemsOf({ issues }: z.ZodError, value: unknown): string {
  const problems = zodIssues(issues, value, undefined).map(({ path, message }) =>
    path.length === 0 ? message : `${formatPath(path)}: ${message}`,
  );
  const rest = problems.length - PROBLEMS_SHOWN;
  const more = rest > 0 ? [`and ${rest} more`] : [];
  return truncate([...problems.slice(0, PROBLEMS_SHOWN), ...more].join("; "));
}

function why(thrown: unknown): string {
  return thrown instanceof PiWorkflowsError ? thrown.message : messageOf(thrown);
}
