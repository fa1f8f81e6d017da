import type { ApplyBatch, ApplyChange, BatchReceipt, SpecWrite } from "../../model/batch.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import type { Ids } from "../../model/ports.ts";
import { checkBatch } from "./batch-check.ts";
import { requestDeletion } from "./deletion.ts";
import { enqueue } from "./enqueue.ts";
import { appendEvent, firstEvent } from "./events.ts";
import type { GroupCommit } from "./group.ts";
import { laneFor } from "./managers.ts";
import { originColumns } from "./resource-row.ts";
import {
  describeOrigin,
  insertBody,
  insertGeneration,
  normal,
  targetResource,
  type TargetRow,
} from "./resources.ts";
import { adoptBodies, discardBodies, stageBodies, type StagedBodies } from "./staging.ts";
import type { Transaction } from "./transaction.ts";

type Receipt = BatchReceipt["items"][number];
type Write = Exclude<ApplyChange, { kind: "prune" }>;

/** A change with the resource it meets. */
type Met = { change: ApplyChange; lane: number; row: TargetRow | undefined };

/**
 * Applies a batch whole or not at all: check, stage the specs, then one transaction.
 * @throws STALE, DELETING, TOO_LARGE, BAD_REQUEST
 */
export async function applyBatch(
  group: GroupCommit,
  ids: Ids,
  batch: ApplyBatch,
): Promise<BatchReceipt> {
  checkBatch(batch);
  const staged = await stageBodies(group, batch, ids.next());
  try {
    return await group.write("applyBatch", (tx) => commitBatch(tx, ids, batch, staged));
  } catch (error) {
    // What can't be deleted now is deleted when the next server begins its epoch.
    await discardBodies(group, staged).catch(() => undefined);
    throw error;
  }
}

function commitBatch(
  tx: Transaction,
  ids: Ids,
  batch: ApplyBatch,
  staged: StagedBodies,
): BatchReceipt {
  const met = meet(tx, batch);
  refuseStale(met);
  adoptBodies(tx, staged);
  const items = met.map((one, index) => {
    const { change } = one;
    if (change.kind === "prune") return prune(tx, one);
    const body = { write: change.write, stagedId: staged.ids.get(index) };
    return one.row === undefined
      ? create(tx, one, { ...body, uid: ids.next() })
      : update(tx, change, one.row, body);
  });
  return { revision: tx.revision, items };
}

function meet(tx: Transaction, batch: ApplyBatch): Met[] {
  const lanes = new Map<string, number>();
  return batch.changes.map((change) => {
    const lane = lanes.get(change.manager) ?? laneFor(tx, batch.project, change.manager);
    lanes.set(change.manager, lane);
    return { change, lane, row: targetResource(tx, lane, change.key) };
  });
}

/** Nothing is written unless every resource is as the plan saw it (G-3). */
function refuseStale(met: Met[]): void {
  const refused = met.flatMap((one) => {
    const why = refusal(one);
    return why ? [{ ...why, resource: `${one.change.manager} ${one.change.key}` }] : [];
  });
  const [first] = refused;
  if (first === undefined) return;
  const more = refused.length > 1 ? `, and ${refused.length - 1} more` : "";
  throw new PiWorkflowsError(first.code, `${first.resource} ${first.why}${more}`, {
    details: { resources: refused.slice(0, 50) },
  });
}

function refusal({ change, row }: Met): { code: "STALE" | "DELETING"; why: string } | undefined {
  if (row !== undefined && row.deletion_at !== null && change.kind !== "prune") {
    return { code: "DELETING", why: "is being deleted" };
  }
  const found = row?.resource_version ?? 0;
  if (found === change.expected) return undefined;
  if (found === 0) return { code: "STALE", why: "is gone" };
  const seen = change.expected === 0 ? "exists already" : `is not at version ${change.expected}`;
  return { code: "STALE", why: `${seen}: it is at version ${found}` };
}

type Body = { write: SpecWrite; stagedId: number | undefined };

