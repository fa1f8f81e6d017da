import type { Kept } from "../retention.ts";
import type { Transaction } from "../transaction.ts";

/**
 * Deletes runs that ended long ago, but for the newest so many of each workflow, those that a
 * live resource shows, and those with an open effect (D-7). A live resource that asks again for what
 * it asked long ago finds how that ended: of such a run only the history goes. A long journal
 * goes in steps, its oldest lines first; all else goes whole with the run (E-11). Returns how many rows
 * went, about `limit`.
 */
export function retainRuns(tx: Transaction, limit: number, kept: Kept): number {
  let deleted = 0;
  for (const { lane } of tx.all<{ lane: number }>("SELECT lane FROM manager")) {
    for (const [query, tables] of [
      [EXPIRED_RUNS, WHOLE],
      [EXPIRED_HISTORIES, HISTORY],
    ] as const) {
      for (const id of oldRuns(tx, query, { lane, ...kept, limit })) {
        if (deleted >= limit) return deleted;
        deleted += deleteRun(tx, id, { limit: limit - deleted, tables });
      }
    }
  }
  return deleted;
}

const OLD_RUNS = `FROM run u WHERE u.ended_at <= ?
  AND NOT EXISTS (SELECT 1 FROM resource p WHERE p.uid = u.parent_uid AND p.state = 'live'
    AND p.current_run = u.resource_id)
  AND NOT EXISTS (SELECT 1 FROM effect e WHERE e.resource_id = u.resource_id
    AND e.state IN ('pending', 'indeterminate'))`;

// The newest attempt under a request key of a live resource.
const IS_FOUND_AGAIN = `EXISTS (SELECT 1 FROM resource p WHERE p.uid = u.parent_uid
    AND p.state = 'live')
  AND NOT EXISTS (SELECT 1 FROM run n WHERE n.parent_uid = u.parent_uid
    AND n.request_key = u.request_key AND n.attempt > u.attempt)`;

/** Ended runs that may go. */
export const EXPIRED_RUNS = `${OLD_RUNS} AND NOT (${IS_FOUND_AGAIN})`;

const EXPIRED_HISTORIES = `${OLD_RUNS} AND ${IS_FOUND_AGAIN}
  AND EXISTS (SELECT 1 FROM journal j WHERE j.resource_id = u.resource_id)`;

function oldRuns(
  tx: Transaction,
  query: string,
  { lane, ms, runs, limit }: Kept & { lane: number; limit: number },
): number[] {
  return tx
    .all<{ id: number }>(
      `SELECT u.resource_id AS id ${query} AND u.lane = ?
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
const HISTORY = ["question", "answer", "resolution", "run_log", "event", "pass"] as const;
const WHOLE = [...HISTORY, "run", "effect"] as const;

type Tables = typeof HISTORY | typeof WHOLE;

function deleteRun(
  tx: Transaction,
  id: number,
  { limit, tables }: { limit: number; tables: Tables },
): number {
  const lines = tx.run(
    `DELETE FROM journal WHERE resource_id = ? AND sequence <= (SELECT min(sequence) + ?
       FROM journal WHERE resource_id = ?)`,
    id,
    limit,
    id,
  );
  const hasMore = tx.get("SELECT 1 AS found FROM journal WHERE resource_id = ? LIMIT 1", id);
  if (hasMore !== undefined) return lines;
  const rows = tables.map((table) => tx.run(`DELETE FROM ${table} WHERE resource_id = ?`, id));
  const deleted = rows.reduce((sum, count) => sum + count, lines);
  return tables === WHOLE ? deleted + deleteResource(tx, id) : deleted;
}

function deleteResource(tx: Transaction, id: number): number {
  const body = tx.run(
    "DELETE FROM spec_body WHERE id = (SELECT body_id FROM resource WHERE id = ?)",
    id,
  );
  return body + tx.run("DELETE FROM resource WHERE id = ?", id);
}
