import { LIMITS } from "../../model/limits.ts";
import type { EffectRow } from "./effect-row.ts";
import type { Transaction } from "./transaction.ts";

type Restored = { at: number; sequence: number };

/**
 * What a restored store does not know (E-12): its backup is older than the world. Everything that a
 * resource did between the backup and the restore is missing from the ledger, and so are resources
 * made in that time, which come again as new ones. Undefined where a resource is not in doubt.
 */
export function doubtOf(tx: Transaction, resourceId: number): Restored | undefined {
  return tx.get<Restored>(
    `SELECT s.restored_at AS at, s.restored_sequence AS sequence
     FROM store_state s, resource r
     WHERE r.id = ? AND s.restored_at IS NOT NULL
       AND (r.id <= s.restored_through OR r.created_at <= s.restored_at + ?)`,
    resourceId,
    LIMITS.restoredDoubtMs,
  );
}

/** Whether an effect that ended shortly before the restore was not looked at since. */
export function isRecentlyEnded(tx: Transaction, row: EffectRow): boolean {
  const doubt = doubtOf(tx, row.resource_id);
  return (
    doubt !== undefined &&
    row.sequence <= doubt.sequence &&
    (row.completed_at ?? row.started_at) >= doubt.at - LIMITS.restoredDoubtMs
  );
}

/** Whether a request for a run, made now, may have been made of the lost store as well. */
export function isAgain(tx: Transaction): boolean {
  const sql = "SELECT restored_at AS at FROM store_state";
  const at = tx.get<{ at: number | null }>(sql)?.at ?? undefined;
  return at !== undefined && tx.now <= at + LIMITS.restoredDoubtMs;
}

/** The first pass of a run whose journal can be behind what it did; undefined where it is whole. */
export function doubtedFrom(tx: Transaction, runId: number): number | undefined {
  const sql = "SELECT doubted_from FROM run WHERE resource_id = ?";
  return tx.get<{ doubted_from: number | null }>(sql, runId)?.doubted_from ?? undefined;
}

/**
 * Marks a store that was made from a backup: a new identity, numbers that the lost store can't have
 * given (so that no plan or cursor made against it fits by chance), and the bounds of what is in doubt.
 */
export function markRestored(tx: Transaction, storeId: string): void {
  tx.run(
    `UPDATE store_state SET store_id = ?, restored_at = ?, restored_through =
       (SELECT ifnull(max(id), 0) FROM resource)`,
    storeId,
    tx.now,
  );
  tx.run("UPDATE run SET doubted_from = epochs + 1 WHERE ended_at IS NULL");
  tx.skip(SEQUENCE_GAP);
  tx.run("UPDATE store_state SET restored_sequence = ?", tx.next());
}

// More than a store counts between two backups; 2^53 holds nine million restores.
const SEQUENCE_GAP = 1_000_000_000;
