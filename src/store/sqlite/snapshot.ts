import type { Snapshot, SnapshotEntry } from "../../model/batch.ts";
import type { Owner } from "../../model/resource.ts";
import type { Connection } from "./connection.ts";
import { parseLabels, parseList } from "./resource-row.ts";

type Row = {
  uid: string;
  manager: string;
  key: string;
  resource_version: number;
  generation: number;
  spec_hash: string;
  labels: string;
  depends_on: string;
  owner_kind: Owner["kind"];
  owner_name: string;
  file: string | null;
  prunable: 0 | 1;
  suspended: 0 | 1;
  deletion_at: number | null;
};

/** Every live resource of a project without its bodies, and the revision they are at. */
export function readSnapshot(connection: Connection, project: string): Snapshot {
  // One read transaction, so that the revision fits the rows where another process writes.
  return connection.database.transaction(() => {
    const revision = connection.get<{ revision: number }>("SELECT revision FROM store_state");
    const rows = connection.all<Row>(
      `SELECT r.uid, m.name AS manager, r.key, r.resource_version, r.generation, r.spec_hash,
         r.labels, r.depends_on, r.owner_kind, r.owner_name, r.file, r.prunable, r.suspended,
         r.deletion_at
       FROM project p JOIN manager m ON m.project_id = p.id JOIN resource r ON r.lane = m.lane
       WHERE p.path = ? AND r.state = 'live' ORDER BY m.name, r.key`,
      project,
    );
    return { revision: revision?.revision ?? 0, resources: rows.map(toEntry) };
  })();
}

function toEntry(row: Row): SnapshotEntry {
  const entry: SnapshotEntry = {
    uid: row.uid,
    manager: row.manager,
    key: row.key,
    resourceVersion: row.resource_version,
    generation: row.generation,
    specHash: row.spec_hash,
    labels: parseLabels(row.labels),
    dependsOn: parseList(row.depends_on),
    owner: { kind: row.owner_kind, name: row.owner_name },
    prunable: row.prunable === 1,
    suspended: row.suspended === 1,
    deleting: row.deletion_at !== null,
  };
  if (row.file !== null) entry.file = row.file;
  return entry;
}
