import { LIMITS } from "../../model/limits.ts";
import { retainRuns } from "./runs/retention.ts";
import { retainDeliveries } from "./source-marks.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Deletes tombstones past their time with all that belongs to them, each whole (E-11), until
 * `limit` rows are gone, and runs past theirs. One with an open effect stays until that is settled (D-7).
 */
export function retain(tx: Transaction, limit: number): number {
  const tombstones = tx.all<{ id: number }>(
    `SELECT r.id FROM resource r WHERE r.state = 'removed' AND r.removed_at <= ?
       AND NOT EXISTS (SELECT 1 FROM run u WHERE u.resource_id = r.id)
       AND NOT EXISTS (SELECT 1 FROM effect e WHERE e.resource_id = r.id
                       AND e.state IN ('pending', 'indeterminate'))
     ORDER BY r.removed_at LIMIT ?`,
    tx.now - LIMITS.removedKeptMs,
    limit,
  );
  let deleted = retainDeliveries(tx, limit);
  for (const { id } of tombstones) {
    if (deleted >= limit) break;
    deleted += deleteTombstone(tx, id);
  }
  return deleted < limit ? deleted + retainRuns(tx, limit - deleted) : deleted;
}

function deleteTombstone(tx: Transaction, id: number): number {
  const bodies = tx.run(
    `DELETE FROM spec_body WHERE id IN (SELECT body_id FROM generation WHERE resource_id = ?)`,
    id,
  );
  const children = ["generation", "effect", "event", "pass"].map((table) =>
    tx.run(`DELETE FROM ${table} WHERE resource_id = ?`, id),
  );
  return (
    children.reduce((sum, rows) => sum + rows, bodies) +
    tx.run("DELETE FROM resource WHERE id = ?", id)
  );
}
