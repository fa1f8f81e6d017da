import type { WakeCause } from "../../model/queue.ts";
import type { Claim } from "../store.ts";
import { leaseLost } from "./errors.ts";
import { RESOURCE_COLUMNS, type ResourceRow } from "./resource-row.ts";
import type { Transaction } from "./transaction.ts";

/** A claimed resource with what its queue row says. */
export type ClaimedRow = ResourceRow & {
  class: number;
  ready_at: number;
  seq: number;
  cause: WakeCause;
  enqueue_seq: number;
  claimed_seq: number;
  attempts: number;
  crash_attempts: number;
  backoff_until: number | null;
  hot_passes: number;
  hot_since: number;
  claim_token: string;
  claim_generation: number;
  reconcile_id: string;
  claim_cause: WakeCause;
  claimed_at: number;
  claim_expires_at: number;
};

export const CLAIMED_COLUMNS = `${RESOURCE_COLUMNS}, q.class, q.ready_at, q.seq, q.cause,
  q.enqueue_seq, q.claimed_seq, q.attempts, q.crash_attempts, q.backoff_until, q.hot_passes,
  q.hot_since, q.claim_token, q.claim_generation, q.reconcile_id,
  q.claim_cause, q.claimed_at, q.claim_expires_at`;

/** The resource if `claim` still holds it: uid, token and claim generation all fit (F-1, D-5). */
export function findClaimed(tx: Transaction, claim: Claim): ClaimedRow | undefined {
  return tx.get<ClaimedRow>(
    `SELECT ${CLAIMED_COLUMNS} FROM resource r JOIN queue q ON q.resource_id = r.id
     WHERE r.uid = ? AND q.claim_token = ? AND q.claim_generation = ?`,
    claim.uid,
    claim.token,
    claim.generation,
  );
}

/** @throws LEASE_LOST */
export function claimedResource(tx: Transaction, claim: Claim): ClaimedRow {
  const row = findClaimed(tx, claim);
  if (row === undefined) throw leaseLost(claim.uid);
  return row;
}
