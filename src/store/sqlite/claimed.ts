import type { WakeCause } from "../../model/queue.ts";
import type { Claim } from "../store.ts";
import { leaseLost } from "./errors.ts";
import type { ResourceRow } from "./resource-row.ts";
import type { Transaction } from "./transaction.ts";

/** A claimed resource with what its queue row says: as many columns as ending a pass needs. */
export type ClaimedRow = Pick<
  ResourceRow,
  | "id"
  | "uid"
  | "lane"
  | "key"
  | "resource_version"
  | "generation"
  | "deletion_at"
  | "finalizers"
  | "suspended"
  | "observed_generation"
  | "conditions"
  | "status"
> & {
  /** Marked for now since the claim. */
  dirty: 0 | 1;
  class: number;
  ready_at: number;
  seq: number;
  cause: WakeCause;
  attempts: number;
  crash_attempts: number;
  backoff_until: number | null;
  hot_passes: number;
  hot_since: number;
  claim_token: string;
  claim_generation: number;
  reconcile_id: string;
  read_generation: number;
  claim_cause: WakeCause;
  claimed_at: number;
};

/** A query of claimed rows, to be continued with its conditions on `r` and `q`. */
export const SELECT_CLAIMED = `SELECT r.id, r.uid, r.lane, r.key, r.resource_version, r.generation,
    r.deletion_at, r.finalizers, r.suspended, r.observed_generation, r.conditions, r.status,
    q.enqueue_seq > q.claimed_seq AS dirty, q.class, q.ready_at, q.seq, q.cause, q.attempts, q.crash_attempts, q.backoff_until,
    q.hot_passes, q.hot_since, q.claim_token, q.claim_generation, q.reconcile_id, q.read_generation,
    q.claim_cause,
    q.claimed_at
  FROM resource r JOIN queue q ON q.resource_id = r.id`;

/** The resource if `claim` still holds it: uid, token and claim generation all fit (F-1, D-5). */
export function findClaimed(tx: Transaction, claim: Claim): ClaimedRow | undefined {
  return tx.get<ClaimedRow>(
    `${SELECT_CLAIMED} WHERE r.uid = ? AND q.claim_token = ? AND q.claim_generation = ?`,
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
