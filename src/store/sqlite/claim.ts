import { PiWorkflowsError } from "../../model/errors.ts";
import { isWorkflowLane } from "../../model/graph.ts";
import { LIMITS } from "../../model/limits.ts";
import type { Ids } from "../../model/ports.ts";
import { CLASS_DELAY_MS, QUEUE_CLASSES, type WakeCause } from "../../model/queue.ts";
import type { Claim, ClaimRequest, Claimed } from "../store.ts";
import { SELECT_CLAIMED, type ClaimedRow } from "./claimed.ts";
import { NEVER } from "./enqueue.ts";
import { leaseLost } from "./errors.ts";
import { laneRow, type LaneRow } from "./managers.ts";
import { endPass } from "./pass-end.ts";
import { managedResource, type ManagedRow } from "./resource-row.ts";
import { beginRunPass, prepareRun } from "./runs/pass.ts";
import { LINK_COLUMNS, LINK_TABLES } from "./runs/run-row.ts";
import type { Transaction } from "./transaction.ts";

/** The longest that a claim may still last: past it, an `expiresAt` is a mistake (T-1). */
const LONGEST_LEASE_MS = LIMITS.maxDeadlineMs + 2 * LIMITS.killGraceMs + LIMITS.claimMarginMs;

type Head = { resource_id: number; rank: number; seq: number };

/**
 * Claims ready keys, lanes in the order given. Claims that expired are ended first, as crashed.
 * The cost does not depend on how many rows are ready, waiting or claimed (goal P5).
 * @throws LEASE_LOST where the epoch is over (F-7).
 */
export function claimReady(tx: Transaction, request: ClaimRequest, ids: Ids): Claimed[] {
  if (request.epoch !== tx.epoch) {
    throw new PiWorkflowsError(
      "LEASE_LOST",
      `server epoch ${request.epoch} is over: epoch ${tx.epoch} has begun`,
    );
  }
  endExpired(tx);
  const claimed: Claimed[] = [];
  for (const { lane, max } of request.lanes) {
    const room = Math.min(max, request.limit - claimed.length);
    if (room <= 0) continue;
    const names = laneRow(tx, lane);
    if (names?.accepted_at == null) continue;
    for (const id of readyIn(tx, names, room)) {
      claimed.push(claimOne(tx, id, { ids, names, leaseMs: request.leaseMs }));
    }
  }
  return claimed;
}

/** Runs of a lane that one claim finds not to be handed out: more are looked at by the next. */
const MOST_REFUSED = 100;

/** The best rows of a lane; of a workflow's, those whose code it may still run. */
function readyIn(tx: Transaction, { lane, manager }: LaneRow, room: number): number[] {
  if (!isWorkflowLane(manager)) return heads(tx, lane, room).map((head) => head.resource_id);
  const ready: number[] = [];
  for (let refused = 0; refused <= MOST_REFUSED;) {
    const found = heads(tx, lane, room).map((head) => head.resource_id);
    const kept = found.filter((id) => prepareRun(tx, id));
    ready.splice(0, ready.length, ...kept);
    if (kept.length === found.length) break;
    refused += found.length - kept.length;
  }
  return ready;
}

/** The best rows of a lane by effective rank, then by the order in which they were marked. */
function heads(tx: Transaction, lane: number, limit: number): Head[] {
  const found = QUEUE_CLASSES.flatMap((name, index) =>
    tx.all<Head>(
      `SELECT resource_id, ready_at + ? AS rank, seq FROM queue
       WHERE lane = ? AND class = ? AND claim_token IS NULL AND ready_at <= ?
       ORDER BY ready_at, seq LIMIT ?`,
      CLASS_DELAY_MS[name],
      lane,
      index,
      tx.queueTime,
      limit,
    ),
  );
  if (found.length < 2) return found;
  return found
    .sort((left, right) => left.rank - right.rank || left.seq - right.seq)
    .slice(0, limit);
}

type HandedOut = ManagedRow & {
  cause: WakeCause;
  attempts: number;
  crash_attempts: number;
  ready_at: number;
  body: string;
};

