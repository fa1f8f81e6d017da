import type { Snapshot, SnapshotEntry } from "../../model/batch.ts";
import type { Owner } from "../../model/resource.ts";
import type { Connection } from "./connection.ts";
import { managerLanes } from "./managers.ts";
import { parseLabels, parseList } from "./resource-row.ts";

/** The columns of SELECT_ENTRIES. */
type Row = [
  uid: string,
  key: string,
  version: number,
  generation: number,
  specHash: string,
  labels: string,
  dependsOn: string,
  ownerKind: Owner["kind"],
  ownerName: string,
  file: string | null,
  prunable: 0 | 1,
  suspended: 0 | 1,
  deletionAt: number | null,
];

const SELECT_ENTRIES = `SELECT uid, key, resource_version, generation, spec_hash, labels, depends_on,
    owner_kind, owner_name, file, prunable, suspended, deletion_at
  FROM resource WHERE lane = ? AND state = 'live' ORDER BY key`;

/** Every live resource of a project without its bodies, and the revision they are at. */
export function readSnapshot(connection: Connection, project: string): Snapshot {
  // One read transaction, so that the revision fits the rows where another process writes.
  return connection.database.transaction(() => {
    const state = connection.get<{ revision: number }>("SELECT revision FROM store_state");
    const resources = managerLanes(connection, { project }).flatMap(({ lane, manager }) =>
      connection.rows<Row>(SELECT_ENTRIES, lane).map((row) => toEntry(manager, row)),
    );
    return { revision: state?.revision ?? 0, resources };
  })();
}

// By index: destructuring ten thousand arrays costs as much as reading them.
function toEntry(manager: string, row: Row): SnapshotEntry {
  const entry: SnapshotEntry = {
    uid: row[0],
    manager,
    key: row[1],
    resourceVersion: row[2],
    generation: row[3],
    specHash: row[4],
    labels: parseLabels(row[5]),
    dependsOn: parseList(row[6]),
    owner: { kind: row[7], name: row[8] },
    prunable: row[10] === 1,
    suspended: row[11] === 1,
    deleting: row[12] !== null,
  };
  if (row[9] !== null) entry.file = row[9];
  return entry;
}
