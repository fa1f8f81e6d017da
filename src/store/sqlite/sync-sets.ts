import { LIMITS } from "../../model/limits.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import {
  EMPTY_REPORT,
  type PruneRecord,
  type StoredSyncSet,
  type SyncReport,
  type SyncSet,
} from "../../model/sync.ts";
import type { ResourceManagerStore } from "../store.ts";
import type { Connection } from "./connection.ts";
import type { GroupCommit } from "./group.ts";
import { schemaVersion } from "./migrate.ts";
import { markResources } from "./sync-marks.ts";
import type { Transaction } from "./transaction.ts";

/** The migration that made the tables; a reader may meet a database that does not have them yet. */
const SINCE_VERSION = 2;

type Row = { project: string; settings: string; report: string };

/** Every sync set, by project. */
export function readSyncSets(connection: Connection, project?: string): StoredSyncSet[] {
  if (schemaVersion(connection.database) < SINCE_VERSION) return [];
  return connection
    .all<Row>(
      `SELECT p.path AS project, s.settings, s.report
       FROM sync_set s JOIN project p ON p.id = s.project_id
       WHERE p.path = ifnull(?, p.path) ORDER BY p.path`,
      project ?? null,
    )
    .map((row) => ({
      set: { project: row.project, ...(JSON.parse(row.settings) as Omit<SyncSet, "project">) },
      report: JSON.parse(row.report) as SyncReport,
    }));
}

/** Prunes that syncs of a project made, newest first. */
export function readPrunes(connection: Connection, project: string): PruneRecord[] {
  if (schemaVersion(connection.database) < SINCE_VERSION) return [];
  return connection
    .all<{ record: string }>(
      `SELECT s.record FROM sync_prune s JOIN project p ON p.id = s.project_id
       WHERE p.path = ? ORDER BY s.id DESC LIMIT ${LIMITS.prunesKept}`,
      project,
    )
    .map(({ record }) => JSON.parse(record) as PruneRecord);
}

type SyncWrites = Pick<ResourceManagerStore, "putSyncSet" | "removeSyncSet" | "recordSync">;

/** The operations of a store that write what belongs to sync. */
export function syncWrites(group: GroupCommit): SyncWrites {
  return {
    putSyncSet: (set) =>
      group.write("putSyncSet", (tx) => {
        putSyncSet(tx, set);
      }),
    removeSyncSet: (project) => group.write("removeSyncSet", (tx) => removeSyncSet(tx, project)),
    recordSync: (project, { report, notSynced, prunes = [] }) =>
      group.write("recordSync", (tx) => {
        putReport(tx, project, report);
        for (const prune of prunes) addPrune(tx, project, prune);
        return notSynced ? markResources(tx, project, notSynced) : [];
      }),
  };
}

/** Adds a set, or changes its settings and keeps its report. */
function putSyncSet(tx: Transaction, set: SyncSet): void {
  const { project, ...settings } = set;
  tx.run("INSERT INTO project (path) VALUES (?) ON CONFLICT DO NOTHING", project);
  tx.run(
    `INSERT INTO sync_set (project_id, settings, report, updated_at)
     SELECT id, ?, ?, ? FROM project WHERE path = ?
     ON CONFLICT (project_id) DO UPDATE SET settings = excluded.settings, updated_at = excluded.updated_at`,
    JSON.stringify(settings),
    JSON.stringify(EMPTY_REPORT),
    tx.now,
    project,
  );
}

/** Returns false where there is none. */
function removeSyncSet(tx: Transaction, project: string): boolean {
  const sql = "DELETE FROM sync_set WHERE project_id = (SELECT id FROM project WHERE path = ?)";
  return tx.run(sql, project) > 0;
}

/** @throws NOT_FOUND where the set was removed meanwhile */
function putReport(tx: Transaction, project: string, report: SyncReport): void {
  const written = tx.run(
    `UPDATE sync_set SET report = ?, updated_at = ?
     WHERE project_id = (SELECT id FROM project WHERE path = ?)`,
    JSON.stringify(report),
    tx.now,
    project,
  );
  if (written > 0) return;
  throw new PiWorkflowsError("NOT_FOUND", `sync is not enabled for ${project}`, {
    hint: "Enable it with `pi-workflows sync enable`.",
  });
}

/** Appends to the prunes of a project, and forgets the oldest. */
function addPrune(tx: Transaction, project: string, prune: PruneRecord): void {
  const id = tx.insert(
    `INSERT INTO sync_prune (project_id, record, confirmed_by, at)
     SELECT id, ?, ?, ? FROM project WHERE path = ?`,
    JSON.stringify(prune),
    prune.confirmedBy ?? null,
    tx.now,
    project,
  );
  tx.run(
    `DELETE FROM sync_prune WHERE project_id = (SELECT project_id FROM sync_prune WHERE id = ?)
       AND id <= (SELECT id FROM sync_prune s
                  WHERE s.project_id = (SELECT project_id FROM sync_prune WHERE id = ?)
                  ORDER BY id DESC LIMIT 1 OFFSET ${LIMITS.prunesKept})`,
    id,
    id,
  );
}
