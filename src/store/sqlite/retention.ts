import { LIMITS } from "../../model/limits.ts";
import type { Connection } from "./connection.ts";
import type { GroupCommit } from "./group.ts";
import { EXPIRED_RUNS, retainRuns } from "./runs/retention.ts";
import { retainDeliveries } from "./source-marks.ts";
import type { Transaction } from "./transaction.ts";

/** How long history is kept: milliseconds, and runs of each workflow whatever their age. */
export type Kept = { ms: number; runs: number };

const KEPT: Kept = { ms: LIMITS.removedKeptMs, runs: LIMITS.runsKept };

// One with an open effect stays until that is settled (D-7).
const EXPIRED_RESOURCES = `FROM resource r WHERE r.state = 'removed' AND r.removed_at <= ?
  AND NOT EXISTS (SELECT 1 FROM run u WHERE u.resource_id = r.id)
  AND NOT EXISTS (SELECT 1 FROM effect e WHERE e.resource_id = r.id
                  AND e.state IN ('pending', 'indeterminate'))`;

/**
 * Deletes tombstones past their time with all that belongs to them, each whole (E-11), until
 * `limit` rows are gone, and runs past theirs.
 */
export function retain(tx: Transaction, limit: number, kept: Kept = KEPT): number {
  const tombstones = tx.all<{ id: number }>(
    `SELECT r.id ${EXPIRED_RESOURCES} ORDER BY r.removed_at LIMIT ?`,
    tx.now - kept.ms,
    limit,
  );
  let deleted = retainDeliveries(tx, limit);
  for (const { id } of tombstones) {
    if (deleted >= limit) break;
    deleted += deleteTombstone(tx, id);
  }
  return deleted < limit ? deleted + retainRuns(tx, limit - deleted, kept) : deleted;
}

/** What of the history of removed resources and ended runs goes, or would. */
export type HistoryPrune = { resources: number; runs: number };

// So many rows at once keep nothing else waiting for long.
const PRUNED_AT_ONCE = 500;

/**
 * Deletes the history of what was removed, or of runs that ended, so long ago, in steps between which
 * other work goes on; runs that a live resource shows stay.
 */
export async function pruneHistory(
  group: GroupCommit,
  { olderThanMs: ms, dryRun = false }: { olderThanMs: number; dryRun?: boolean },
): Promise<HistoryPrune> {
  const kept = { ms, runs: 0 };
  const pruned = await group.write("pruneHistory", (tx) => expired(tx, tx.now - ms));
  if (dryRun) return pruned;
  while ((await group.write("retain", (tx) => retain(tx, PRUNED_AT_ONCE, kept))) > 0);
  return pruned;
}

function expired(reader: Pick<Connection, "get">, until: number): HistoryPrune {
  const count = (query: string): number =>
    reader.get<{ count: number }>(`SELECT count(*) AS count ${query}`, until)?.count ?? 0;
  return { resources: count(EXPIRED_RESOURCES), runs: count(EXPIRED_RUNS) };
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
