import { mergeConditions, RUNTIME_CONDITIONS, type ConditionInput } from "../../model/condition.ts";
import { LIMITS, truncate } from "../../model/limits.ts";
import { redactText } from "../../model/redact.ts";
import { SYNC_OWNER } from "../../model/sync.ts";
import type { MarkedResource, SyncMark } from "../store.ts";
import { appendEvent } from "./events.ts";
import { conditionsOf } from "./resource-row.ts";
import { normal, warning } from "./resources.ts";
import type { Transaction } from "./transaction.ts";

const { synced } = RUNTIME_CONDITIONS;

type Row = {
  id: number;
  uid: string;
  manager: string;
  key: string;
  generation: number;
  conditions: string;
};

const SELECT = `SELECT r.id, r.uid, m.name AS manager, r.key, r.generation, r.conditions
  FROM project p JOIN manager m ON m.project_id = p.id JOIN resource r ON r.lane = m.lane
  WHERE p.path = ? AND r.state = 'live'`;

/**
 * Makes `marks` the resources of a project that are not synced: those get the condition
 * `Synced=False`, and every other resource of its sync that had it is synced again. Writes nothing
 * where nothing changes (G-2). Returns what changed.
 */
export function markResources(
  tx: Transaction,
  project: string,
  marks: readonly SyncMark[],
): MarkedResource[] {
  const wanted = new Map(marks.map((mark) => [mark.uid, mark]));
  const changed: Row[] = [];
  for (const mark of wanted.values()) {
    const row = tx.get<Row>(`${SELECT} AND r.uid = ?`, project, mark.uid);
    if (row && write(tx, row, { type: synced, status: false, ...texts(mark) })) {
      changed.push(row);
    }
  }
  for (const row of notSynced(tx, project)) {
    if (wanted.has(row.uid)) continue;
    if (write(tx, row, { type: synced, status: true, reason: "Synced" })) changed.push(row);
  }
  return changed.map(({ uid, manager, key }) => ({ uid, project, resourceManager: manager, key }));
}

function texts({ reason, message }: SyncMark): { reason: string; message: string } {
  return { reason, message: truncate(redactText(message)) };
}

function notSynced(tx: Transaction, project: string): Row[] {
  return tx
    .all<Row>(`${SELECT} AND r.conditions LIKE '%"${synced}"%'`, project)
    .filter((row) =>
      conditionsOf(row).some(({ type, status }) => type === synced && status === false),
    );
}

function write(tx: Transaction, row: Row, input: ConditionInput): boolean {
  const before = conditionsOf(row);
  const after = mergeConditions(before, [input], row.generation, tx.now);
  if (after === before || after.length > LIMITS.conditions) return false;
  tx.run(
    "UPDATE resource SET conditions = ?, resource_version = ?, updated_at = ? WHERE id = ?",
    JSON.stringify(after),
    tx.nextVersion(),
    tx.now,
    row.id,
  );
  const isNews = before.find(({ type }) => type === synced)?.status !== input.status;
  if (isNews) {
    const { reason, message = `as ${SYNC_OWNER.kind} set ${SYNC_OWNER.name} says` } = input;
    appendEvent(tx, row.id, input.status ? normal("Synced", message) : warning(reason, message));
  }
  return true;
}
