import type { EventInput } from "../../model/event.ts";
import { LIMITS } from "../../model/limits.ts";
import type { Origin, ResourceRef } from "../../model/resource.ts";
import type { Connection } from "./connection.ts";
import { findLane } from "./managers.ts";
import { RESOURCE_COLUMNS, type ResourceRow } from "./resource-row.ts";
import type { Transaction } from "./transaction.ts";

type Reader = Pick<Connection, "get" | "all">;

/** The columns that applying and deleting look at: a batch reads a thousand. */
export type TargetRow = Pick<
  ResourceRow,
  | "id"
  | "uid"
  | "lane"
  | "resource_version"
  | "generation"
  | "body_id"
  | "spec_hash"
  | "deletion_at"
  | "finalizers"
  | "labels"
  | "depends_on"
  | "owner_kind"
  | "owner_name"
  | "file"
  | "origin"
  | "prunable"
  | "suspended"
>;

export function targetResource(reader: Reader, lane: number, key: string): TargetRow | undefined {
  return reader.get<TargetRow>(
    `SELECT id, uid, lane, resource_version, generation, body_id, spec_hash, deletion_at, finalizers,
       labels, depends_on, owner_kind, owner_name, file, origin, prunable, suspended
     FROM resource WHERE lane = ? AND key = ? AND state = 'live'`,
    lane,
    key,
  );
}

export function liveResource(reader: Reader, lane: number, key: string): ResourceRow | undefined {
  return reader.get<ResourceRow>(
    `SELECT ${RESOURCE_COLUMNS} FROM resource r
     WHERE r.lane = ? AND r.key = ? AND r.state = 'live'`,
    lane,
    key,
  );
}

/** The one removed last under a key. */
export function removedResource(
  reader: Reader,
  lane: number,
  key: string,
): ResourceRow | undefined {
  return reader.get<ResourceRow>(
    `SELECT ${RESOURCE_COLUMNS} FROM resource r
     WHERE r.state = 'removed' AND r.lane = ? AND r.key = ? ORDER BY r.removed_at DESC LIMIT 1`,
    lane,
    key,
  );
}

export function resourceByRef(reader: Reader, ref: ResourceRef): ResourceRow | undefined {
  const lane = findLane(reader, ref.project, ref.resourceManager);
  return lane === undefined ? undefined : liveResource(reader, lane, ref.key);
}

/** Live or removed. */
export function resourceByUid(reader: Reader, uid: string): ResourceRow | undefined {
  return reader.get<ResourceRow>(`SELECT ${RESOURCE_COLUMNS} FROM resource r WHERE r.uid = ?`, uid);
}

export function insertBody(tx: Pick<Transaction, "insert">, body: string): number {
  return tx.insert("INSERT INTO spec_body (body) VALUES (?)", body);
}

/** One state of a spec, with where it came from. */
export type NewGeneration = {
  generation: number;
  bodyId: number;
  specHash: string;
  origin: Origin;
};

/** Appends to a resource's history and trims it. */
export function insertGeneration(tx: Transaction, resourceId: number, state: NewGeneration): void {
  tx.run(
    `INSERT INTO generation (resource_id, generation, body_id, spec_hash, origin, at)
     VALUES (?, ?, ?, ?, ?, ?)`,
    resourceId,
    state.generation,
    state.bodyId,
    state.specHash,
    JSON.stringify(state.origin),
    tx.now,
  );
  const last = state.generation - LIMITS.generationsKept;
  if (last > 0) trimGenerations(tx, resourceId, last);
}

// A body may be shared with the deletion that follows it, so one that is still named stays.
function trimGenerations(tx: Transaction, resourceId: number, last: number): void {
  tx.run(
    `DELETE FROM spec_body WHERE id IN
       (SELECT body_id FROM generation WHERE resource_id = ? AND generation <= ?
        EXCEPT SELECT body_id FROM generation WHERE resource_id = ? AND generation > ?)`,
    resourceId,
    last,
    resourceId,
    last,
  );
  tx.run("DELETE FROM generation WHERE resource_id = ? AND generation <= ?", resourceId, last);
}

/** `specs/a.resource.json at 1a2b3c4 by sync set main`: where a change came from, for events. */
export function describeOrigin(origin: Origin): string {
  const commit =
    origin.commit === undefined
      ? ""
      : ` at ${origin.commit.slice(0, 12)}${origin.dirty === true ? " (changed since)" : ""}`;
  const from = origin.file === undefined ? (origin.command ?? "") : `${origin.file}${commit}`;
  const by = `${origin.owner.kind} ${origin.owner.name}`;
  return from === "" ? `by ${by}` : `from ${from}, by ${by}`;
}

export function normal(reason: string, message: string): EventInput {
  return { type: "Normal", reason, message };
}

export function warning(reason: string, message: string): EventInput {
  return { type: "Warning", reason, message };
}
