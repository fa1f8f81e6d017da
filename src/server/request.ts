import { z } from "zod";
import { PiWorkflowsError } from "../model/errors.ts";
import type { ApplyBatch } from "../model/batch.ts";
import { LIMITS } from "../model/limits.ts";
import type { Params, RouteName, StreamApi, StreamName } from "./protocol.ts";
import { REQUESTS, STREAM_REQUESTS } from "./protocol-schemas.ts";
import { nextTurn } from "./turn.ts";

// Enough to see what is wrong without echoing a whole batch back.
const ISSUES_SHOWN = 10;
// A thousand changes at once take tens of milliseconds: the event loop gets a turn after so many.
const CHANGES_PER_TURN = 50;

/**
 * What a caller gave a route, as the route's schema reads it.
 * @throws BAD_REQUEST naming each place that is wrong; TOO_LARGE where only sizes are.
 */
export async function readParams<R extends RouteName>(
  route: R,
  value: unknown,
): Promise<Params<R>> {
  const read = route === "commit" ? await readBatch(value) : parse(REQUESTS[route], value);
  return read as Params<R>;
}

/** The same for a stream. */
export function readStreamParams<S extends StreamName>(
  stream: S,
  value: unknown,
): StreamApi[S]["params"] {
  return parse(STREAM_REQUESTS[stream], value) as StreamApi[S]["params"];
}

function parse(schema: z.ZodType, value: unknown): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw refusal(parsed.error.issues);
}

async function readBatch(value: unknown): Promise<ApplyBatch> {
  const changes = changesOf(value);
  if (changes === undefined) return parse(REQUESTS.commit, value) as ApplyBatch;
  if (changes.length > LIMITS.batch) {
    throw new PiWorkflowsError(
      "TOO_LARGE",
      `changes: a batch has at most ${LIMITS.batch} changes, not ${changes.length}`,
    );
  }
  const batch = parse(REQUESTS.commit, { ...(value as object), changes: [] }) as ApplyBatch;
  const change = REQUESTS.commit.shape.changes.element;
  const issues: z.core.$ZodIssue[] = [];
  for (const [index, one] of changes.entries()) {
    if (index > 0 && index % CHANGES_PER_TURN === 0) await nextTurn();
    const parsed = change.safeParse(one);
    if (parsed.success) batch.changes.push(parsed.data);
    else issues.push(...parsed.error.issues.map((issue) => within(issue, ["changes", index])));
  }
  if (issues.length > 0) throw refusal(issues);
  return batch;
}

function changesOf(value: unknown): unknown[] | undefined {
  if (typeof value !== "object" || value === null || !("changes" in value)) return undefined;
  return Array.isArray(value.changes) ? value.changes : undefined;
}

function within(issue: z.core.$ZodIssue, path: PropertyKey[]): z.core.$ZodIssue {
  return { ...issue, path: [...path, ...issue.path] };
}

function refusal(found: readonly z.core.$ZodIssue[]): PiWorkflowsError {
  const issues = found
    .slice(0, ISSUES_SHOWN)
    .map((issue) => `${z.core.toDotPath(issue.path) || "the request"}: ${issue.message}`);
  const code = found.every(isSize) ? "TOO_LARGE" : "BAD_REQUEST";
  return new PiWorkflowsError(code, issues.join("; "), { details: { issues } });
}

function isSize(issue: z.core.$ZodIssue): boolean {
  return issue.code === "too_big" && (issue.origin === "string" || issue.origin === "array");
}
