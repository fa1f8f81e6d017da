import { PiWorkflowsError } from "../../model/errors.ts";
import { describeRef, type ManagedResource, type Origin } from "../../model/resource.ts";
import { LIMITS } from "../../model/limits.ts";
import type { Claim, DeleteReceipt, DeleteRequest } from "../store.ts";
import { claimedResource, type ClaimedRow } from "./claimed.ts";
import { openEffects } from "./effect-row.ts";
import { enqueue } from "./enqueue.ts";
import { appendEvent } from "./events.ts";
import { laneRow } from "./managers.ts";
import { metadataOf, parseList, type ResourceRow } from "./resource-row.ts";
import {
  describeOrigin,
  insertGeneration,
  normal,
  resourceByRef,
  warning,
  type TargetRow,
} from "./resources.ts";
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
  return { removed, version, generation };
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
}

/** The resource is a tombstone from here on: nothing is queued for it. */
function endRemoval(tx: Transaction, row: Pick<ResourceRow, "id" | "uid">): void {
  tx.run("DELETE FROM queue WHERE resource_id = ?", row.id);
  const open = openEffects(tx, row).map(({ key }) => key);
  const left = open.length === 0 ? "" : `; effects that may be left behind: ${open.join(", ")}`;
  const event = open.length === 0 ? normal : warning;
  appendEvent(tx, row.id, event("Removed", `no finalizer is left${left}`));
}

/**
 * Adds or removes a finalizer on behalf of a pass. Removing the last one of a resource that is
 * being deleted removes the resource in the same transaction (D-2), and returns nothing.
 * @throws LEASE_LOST, DELETING (D-3), TOO_LARGE, BAD_REQUEST
 */
export function setFinalizer(
  tx: Transaction,
  claim: Claim,
  change: { name: string; present: boolean },
): ManagedResource["metadata"] | undefined {
  const row = claimedResource(tx, claim);
  const manager = laneRow(tx, row.lane)?.manager ?? "";
  const before = parseList(row.finalizers);
  if (before.includes(change.name) === change.present) return metadataOf(row, manager);
  const after = change.present
    ? [...before, checkFinalizer(row, before, change.name)]
    : before.filter((name) => name !== change.name);
  const removed = row.deletion_at !== null && after.length === 0;
  const version = tx.nextVersion();
  tx.run(
    `UPDATE resource SET resource_version = ?, finalizers = ?, updated_at = ?, state = ?,
       removed_at = ?, removed_by = ? WHERE id = ?`,
    version,
    JSON.stringify(after),
    tx.now,
    removed ? "removed" : "live",
    removed ? tx.now : null,
    removed ? claim.token : null,
    row.id,
  );
  if (removed) {
    endRemoval(tx, row);
    return undefined;
  }
  return { ...metadataOf(row, manager), resourceVersion: version, finalizers: after };
}

function checkFinalizer(row: ClaimedRow, present: string[], name: string): string {
  if (row.deletion_at !== null) {
    throw new PiWorkflowsError(
      "DELETING",
      `finalizer ${name} can't be added to ${row.key}: it is being deleted`,
    );
  }
  if (name === "" || name.length > LIMITS.key) {
    throw new PiWorkflowsError(
      "BAD_REQUEST",
      `a finalizer's name must have 1 to ${LIMITS.key} characters`,
    );
  }
  if (present.length >= LIMITS.finalizers) {
    throw new PiWorkflowsError(
      "TOO_LARGE",
      `${row.key} has ${present.length} finalizers already; ${LIMITS.finalizers} are allowed`,
    );
  }
  return name;
}
