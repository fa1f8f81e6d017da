import { enqueue } from "../enqueue.ts";
import { appendEvent } from "../events.ts";
import { normal } from "../resources.ts";
import type { Transaction } from "../transaction.ts";
import { SELECT_RUNS, type RunRow } from "./run-row.ts";
import { moveRun } from "./state.ts";

/**
 * Ends a run that has not begun. Any other is asked to undo what it did and end, with the code that
 * it ran and in spite of a pause, which would hold that up unseen. Nothing for one that has ended.
 */
export function cancel(tx: Transaction, run: RunRow, by: string): void {
  if (run.ended_at !== null || run.cancel_by !== null) return;
  tx.run("UPDATE run SET cancel_by = ?, keeps_code = 1 WHERE resource_id = ?", by, run.id);
  appendEvent(tx, run.id, normal("CancelRequested", `by ${by}`));
  if (run.entries === 0 && run.claimed_at === null) {
    const message = `cancelled by ${by} before it began`;
    moveRun(tx, run, { state: "failed", reason: "Cancelled", message });
    return;
  }
  tx.run("UPDATE resource SET suspended = 0, held_generation = NULL WHERE id = ?", run.id);
  enqueue(tx, run, { cause: "request" });
}

/** Cancels every run of a resource that has not ended. Returns how many. */
export function cancelOpenRuns(tx: Transaction, parentUid: string, by: string): number {
  const sql = `${SELECT_RUNS} WHERE u.parent_uid = ? AND u.ended_at IS NULL ORDER BY u.resource_id`;
  const open = tx.all<RunRow>(sql, parentUid);
  for (const run of open) cancel(tx, run, by);
  return open.length;
}
