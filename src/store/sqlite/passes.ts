import { LIMITS } from "../../model/limits.ts";
import type { PassRecord } from "../../model/pass.ts";
import type { Claim, SettleReceipt } from "../store.ts";
import type { Connection } from "./connection.ts";
import { isTrimTurn } from "./events.ts";
import type { LaneNames, ResourceRow } from "./resource-row.ts";
import type { Transaction } from "./transaction.ts";

type PassRow = {
  claim_generation: number;
  reconcile_id: string;
  generation: number;
  cause: PassRecord["cause"];
  outcome: PassRecord["outcome"];
  detail: string | null;
  requeue_after: number | null;
  started_at: number;
  duration: number;
  resource_version: number | null;
  ready_at: number | null;
  uid: string;
  key: string;
} & LaneNames;

const SELECT_PASSES = `SELECT s.claim_generation, s.reconcile_id, s.generation, s.cause, s.outcome,
    s.detail, s.requeue_after, s.started_at, s.duration, s.resource_version, s.ready_at,
    r.uid, r.key, m.name AS manager, p.path AS project
  FROM pass s JOIN resource r ON r.id = s.resource_id
  JOIN manager m ON m.lane = r.lane JOIN project p ON p.id = m.project_id`;

export function insertPass(
  tx: Transaction,
  claimed: Pick<ResourceRow, "id"> & { claim_generation: number; claim_token: string },
  { record, resourceVersion, readyAt }: Omit<SettleReceipt, "claimed">,
): void {
  tx.run(
    "INSERT INTO pass VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    claimed.id,
    claimed.claim_generation,
    claimed.claim_token,
    record.reconcileId,
    record.generation,
    record.cause,
    record.outcome,
    record.detail ?? null,
    record.requeueAfterMs ?? null,
    Math.round(record.startedAt),
    Math.round(record.durationMs),
    resourceVersion ?? null,
    readyAt ?? null,
  );
  if (isTrimTurn(claimed.claim_generation)) trimPasses(tx, claimed.id);
}

function trimPasses(tx: Transaction, resourceId: number): void {
  tx.run(
    `DELETE FROM pass WHERE resource_id = ? AND claim_generation <=
       (SELECT claim_generation FROM pass WHERE resource_id = ?
        ORDER BY claim_generation DESC LIMIT 1 OFFSET ${LIMITS.passesKept})`,
    resourceId,
    resourceId,
  );
}

/** What settling with this claim answered before (F-6). */
export function settledBefore(
  tx: Transaction,
  claim: Claim,
): Omit<SettleReceipt, "claimed"> | undefined {
  const row = tx.get<PassRow>(
    `${SELECT_PASSES} WHERE r.uid = ? AND s.claim_generation = ? AND s.claim_token = ?`,
    claim.uid,
    claim.generation,
    claim.token,
  );
  return (
    row && {
      record: toRecord(row),
      ...(row.resource_version === null ? {} : { resourceVersion: row.resource_version }),
      ...(row.ready_at === null ? {} : { readyAt: row.ready_at }),
    }
  );
}

/** Newest first. */
export function readPasses(
  connection: Connection,
  uid: string,
  limit: number = LIMITS.passesKept,
): PassRecord[] {
  return connection
    .all<PassRow>(
      `${SELECT_PASSES} WHERE r.uid = ? ORDER BY s.claim_generation DESC LIMIT ?`,
      uid,
      limit,
    )
    .map(toRecord);
}

function toRecord(row: PassRow): PassRecord {
  return {
    reconcileId: row.reconcile_id,
    uid: row.uid,
    project: row.project,
    resourceManager: row.manager,
    key: row.key,
    generation: row.generation,
    cause: row.cause,
    outcome: row.outcome,
    ...(row.detail === null ? {} : { detail: row.detail }),
    ...(row.requeue_after === null ? {} : { requeueAfterMs: row.requeue_after }),
    startedAt: row.started_at,
    durationMs: row.duration,
  };
}
