import { PiWorkflowsError } from "../../model/errors.ts";
import type { ManagedResource } from "../../model/resource.ts";
import { LIMITS } from "../../model/limits.ts";
import type { Claim } from "../store.ts";
import { claimedResource } from "./claimed.ts";
import { leaveEffects } from "./effects.ts";
import { appendEvent } from "./events.ts";
import { laneRow } from "./managers.ts";
import { metadataOf, parseList, type ResourceRow } from "./resource-row.ts";
import { normal, warning } from "./resources.ts";
import type { Transaction } from "./transaction.ts";

/** Makes a parent's deletion wait for its child runs. It is the runtime's own. */
export const CHILD_RUNS = "pi-workflows/child-runs";

/** The resource is a tombstone from here on: nothing is queued for it. */
export function endRemoval(tx: Transaction, row: Pick<ResourceRow, "id" | "uid">): void {
  tx.run("DELETE FROM queue WHERE resource_id = ?", row.id);
  // No pass settles what a call in flight comes to, but for a late answer (E-10).
  const open = leaveEffects(tx, row).map(({ key }) => key);
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
  if (change.name === CHILD_RUNS) throw reserved(change.name);
  const before = parseList(row.finalizers);
  if (before.includes(change.name) === change.present) return metadataOf(row, manager);
  const after = change.present
    ? [...before, checkFinalizer(row, before, change.name)]
    : before.filter((name) => name !== change.name);
  const version = writeFinalizers(tx, row, after, claim.token);
  if (version === undefined) return undefined;
  return { ...metadataOf(row, manager), resourceVersion: version, finalizers: after };
}

type Finalized = Pick<ResourceRow, "id" | "uid" | "key" | "deletion_at" | "finalizers">;

/** Adds a finalizer of the runtime's own. @throws DELETING (D-3), TOO_LARGE */
export function addFinalizer(tx: Transaction, row: Finalized, name: string): void {
  const before = parseList(row.finalizers);
  if (before.includes(name)) return;
  writeFinalizers(tx, row, [...before, checkFinalizer(row, before, name)], null);
}

/** Removes a finalizer of the runtime's own, and with the last one the resource that waits for it. */
export function dropFinalizer(tx: Transaction, row: Finalized, name: string): void {
  const before = parseList(row.finalizers);
  if (!before.includes(name)) return;
  const claimed = tx.get<{ claim_token: string | null }>(
    "SELECT claim_token FROM queue WHERE resource_id = ?",
    row.id,
  );
  const after = before.filter((other) => other !== name);
  writeFinalizers(tx, row, after, claimed?.claim_token ?? null);
}

/** Returns the new version; undefined where that removed the resource, whose pass may still settle. */
function writeFinalizers(
  tx: Transaction,
  row: Finalized,
  after: string[],
  token: string | null,
): number | undefined {
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
    removed ? token : null,
    row.id,
  );
  if (!removed) return version;
  endRemoval(tx, row);
  return undefined;
}

function reserved(name: string): PiWorkflowsError {
  return new PiWorkflowsError("BAD_REQUEST", `finalizer ${name} is the runtime's own`, {
    hint: "It goes when the resource's last child run has ended.",
  });
}

function checkFinalizer(row: Finalized, present: string[], name: string): string {
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
