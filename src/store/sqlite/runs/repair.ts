import type { Transaction } from "../transaction.ts";

/**
 * For a query of resources `r`: runs that wait for a person and have not heard of one. A lost queue
 * row of theirs held no more than the time of their deadline.
 */
export const WAITING_RUN = `EXISTS (SELECT 1 FROM run u WHERE u.resource_id = r.id
  AND u.state IN ('waiting', 'interrupted')
  AND (u.cancel_by IS NULL OR u.cancel_taken = 1)
  AND NOT EXISTS (SELECT 1 FROM answer a WHERE a.resource_id = u.resource_id)
  AND NOT EXISTS (SELECT 1 FROM resolution o WHERE o.resource_id = u.resource_id))`;

/** Of the resources in a window of ids, runs that are to be looked at when their deadline comes. */
export function untimedRuns(
  tx: Transaction,
  window: { after: number; last: number },
): { id: number; lane: number; delayMs: number }[] {
  return tx
    .all<{ id: number; lane: number; deadline_at: number }>(
      `SELECT r.id, r.lane, u.deadline_at FROM resource r JOIN run u ON u.resource_id = r.id
       WHERE r.id > ? AND r.id <= ? AND r.state = 'live' AND r.suspended = 0
         AND u.reason = 'Checkpoint' AND ${WAITING_RUN}
         AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.resource_id = r.id)`,
      window.after,
      window.last,
    )
    .map(({ id, lane, deadline_at }) => ({
      id,
      lane,
      delayMs: Math.max(0, deadline_at - tx.now),
    }));
}
