import { PiWorkflowsError } from "../../model/errors.ts";
import { describeRef, type ResourceRef, type StoredResource } from "../../model/resource.ts";
import { unqueue } from "./apply.ts";
import { enqueue } from "./enqueue.ts";
import { appendEvent } from "./events.ts";
import { getResource } from "./reader.ts";
import { normal, resourceByRef } from "./resources.ts";
import type { Transaction } from "./transaction.ts";

/** @throws NOT_FOUND, and DELETING where it is to be suspended but is being deleted */
export function suspend(tx: Transaction, ref: ResourceRef, suspended: boolean): StoredResource {
  const row = resourceByRef(tx, ref);
  if (row === undefined) {
    throw new PiWorkflowsError("NOT_FOUND", `there is no resource ${describeRef(ref)}`);
  }
  if (suspended && row.deletion_at !== null) {
    throw new PiWorkflowsError("DELETING", `${describeRef(ref)} is being deleted`, {
      hint: "A deletion can't be suspended; see what it waits for with `pi-workflows why`.",
    });
  }
  if ((row.suspended === 1) !== suspended) {
    tx.run(
      "UPDATE resource SET suspended = ?, resource_version = ?, updated_at = ? WHERE id = ?",
      suspended ? 1 : 0,
      tx.nextVersion(),
      tx.now,
      row.id,
    );
    appendEvent(tx, row.id, normal(suspended ? "Suspended" : "Resumed", "by request"));
    if (suspended) unqueue(tx, row.id);
    else enqueue(tx, row, { cause: "request" });
  }
  return getResource(tx, ref) as StoredResource;
}
