import { hasEnded } from "../../../model/run.ts";

import { wakeUid } from "../enqueue.ts";
import { appendEvent } from "../events.ts";
import { CHILD_RUNS, dropFinalizer } from "../finalizers.ts";
import { normal, resourceByUid, warning } from "../resources.ts";
import type { Transaction } from "../transaction.ts";
import { workflowOf, type RunRow } from "./run-row.ts";

/**
 * What a run's new state means to the resource that asked for it: a new version where its status
 * shows that run, a wake where there is something to react to, and at the end of its last open run
 * the end of the finalizer, which may be the end of the resource (D-2).
 */
export function tellParent(
  tx: Transaction,
  run: RunRow,
  { reason, message }: { reason: string | null; message: string | null },
): void {
  if (run.parent_uid === null) return;
  const parent = resourceByUid(tx, run.parent_uid);
  if (parent?.state !== "live") return;
  if (parent.current_run === run.id) {
    tx.run(
      "UPDATE resource SET resource_version = ?, updated_at = ? WHERE id = ?",
      tx.nextVersion(),
      tx.now,
      parent.id,
    );
  }
  if (run.state === "pending" || run.state === "running") return;
  const why = [reason, message].filter((part) => part !== null).join(": ");
  const event = run.state === "failed" || run.state === "interrupted" ? warning : normal;
  const text = `${run.request_key}: ${workflowOf(run.manager)} ${run.uid} ${run.state}`;
  appendEvent(tx, parent.id, event("ChildRun", why === "" ? text : `${text}: ${why}`));
  wakeUid(tx, parent.uid, { cause: "child" });
  if (hasEnded(run) && !hasOpenRuns(tx, parent.uid)) dropFinalizer(tx, parent, CHILD_RUNS);
}

function hasOpenRuns(tx: Transaction, parentUid: string): boolean {
  const sql = "SELECT 1 AS found FROM run WHERE parent_uid = ? AND ended_at IS NULL LIMIT 1";
  return tx.get(sql, parentUid) !== undefined;
}
