import { PiWorkflowsError } from "../../model/errors.ts";
import { describeRef, type Origin } from "../../model/resource.ts";
import type { DeleteReceipt, DeleteRequest } from "../store.ts";
import { openEffects } from "./effect-row.ts";
import { enqueue } from "./enqueue.ts";
import { appendEvent } from "./events.ts";
import { endRemoval } from "./finalizers.ts";
import { parseList, type ResourceRow } from "./resource-row.ts";
import {
  describeOrigin,
  insertGeneration,
  normal,
  resourceByRef,
  resourceByUid,
  warning,
  type TargetRow,
} from "./resources.ts";
import { cancelOpenRuns } from "./runs/cancel.ts";
import type { Transaction } from "./transaction.ts";

/** @throws NOT_FOUND, STALE */
export function deleteResource(tx: Transaction, request: DeleteRequest): DeleteReceipt {
  const { ref, origin } = request;
  const row = resourceByRef(tx, ref);
  if (row === undefined) {
    throw new PiWorkflowsError("NOT_FOUND", `there is no resource ${describeRef(ref)}`);
  }
  if (request.expected !== undefined && request.expected !== row.resource_version) {
    throw new PiWorkflowsError(
      "STALE",
      `${describeRef(ref)} is at version ${row.resource_version}, not ${request.expected}`,
    );
  }
  if (request.force === true) forceRemoval(tx, row, origin);
  const removed = request.force === true || requestDeletion(tx, row, origin).removed;
  return {
    uid: row.uid,
    removed,
    finalizers: parseList(row.finalizers),
    unsettledEffects: removed ? openEffects(tx, row) : [],
  };
}

/**
 * Marks a resource as being deleted, once, which is a new generation; one without finalizers is
 * removed at once (D-1). Lifts a suspension, which would hold the deletion up unseen. Returns its
 * new version.
 */
export function requestDeletion(
  tx: Transaction,
  row: TargetRow,
  origin: Origin,
): { removed: boolean; version: number; generation: number } {
  if (row.deletion_at !== null) {
    return { removed: false, version: row.resource_version, generation: row.generation };
  }
  const generation = row.generation + 1;
  insertGeneration(tx, row.id, {
    generation,
    bodyId: row.body_id,
    specHash: row.spec_hash,
    origin,
  });
  const removed = row.finalizers === "[]";
  const version = tx.nextVersion();
  tx.run(
    `UPDATE resource SET resource_version = ?, generation = ?, deletion_at = ?, updated_at = ?,
       suspended = 0, state = ?, removed_at = ? WHERE id = ?`,
    version,
    generation,
    tx.now,
    tx.now,
    removed ? "removed" : "live",
    removed ? tx.now : null,
    row.id,
  );
  appendEvent(tx, row.id, normal("DeletionRequested", describeOrigin(origin)));
  if (removed) endRemoval(tx, row);
  else enqueue(tx, row, { cause: "delete" });
  return cancelChildren(tx, row) ?? { removed, version, generation };
}

/** The resource after the cancel of its child runs, whose end may have been all that it waited for. */
function cancelChildren(
  tx: Transaction,
  row: Pick<TargetRow, "uid">,
): ReturnType<typeof requestDeletion> | undefined {
  if (cancelOpenRuns(tx, row.uid, "the deletion of its resource") === 0) return undefined;
  const now = resourceByUid(tx, row.uid);
  return (
    now && {
      removed: now.state === "removed",
      version: now.resource_version,
      generation: now.generation,
    }
  );
}

function forceRemoval(tx: Transaction, row: ResourceRow, origin: Origin): void {
  const dropped = parseList(row.finalizers);
  const effects = openEffects(tx, row).map(({ key }) => key);
  appendEvent(
    tx,
    row.id,
    warning(
      "ForceDeleted",
      `${describeOrigin(origin)}; finalizers dropped: ${dropped.join(", ") || "none"}; ` +
        `effects left behind: ${effects.join(", ") || "none"}`,
    ),
  );
  if (row.deletion_at === null) {
    insertGeneration(tx, row.id, {
      generation: row.generation + 1,
      bodyId: row.body_id,
      specHash: row.spec_hash,
      origin,
    });
  }
  tx.run(
    `UPDATE resource SET resource_version = ?, generation = ?, deletion_at = ifnull(deletion_at, ?),
       finalizers = '[]', updated_at = ?, state = 'removed', removed_at = ? WHERE id = ?`,
    tx.nextVersion(),
    row.deletion_at === null ? row.generation + 1 : row.generation,
    tx.now,
    tx.now,
    tx.now,
    row.id,
  );
  endRemoval(tx, row);
  cancelChildren(tx, row);
}