function create(tx: Transaction, { change, lane }: Met, body: Body & { uid: string }): Receipt {
  const { write, uid } = body;
  const bodyId = body.stagedId ?? insertBody(tx, write.spec);
  const version = tx.nextVersion();
  const origin = originColumns(write.origin);
  const id = tx.insert(
    `INSERT INTO resource (uid, lane, key, state, resource_version, generation, body_id, spec_hash,
       finalizers, labels, depends_on, owner_kind, owner_name, file, origin, prunable, suspended,
       observed_generation, conditions, status, created_at, updated_at)
     VALUES (?, ?, ?, 'live', ?, 1, ?, ?, '[]', ?, ?, ?, ?, ?, ?, ?, ?, 0, '[]', ?, ?, ?)`,
    uid,
    lane,
    change.key,
    version,
    bodyId,
    write.specHash,
    JSON.stringify(write.labels),
    JSON.stringify(write.dependsOn),
    origin.owner_kind,
    origin.owner_name,
    origin.file,
    origin.origin,
    write.prunable ? 1 : 0,
    write.suspended ? 1 : 0,
    write.initialStatus,
    tx.now,
    tx.now,
  );
  const state = { generation: 1, bodyId, specHash: write.specHash, origin: write.origin };
  insertGeneration(tx, id, state);
  if (!write.suspended) enqueue(tx, { id, lane }, { cause: "spec" });
  firstEvent(tx, id, normal("Created", describeOrigin(write.origin)));
  return receipt(change, { uid, generation: 1, resourceVersion: version });
}

function update(tx: Transaction, change: Write, row: TargetRow, body: Body): Receipt {
  const { write } = body;
  const changed = write.specHash !== row.spec_hash;
  const columns = metadataColumns(write);
  if (!changed && columns.every(([name, value]) => row[name] === value)) {
    dropUnused(tx, body);
    const { uid, generation, resource_version: resourceVersion } = row;
    return receipt(change, { uid, generation, resourceVersion });
  }
  const generation = changed ? row.generation + 1 : row.generation;
  const bodyId = changed ? (body.stagedId ?? insertBody(tx, write.spec)) : row.body_id;
  const version = tx.nextVersion();
  tx.run(
    `UPDATE resource SET labels = ?, depends_on = ?, owner_kind = ?, owner_name = ?, file = ?,
       origin = ?, prunable = ?, suspended = ?, resource_version = ?, generation = ?, body_id = ?,
       spec_hash = ?, updated_at = ? WHERE id = ?`,
    ...columns.map(([, value]) => value),
    version,
    generation,
    bodyId,
    write.specHash,
    tx.now,
    row.id,
  );
  if (changed) {
    const { specHash, origin } = write;
    insertGeneration(tx, row.id, { generation, bodyId, specHash, origin });
    const text = `generation ${generation} ${describeOrigin(origin)}`;
    appendEvent(tx, row.id, normal("SpecChanged", text));
  } else {
    dropUnused(tx, body);
  }
  if (write.suspended) unqueue(tx, row.id);
  else if (changed || row.suspended === 1) enqueue(tx, row, { cause: "spec" });
  return receipt(change, { uid: row.uid, generation, resourceVersion: version });
}

/** What an update may change beside the spec, in the order of its statement. */
function metadataColumns(write: SpecWrite) {
  const origin = originColumns(write.origin);
  return [
    ["labels", JSON.stringify(write.labels)],
    ["depends_on", JSON.stringify(write.dependsOn)],
    ["owner_kind", origin.owner_kind],
    ["owner_name", origin.owner_name],
    ["file", origin.file],
    ["origin", origin.origin],
    ["prunable", write.prunable ? 1 : 0],
    ["suspended", write.suspended ? 1 : 0],
  ] as const;
}

function dropUnused(tx: Transaction, { stagedId }: Body): void {
  if (stagedId !== undefined) tx.run("DELETE FROM spec_body WHERE id = ?", stagedId);
}

/** Takes a suspended resource off the queue; one that is running leaves it when it settles. */
export function unqueue(tx: Transaction, id: number): void {
  tx.run("DELETE FROM queue WHERE resource_id = ? AND claim_token IS NULL", id);
}

function prune(tx: Transaction, { change, row }: Met): Receipt {
  if (change.kind !== "prune" || row === undefined) throw new Error("a prune met no resource");
  const { removed, version, generation } = requestDeletion(tx, row, change.origin);
  return {
    ...receipt(change, { uid: row.uid, generation, resourceVersion: version }),
    removed,
  };
}

function receipt(
  { manager, key }: ApplyChange,
  state: Pick<Receipt, "uid" | "generation" | "resourceVersion">,
): Receipt {
  return { manager, key, ...state, removed: false };
}
