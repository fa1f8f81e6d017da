import type { Kept } from "../retention.ts";
import type { Transaction } from "../transaction.ts";

/**
 * Deletes runs that ended long ago, but for the newest so many of each workflow, those that a
 * live resource shows, and those with an open effect (D-7). A long journal goes in steps, its oldest
 * lines first; all else goes whole with the run (E-11). Returns how many rows went, about `limit`.
 */
export function retainRuns(tx: Transaction, limit: number, kept: Kept): number {
  let deleted = 0;
  for (const lane of tx.all<{ lane: number }>("SELECT lane FROM manager")) {
    for (const id of expiredRuns(tx, lane.lane, { ...kept, limit })) {
      if (deleted >= limit) return deleted;
      deleted += deleteRun(tx, id, limit - deleted);
    }
  }
  return deleted;
}

/** Ended runs that may go: not those that a live resource shows, nor those with an open effect. */
export const EXPIRED_RUNS = `FROM run u WHERE u.ended_at <= ?
  AND NOT EXISTS (SELECT 1 FROM resource p WHERE p.uid = u.parent_uid AND p.state = 'live'
    AND p.current_run = u.resource_id)
  AND NOT EXISTS (SELECT 1 FROM effect e WHERE e.resource_id = u.resource_id
    AND e.state IN ('pending', 'indeterminate'))`;

function expiredRuns(
  tx: Transaction,
  lane: number,
  { ms, runs, limit }: Kept & { limit: number },
): number[] {
  return tx
    .all<{ id: number }>(
      `SELECT u.resource_id AS id ${EXPIRED_RUNS} AND u.lane = ?
         AND u.resource_id <= (SELECT resource_id FROM run WHERE lane = ?
           ORDER BY resource_id DESC LIMIT 1 OFFSET ?)
       ORDER BY u.resource_id LIMIT ?`,
      tx.now - ms,
      lane,
      lane,
      runs,
      limit,
    )
    .map(({ id }) => id);
}

// Besides the journal, in the order in which rows name each other.
const TABLES = [
  "question",
  "answer",
  "resolution",
  "run_log",
  "run",
  "effect",
  "event",
  "pass",
] as const;

function deleteRun(tx: Transaction, id: number, limit: number): number {
  const lines = tx.run(
    `DELETE FROM journal WHERE resource_id = ? AND sequence <= (SELECT min(sequence) + ?
       FROM journal WHERE resource_id = ?)`,
    id,
    limit,
    id,
  );
  const hasMore = tx.get("SELECT 1 AS found FROM journal WHERE resource_id = ? LIMIT 1", id);
  if (hasMore !== undefined) return lines;
  const rows = TABLES.map((table) => tx.run(`DELETE FROM ${table} WHERE resource_id = ?`, id));
  const body = tx.run(
    "DELETE FROM spec_body WHERE id = (SELECT body_id FROM resource WHERE id = ?)",
    id,
  );
  const resource = tx.run("DELETE FROM resource WHERE id = ?", id);
  return rows.reduce((sum, count) => sum + count, lines + body + resource);
}
