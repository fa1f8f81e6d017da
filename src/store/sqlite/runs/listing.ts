import { PiWorkflowsError } from "../../../model/errors.ts";
import { workflowLane } from "../../../model/graph.ts";
import { LIMITS } from "../../../model/limits.ts";
import type { RunSummary } from "../../../model/run.ts";
import type { RunAttempt, RunQuery } from "../../runs.ts";
import type { SqlValue } from "../connection.ts";
import { SELECT_RUNS, toSummary, type Reader, type RunRow } from "./run-row.ts";

// After every id that begins alike: no id holds a noncharacter, and SQLite compares bytes.
const LAST_CHARACTER = "\u{10FFFF}";

/** One page of runs, newest first. @throws BAD_REQUEST where `after` is no cursor of ours */
export function listRuns(reader: Reader, query: RunQuery): { items: RunSummary[]; next?: string } {
  const limit = Math.max(1, Math.min(query.limit ?? LIMITS.page, LIMITS.page));
  const { sql, values } = conditionsOf(query);
  // One more than asked for tells whether there is a next page.
  const rows = reader.all<RunRow>(
    `${SELECT_RUNS} WHERE ${sql} ORDER BY u.resource_id DESC LIMIT ?`,
    ...values,
    limit + 1,
  );
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map(toSummary),
    ...(rows.length > limit && last ? { next: String(last.id) } : {}),
  };
}

/** The runs of one request, by attempt. */
export function readAttempts(reader: Reader, runId: string): RunAttempt[] {
  const run = reader.get<{ lane: number; parent_uid: string | null; request_key: string }>(
    `SELECT u.lane, u.parent_uid, u.request_key FROM run u JOIN resource r ON r.id = u.resource_id
     WHERE r.uid = ?`,
    runId,
  );
  if (run === undefined) return [];
  const owner =
    run.parent_uid === null ? "u.lane = ? AND u.parent_uid IS NULL" : "u.parent_uid = ?";
  return reader.all<RunAttempt>(
    `SELECT r.uid AS runId, u.attempt FROM run u JOIN resource r ON r.id = u.resource_id
     WHERE ${owner} AND u.request_key = ? ORDER BY u.attempt`,
    run.parent_uid ?? run.lane,
    run.request_key,
  );
}

function conditionsOf(query: RunQuery): { sql: string; values: SqlValue[] } {
  const given: [sql: string, ...values: (SqlValue | undefined)[]][] = [
    ["p.path = ?", query.project],
    ["m.name = ?", query.workflow === undefined ? undefined : workflowLane(query.workflow)],
    ["u.state = ?", query.state],
    ["u.parent_uid = ?", query.parentUid],
    ["u.session = ?", query.session],
    ["u.resource_id < ?", query.after === undefined ? undefined : idOf(query.after)],
  ];
  const parts = given.filter(([, value]) => value !== undefined);
  const { prefix } = query;
  if (prefix !== undefined) {
    parts.push(["r.uid >= ? AND r.uid < ?", prefix, `${prefix}${LAST_CHARACTER}`]);
  }
  const open = query.open === true ? ["u.ended_at IS NULL"] : [];
  return {
    sql: ["u.resource_id > 0", ...open, ...parts.map(([sql]) => sql)].join(" AND "),
    values: parts.flatMap(([, ...values]) => values as SqlValue[]),
  };
}

function idOf(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new PiWorkflowsError("BAD_REQUEST", "the list can't be continued from there", {
    hint: "Pass the `next` of the page before, unchanged.",
  });
}