const SELECT_HANDED_OUT = `SELECT r.uid, r.key, r.resource_version, r.generation, r.deletion_at,
    r.finalizers, r.observed_generation, r.conditions, r.status, q.cause, q.attempts,
    q.crash_attempts, q.ready_at, b.body, ${LINK_COLUMNS}
  FROM queue q JOIN resource r ON r.id = q.resource_id JOIN spec_body b ON b.id = r.body_id
  ${LINK_TABLES}
  WHERE q.resource_id = ?`;

function claimOne(
  tx: Transaction,
  resourceId: number,
  { ids, names, leaseMs }: { ids: Ids; names: LaneRow; leaseMs: number },
): Claimed {
  const row = tx.get<HandedOut>(SELECT_HANDED_OUT, resourceId) as HandedOut;
  const expires = tx.queueTime + Math.min(leaseMs, LONGEST_LEASE_MS);
  const claim = { uid: row.uid, lane: names.lane, token: ids.token(), generation: tx.next() };
  const reconcileId = ids.next();
  tx.run(
    `UPDATE queue SET claim_token = ?, claim_generation = ?, reconcile_id = ?, read_generation = ?,
       claimed_at = ?, claim_expires_at = ?, claimed_seq = enqueue_seq, claim_cause = cause,
       ready_at = ${NEVER}, class = ${QUEUE_CLASSES.length - 1}
     WHERE resource_id = ? AND claim_token IS NULL`,
    claim.token,
    claim.generation,
    reconcileId,
    row.generation,
    tx.queueTime,
    expires,
    resourceId,
  );
  return {
    claim,
    reconcileId,
    project: names.project,
    manager: names.manager,
    resource: managedResource(row, names.manager, row.body),
    ...(isWorkflowLane(names.manager) ? beginRunPass(tx, resourceId) : {}),
    cause: row.cause,
    attempts: row.attempts,
    crashAttempts: row.crash_attempts,
    expiresAt: tx.toWall(expires),
    readyAt: tx.toWall(row.ready_at),
  };
}

/** The same owner may renew late, as long as nobody has taken over (F-3). @throws LEASE_LOST */
export function renewClaim(tx: Transaction, claim: Claim, expiresAt: number): void {
  const expires = Math.min(tx.toQueueTime(expiresAt), tx.queueTime + LONGEST_LEASE_MS);
  const changed = tx.run(
    `UPDATE queue SET claim_expires_at = ? WHERE claim_token = ? AND claim_generation = ?
       AND resource_id = (SELECT id FROM resource WHERE uid = ?)`,
    Math.round(expires),
    claim.token,
    claim.generation,
    claim.uid,
  );
  if (changed !== 1) throw leaseLost(claim.uid);
}

// Claims that are lost together return to the queue in the order in which they left it.
const AS_CLAIMED = "ORDER BY q.claim_generation";

function endExpired(tx: Transaction): void {
  const expired = tx.all<ClaimedRow>(
    `${SELECT_CLAIMED} WHERE q.claim_token IS NOT NULL AND q.claim_expires_at <= ? ${AS_CLAIMED}`,
    tx.queueTime,
  );
  for (const row of expired) endWithoutAnswer(tx, row, "the claim expired without an answer");
}

/** Ends every claim of earlier epochs at once, without waiting for its expiry (F-7). */
export function beginEpoch(tx: Transaction): { epoch: number; recovered: number } {
  const epoch = tx.beginEpoch();
  const open = tx.all<ClaimedRow>(
    `${SELECT_CLAIMED} WHERE q.claim_token IS NOT NULL ${AS_CLAIMED}`,
  );
  for (const row of open) endWithoutAnswer(tx, row, "the server ended during the pass");
  return { epoch, recovered: open.length };
}

function endWithoutAnswer(tx: Transaction, row: ClaimedRow, message: string): void {
  // Without its token in the record, so that its late settle is refused, not answered (F-1).
  endPass(
    tx,
    { ...row, claim_token: "" },
    {
      reconcileId: row.reconcile_id,
      observedGeneration: row.read_generation,
      outcome: { kind: "crashed", fault: "lease-lost", message },
      startedAt: tx.toWall(row.claimed_at),
      durationMs: Math.max(0, tx.queueTime - row.claimed_at),
      // Nobody is waiting beside it: there is nothing for jitter to spread.
      random: 0.5,
    },
  );
}
