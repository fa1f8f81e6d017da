import { PiWorkflowsError } from "../../../model/errors.ts";
import { LIMITS } from "../../../model/limits.ts";
import { workflowLane, type ResolvedWorkflow, type WorkflowRecord } from "../../../model/graph.ts";
import { makeLane } from "../managers.ts";
import type { Transaction } from "../transaction.ts";
import type { Reader } from "./run-row.ts";

/** @throws BAD_REQUEST for a name that makes no lane */
export function acceptWorkflow(
  tx: Transaction,
  project: string,
  workflow: ResolvedWorkflow,
): WorkflowRecord {
  const name = workflowLane(workflow.name);
  if (workflow.name === "" || name.length > LIMITS.name) {
    const most = LIMITS.name - workflowLane("").length;
    throw new PiWorkflowsError(
      "BAD_REQUEST",
      `a workflow's name must have 1 to ${most} characters: ${workflow.name}`,
    );
  }
  const lane = makeLane(tx, project, name);
  tx.run(
    "UPDATE manager SET definition = ?, digest = ?, accepted_at = ? WHERE lane = ?",
    JSON.stringify(workflow),
    workflow.digest,
    tx.now,
    lane,
  );
  return { ...workflow, lane, project, acceptedAt: tx.now };
}

type Row = { lane: number; project: string; definition: string; accepted_at: number };

const SELECT = `SELECT m.lane, p.path AS project, m.definition, m.accepted_at
  FROM project p JOIN manager m ON m.project_id = p.id`;
// A lane of runs is told by its name alone, which no manager can have.
const IS_WORKFLOW = `m.accepted_at IS NOT NULL AND substr(m.name, 1, ${workflowLane("").length})
  = '${workflowLane("")}'`;

/** Accepted workflows, by project and name. */
export function workflowRecords(reader: Reader, project?: string): WorkflowRecord[] {
  return reader
    .all<Row>(
      `${SELECT} WHERE ${IS_WORKFLOW} AND p.path = ifnull(?, p.path) ORDER BY p.path, m.name`,
      project ?? null,
    )
    .map(toRecord);
}

/** @throws UNKNOWN_WORKFLOW */
export function acceptedWorkflow(
  reader: Reader,
  project: string,
  workflow: string,
): WorkflowRecord {
  const row = reader.get<Row>(
    `${SELECT} WHERE ${IS_WORKFLOW} AND p.path = ? AND m.name = ?`,
    project,
    workflowLane(workflow),
  );
  if (row) return toRecord(row);
  throw new PiWorkflowsError("UNKNOWN_WORKFLOW", `there is no workflow ${workflow} in ${project}`);
}

function toRecord(row: Row): WorkflowRecord {
  return {
    ...(JSON.parse(row.definition) as ResolvedWorkflow),
    lane: row.lane,
    project: row.project,
    acceptedAt: row.accepted_at,
  };
}
