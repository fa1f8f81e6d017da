import type { Json } from "../../../model/canonical.ts";
import { PiWorkflowsError } from "../../../model/errors.ts";
import { workflowLane } from "../../../model/graph.ts";
import type { WorkflowRunLink } from "../../../model/resource.ts";
import type { RunReason, RunState, RunSummary, StoredRun } from "../../../model/run.ts";
import type { Connection } from "../connection.ts";

/** What can be read through: a connection, or a transaction. */
export type Reader = Pick<Connection, "get" | "all">;

/** A run with what its resource, its lane and its queue row say of it. */
export type RunRow = {
  id: number;
  uid: string;
  lane: number;
  generation: number;
  suspended: 0 | 1;
  /** Name of the lane. */
  manager: string;
  project: string;
  digest: string;
  keeps_code: 0 | 1;
  state: RunState;
  reason: RunReason | null;
  message: string | null;
  node: string | null;
  exit: string | null;
  parent_uid: string | null;
  parent_manager: string | null;
  parent_key: string | null;
  request_key: string;
  attempt: number;
  session: string | null;
  started_by: string;
  cancel_by: string | null;
  cancel_taken: 0 | 1;
  epochs: number;
  entries: number;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
  deadline_at: number;
  /** Queue time; null while no runner works on it. */
  claimed_at: number | null;
};
/** A run with its values. */
export type WholeRunRow = RunRow & { body: string; output: string | null };

const COLUMNS = `u.resource_id AS id, r.uid, u.lane, r.generation, r.suspended, m.name AS manager,
  p.path AS project, u.digest, u.keeps_code, u.state, u.reason, u.message, u.node, u.exit,
  u.parent_uid, u.parent_manager, u.parent_key, u.request_key, u.attempt, u.session, u.started_by,
  u.cancel_by, u.cancel_taken, u.epochs, u.entries, u.created_at, u.started_at, u.ended_at,
  u.deadline_at, iif(q.claim_token IS NULL, NULL, q.claimed_at) AS claimed_at`;
const TABLES = `run u JOIN resource r ON r.id = u.resource_id
  JOIN manager m ON m.lane = u.lane JOIN project p ON p.id = m.project_id
  LEFT JOIN queue q ON q.resource_id = u.resource_id`;

/** A query of runs without their values, to be continued with its conditions. */
export const SELECT_RUNS = `SELECT ${COLUMNS} FROM ${TABLES}`;
/** A query of runs with their input and output. */
export const SELECT_WHOLE_RUNS = `SELECT ${COLUMNS}, b.body, u.output FROM ${TABLES}
  JOIN spec_body b ON b.id = r.body_id`;

/** Whether a resource is a run. */
export function isRun(reader: Reader, id: number): boolean {
  return reader.get("SELECT 1 AS found FROM run WHERE resource_id = ?", id) !== undefined;
}

export function runById(reader: Reader, id: number): RunRow | undefined {
  return reader.get<RunRow>(`${SELECT_RUNS} WHERE u.resource_id = ?`, id);
}

/** @throws NOT_FOUND */
export function runByUid(reader: Reader, runId: string): RunRow {
  const row = reader.get<RunRow>(`${SELECT_RUNS} WHERE r.uid = ?`, runId);
  if (row) return row;
  throw new PiWorkflowsError("NOT_FOUND", `there is no run ${runId}`, {
    hint: "List runs with `pi-workflows runs`.",
  });
}

export function readRun(reader: Reader, runId: string): StoredRun | undefined {
  const row = reader.get<WholeRunRow>(`${SELECT_WHOLE_RUNS} WHERE r.uid = ?`, runId);
  return row && toRun(row);
}

/** As `readRun`, of a run that is known to be there. */
export function storedRun(reader: Reader, id: number): StoredRun {
  return toRun(
    reader.get<WholeRunRow>(`${SELECT_WHOLE_RUNS} WHERE u.resource_id = ?`, id) as WholeRunRow,
  );
}

function toRun(row: WholeRunRow): StoredRun {
  return {
    ...toSummary(row),
    input: JSON.parse(row.body) as Json,
    ...(row.output === null ? {} : { output: JSON.parse(row.output) as Json }),
  };
}

export function toSummary(row: RunRow): RunSummary {
  return {
    runId: row.uid,
    project: row.project,
    workflow: workflowOf(row.manager),
    digest: row.digest,
    state: row.state,
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(row.message === null ? {} : { message: row.message }),
    ...(row.node === null ? {} : { node: row.node }),
    ...(row.exit === null ? {} : { exit: row.exit }),
    attempt: row.attempt,
    ...parentOf(row),
    ...(row.session === null ? {} : { session: row.session }),
    startedBy: row.started_by,
    cancelling: row.cancel_by !== null && row.ended_at === null,
    paused: row.suspended === 1,
    ...(row.claimed_at === null ? {} : { claimedAt: row.claimed_at }),
    epochs: row.epochs,
    entries: row.entries,
    createdAt: row.created_at,
    ...(row.started_at === null ? {} : { startedAt: row.started_at }),
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
    deadlineAt: row.deadline_at,
  };
}

function parentOf(row: RunRow): Pick<StoredRun, "parent"> {
  if (row.parent_uid === null) return {};
  return {
    parent: {
      uid: row.parent_uid,
      resourceManager: row.parent_manager ?? "",
      key: row.parent_key ?? "",
      requestKey: row.request_key,
    },
  };
}

/** The workflow of a lane that is one. */
export function workflowOf(lane: string): string {
  return lane.slice(workflowLane("").length);
}

/** What a resource shows of the run that it asked for last. */
export type LinkColumns = {
  run_request: string | null;
  run_uid: string | null;
  run_state: RunState | null;
  run_attempt: number | null;
};

/** The columns of a link, for a query with the resource `r` that `LINK_TABLES` continues. */
export const LINK_COLUMNS = `lu.request_key AS run_request, lr.uid AS run_uid, lu.state AS run_state,
  lu.attempt AS run_attempt`;
export const LINK_TABLES = `LEFT JOIN run lu ON lu.resource_id = r.current_run
  LEFT JOIN resource lr ON lr.id = r.current_run`;

/** `status.workflowRun` of a resource, derived from the run itself. */
export function linkOf(row: LinkColumns): { workflowRun?: WorkflowRunLink } {
  if (row.run_state === null) return {};
  return {
    workflowRun: {
      requestId: row.run_request ?? "",
      ...(row.run_uid === null ? {} : { runId: row.run_uid }),
      state: row.run_state,
      attempt: row.run_attempt ?? 1,
    },
  };
}
