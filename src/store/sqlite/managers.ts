import type { ManagerRecord } from "../../model/batch.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import { isWorkflowLane, workflowLane } from "../../model/graph.ts";
import type { ResolvedManager } from "../../model/manifest.ts";
import type { Connection } from "./connection.ts";
import type { LaneNames } from "./resource-row.ts";
import type { Transaction } from "./transaction.ts";

type Reader = Pick<Connection, "get" | "all">;

export function acceptManager(
  tx: Transaction,
  project: string,
  manager: ResolvedManager,
): ManagerRecord {
  const lane = laneFor(tx, project, manager.name);
  tx.run(
    "UPDATE manager SET definition = ?, digest = ?, accepted_at = ? WHERE lane = ?",
    JSON.stringify(manager),
    manager.digest,
    tx.now,
    lane,
  );
  return { ...manager, lane, project, acceptedAt: tx.now };
}

/**
 * The lane of a manager in a project, made where it is new.
 * @throws BAD_REQUEST for a name that is a workflow's lane: runs are not applied
 */
export function laneFor(tx: Transaction, project: string, manager: string): number {
  if (!isWorkflowLane(manager)) return makeLane(tx, project, manager);
  throw new PiWorkflowsError("BAD_REQUEST", `${manager} can't be a resource manager's name`, {
    hint: "Runs of workflows are started with `pi-workflows run start`.",
  });
}

/** The lane of a manager or of a workflow's runs, made where it is new. */
export function makeLane(tx: Transaction, project: string, name: string): number {
  const lane = anyLane(tx, project, name);
  if (lane !== undefined) return lane;
  tx.run("INSERT INTO project (path) VALUES (?) ON CONFLICT DO NOTHING", project);
  return tx.insert(
    "INSERT INTO manager (project_id, name) VALUES ((SELECT id FROM project WHERE path = ?), ?)",
    project,
    name,
  );
}

/** The lane of a resource manager; those of runs are not found. */
export function findLane(reader: Reader, project: string, manager: string): number | undefined {
  return isWorkflowLane(manager) ? undefined : anyLane(reader, project, manager);
}

function anyLane(reader: Reader, project: string, name: string): number | undefined {
  return reader.get<{ lane: number }>(
    `SELECT m.lane FROM manager m JOIN project p ON p.id = m.project_id
     WHERE p.path = ? AND m.name = ?`,
    project,
    name,
  )?.lane;
}

export type LaneRow = LaneNames & { lane: number; accepted_at: number | null };

export function laneRow(reader: Reader, lane: number): LaneRow | undefined {
  return reader.get<LaneRow>(
    `SELECT m.lane, m.name AS manager, p.path AS project, m.accepted_at
     FROM manager m JOIN project p ON p.id = m.project_id WHERE m.lane = ?`,
    lane,
  );
}

/** Lanes of resource managers by project and name, accepted or not. */
export function managerLanes(
  reader: Reader,
  filter: { project?: string | undefined; manager?: string | undefined } = {},
): LaneRow[] {
  return laneRows(reader, filter).filter(({ manager }) => !isWorkflowLane(manager));
}

/** Every lane, those of runs too, by project and name. */
export function laneRows(
  reader: Reader,
  filter: { project?: string | undefined; manager?: string | undefined } = {},
): LaneRow[] {
  return reader.all<LaneRow>(
    `SELECT m.lane, m.name AS manager, p.path AS project, m.accepted_at
     FROM project p JOIN manager m ON m.project_id = p.id
     WHERE p.path = ifnull(?, p.path) AND m.name = ifnull(?, m.name)
     ORDER BY p.path, m.name`,
    filter.project ?? null,
    filter.manager ?? null,
  );
}

// As isWorkflowLane says.
const IS_MANAGER = `substr(m.name, 1, ${workflowLane("").length}) <> '${workflowLane("")}'`;

export function managerRecords(reader: Reader, project?: string): ManagerRecord[] {
  return reader
    .all<{ lane: number; project: string; definition: string; accepted_at: number }>(
      `SELECT m.lane, p.path AS project, m.definition, m.accepted_at
       FROM project p JOIN manager m ON m.project_id = p.id
       WHERE m.accepted_at IS NOT NULL AND p.path = ifnull(?, p.path)
         AND ${IS_MANAGER}
       ORDER BY p.path, m.name`,
      project ?? null,
    )
    .map((row) => ({
      ...(JSON.parse(row.definition) as ResolvedManager),
      lane: row.lane,
      project: row.project,
      acceptedAt: row.accepted_at,
    }));
}
