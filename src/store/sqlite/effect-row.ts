import type { StoredEffect } from "../../model/effect.ts";
import type { Json } from "../../model/canonical.ts";
import { LIMITS } from "../../model/limits.ts";
import type { EffectListing } from "../store.ts";
import type { Connection } from "./connection.ts";
import type { LaneNames, ResourceRow } from "./resource-row.ts";

type Reader = Pick<Connection, "get" | "all">;

export type EffectRow = {
  id: number;
  resource_id: number;
  key: string;
  kind: string;
  generation: number;
  fingerprint: string;
  request: string;
  state: StoredEffect["state"];
  external_ref: string | null;
  result: string | null;
  reason: string | null;
  attempts: number;
  parked: 0 | 1;
  claim_token: string;
  started_at: number;
  completed_at: number | null;
  sequence: number;
};

export function findEffect(reader: Reader, resourceId: number, key: string): EffectRow | undefined {
  return reader.get<EffectRow>(
    "SELECT * FROM effect WHERE resource_id = ? AND key = ?",
    resourceId,
    key,
  );
}

/** Pending and indeterminate effects of a resource, oldest first. */
export function openEffects(
  reader: Reader,
  resource: Pick<ResourceRow, "id" | "uid">,
): StoredEffect[] {
  return reader
    .all<EffectRow>(
      `SELECT * FROM effect WHERE resource_id = ? AND state IN ('pending', 'indeterminate')
       ORDER BY sequence`,
      resource.id,
    )
    .map((row) => toEffect(row, resource.uid));
}

export function toEffect(row: EffectRow, uid: string): StoredEffect {
  return {
    key: row.key,
    resourceUid: uid,
    generation: row.generation,
    requestFingerprint: row.fingerprint,
    state: row.state,
    ...(row.external_ref === null ? {} : { externalRef: row.external_ref }),
    startedAt: new Date(row.started_at).toISOString(),
    ...(row.completed_at === null ? {} : { completedAt: new Date(row.completed_at).toISOString() }),
    kind: row.kind,
    request: JSON.parse(row.request) as Json,
    ...(row.result === null ? {} : { result: JSON.parse(row.result) as Json }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    attempts: row.attempts,
    parked: row.parked === 1,
    sequence: row.sequence,
  };
}

/** In the order of their latest moves; those of removed resources too (D-7). */
export function readEffects(
  connection: Connection,
  query: {
    uid?: string | undefined;
    project?: string | undefined;
    open?: boolean | undefined;
    limit?: number | undefined;
  },
): EffectListing[] {
  const open = query.open === true ? "AND e.state IN ('pending', 'indeterminate')" : "";
  const uid = query.uid === undefined ? "? IS NULL" : "r.uid = ?";
  return connection
    .all<EffectRow & LaneNames & { uid: string; resource_key: string }>(
      `SELECT e.*, r.uid, r.key AS resource_key, m.name AS manager, p.path AS project
       FROM effect e JOIN resource r ON r.id = e.resource_id
       JOIN manager m ON m.lane = r.lane JOIN project p ON p.id = m.project_id
       WHERE ${uid} AND p.path = ifnull(?, p.path) ${open}
       ORDER BY e.sequence LIMIT ?`,
      query.uid ?? null,
      query.project ?? null,
      query.limit ?? LIMITS.page,
    )
    .map((row) => ({
      ...toEffect(row, row.uid),
      project: row.project,
      resourceManager: row.manager,
      resourceKey: row.resource_key,
    }));
}
