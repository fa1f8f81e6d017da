import { PiWorkflowsError } from "../../model/errors.ts";
import type { Ids } from "../../model/ports.ts";
import type { PassRecord } from "../../model/pass.ts";
import type { SettleReceipt, SettleRequest } from "../store.ts";
import { claimReady } from "./claim.ts";
import { findClaimed, type ClaimedRow } from "./claimed.ts";
import { leaveEffects } from "./effects.ts";
import { checkDelay } from "./enqueue.ts";
import { leaseLost } from "./errors.ts";
import { isWorkflowLane } from "../../model/graph.ts";
import { laneRow } from "./managers.ts";
import { endPass } from "./pass-end.ts";
import { insertPass, settledBefore } from "./passes.ts";
import { resourceByUid } from "./resources.ts";
import { checkRunEnd } from "./runs/pass.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Ends a pass and claims the next in one transaction. Settling again with the same claim answers
 * the same and claims nothing (F-6).
 * @throws LEASE_LOST, and BAD_REQUEST, TOO_LARGE, NOT_JSON with the claim kept
 */
export function settle(tx: Transaction, request: SettleRequest, ids: Ids): SettleReceipt {
  const row = findClaimed(tx, request.claim);
  if (row === undefined) {
    const before = settledBefore(tx, request.claim);
    if (before) return { ...before, claimed: [] };
  } else {
    checkRequest(tx, row, request);
  }
  const receipt = row === undefined ? settleRemoved(tx, request) : endPass(tx, row, request);
  return { ...receipt, claimed: request.next ? claimReady(tx, request.next, ids) : [] };
}

function checkRequest(tx: Transaction, row: ClaimedRow, request: SettleRequest): void {
  const { outcome, observedGeneration } = request;
  if (observedGeneration !== row.read_generation) {
    throw new PiWorkflowsError(
      "BAD_REQUEST",
      `the pass of ${row.key} read generation ${row.read_generation}, not ${observedGeneration}`,
    );
  }
  const isRun = isWorkflowLane(laneRow(tx, row.lane)?.manager ?? "");
  if (isRun) checkRunEnd(outcome, request.run);
  else if (request.run) throw new PiWorkflowsError("BAD_REQUEST", `${row.key} is not a run`);
  if (outcome.kind !== "requeueAfter") return;
  checkDelay(outcome.delayMs);
  if (outcome.delayMs === 0) {
    throw new PiWorkflowsError("BAD_REQUEST", "requeueAfter needs a delay greater than 0", {
      hint: "Return ctx.requeue() to be looked at again at once.",
    });
  }
}

/** The pass removed its resource by its last finalizer: only its record is left to write (D-2). */
function settleRemoved(tx: Transaction, request: SettleRequest): Omit<SettleReceipt, "claimed"> {
  const { claim } = request;
  const row = resourceByUid(tx, claim.uid);
  if (row?.removed_by !== claim.token) throw leaseLost(claim.uid);
  leaveEffects(tx, row);
  const lane = laneRow(tx, row.lane);
  const record: PassRecord = {
    reconcileId: request.reconcileId,
    uid: row.uid,
    project: lane?.project ?? "",
    resourceManager: lane?.manager ?? "",
    key: row.key,
    generation: request.observedGeneration,
    cause: "delete",
    outcome: request.outcome.kind,
    startedAt: request.startedAt,
    durationMs: request.durationMs,
  };
  insertPass(
    tx,
    { id: row.id, claim_generation: claim.generation, claim_token: claim.token },
    { record },
  );
  return { record };
}
