import { canonicalJson, fingerprintText } from "../../model/canonical.ts";
import {
  EFFECT_TRANSITIONS,
  type EffectDecision,
  type EffectOutcome,
  type EffectState,
  type StoredEffect,
} from "../../model/effect.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import { byteLength, LIMITS, truncate } from "../../model/limits.ts";
import { redact, redactText } from "../../model/redact.ts";
import type { BeginEffect, Claim, SettleEffect } from "../store.ts";
import { claimedResource, findClaimed, type ClaimedRow } from "./claimed.ts";
import { findEffect, toEffect, type EffectRow } from "./effect-row.ts";
import { enqueue } from "./enqueue.ts";
import { leaseLost } from "./errors.ts";
import { doubtOf, isRecentlyEnded } from "./doubt.ts";
import { appendEvent } from "./events.ts";
import type { ResourceRow } from "./resource-row.ts";
import { normal, resourceByUid, warning } from "./resources.ts";
import { isRun } from "./runs/run-row.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Decides what a pass must do about an effect, and makes the pending row that must be durable
 * before the call (E-1). An unproven earlier call is always observed first (E-2).
 * @throws LEASE_LOST, EFFECT_CONFLICT, TOO_LARGE, BAD_REQUEST, NOT_JSON
 */
export function beginEffect(tx: Transaction, claim: Claim, request: BeginEffect): EffectDecision {
  const resource = claimedResource(tx, claim);
  const print = checkRequest(request);
  const row = findEffect(tx, resource.id, request.key);
  const decide = (next: EffectDecision["next"], changed: EffectRow): EffectDecision => {
    const effect = toEffect(changed, resource.uid);
    return next === "observe"
      ? { next, effect, quietMs: tx.quiet.of(changed.id) }
      : { next, effect };
  };
  if (row === undefined) {
    const doubt = doubtOf(tx, resource.id);
    const made = insertEffect(tx, resource, { ...request, fingerprint: print, doubt });
    return decide(doubt ? "observe" : "call", made);
  }
  if (row.fingerprint !== print) throw conflict(row, "was begun for another request");
  switch (row.state) {
    case "applied":
    case "rejected":
      return decide(isRecentlyEnded(tx, row) ? "observe" : "done", row);
    case "pending":
      if (row.claim_token === claim.token)
        throw conflict(row, "is being applied by this very pass");
      // The pass that called is gone; whether its call arrived can't be told (E-6).
      return decide("observe", move(tx, resource, row, { state: "indeterminate", ...LOST }));
    case "indeterminate":
      if (!request.provenAbsent) return decide("observe", row);
      if (row.attempts >= LIMITS.effectAttempts) {
        return decide("observe", move(tx, resource, row, { state: "indeterminate", ...SPENT }));
      }
      return decide("call", retry(tx, row, claim));
  }
}

const LOST = { reason: "the pass that called the provider ended without an answer", park: false };
const SPENT = {
  reason: `the provider was called ${LIMITS.effectAttempts} times in vain`,
  park: true,
};

/**
 * Records how a begun effect ended. A pass that lost its claim may still say that its own call was
 * applied or rejected, as long as no later pass has called again (E-10).
 * @throws LEASE_LOST, EFFECT_CONFLICT, EFFECT_NOT_OPEN, NOT_FOUND
 */
export function settleEffect(
  tx: Transaction,
  claim: Claim,
  settlement: SettleEffect,
): StoredEffect {
  const claimed = findClaimed(tx, claim);
  const resource = claimed ?? resourceByUid(tx, claim.uid);
  if (resource === undefined) throw leaseLost(claim.uid);
  const row = findEffect(tx, resource.id, settlement.key);
  const { outcome } = settlement;
  if (claimed === undefined && !mayStillSettle(row, claim, outcome)) throw leaseLost(claim.uid);
  if (row === undefined) {
    throw new PiWorkflowsError("NOT_FOUND", `effect ${settlement.key} was never begun`);
  }
  if (row.fingerprint !== settlement.requestFingerprint) {
    throw conflict(row, "was begun for another request");
  }
  if (!isOpen(row.state) && isRecentlyEnded(tx, row)) {
    return toEffect(confirm(tx, row, outcome), resource.uid);
  }
  const { shownRef } = settlement;
  const shown = shownRef === undefined ? outcome : { ...outcome, shownRef };
  const settled = move(tx, resource, row, shown);
  if (claimed === undefined && settled !== row) wakeFor(tx, resourceByUid(tx, claim.uid));
  return toEffect(settled, resource.uid);
}

function mayStillSettle(row: EffectRow | undefined, claim: Claim, outcome: EffectOutcome): boolean {
  return row?.claim_token === claim.token && outcome.state !== "indeterminate";
}

/** @throws NOT_FOUND, EFFECT_NOT_OPEN */
export function resolveEffect(
  tx: Transaction,
  target: { uid: string; key: string; by: string },
  outcome: EffectOutcome & { state: "applied" | "rejected" },
): StoredEffect {
  const resource = resourceByUid(tx, target.uid);
  const row = resource && findEffect(tx, resource.id, target.key);
  if (!resource || !row) {
    throw new PiWorkflowsError("NOT_FOUND", `resource ${target.uid} has no effect ${target.key}`);
  }
  if (!isOpen(row.state)) throw notOpen(row, outcome.state);
  const settled = move(tx, resource, row, outcome);
  appendEvent(
    tx,
    resource.id,
    normal("EffectResolved", `${row.key} is ${outcome.state}, says ${target.by}`),
  );
  wakeFor(tx, resource);
  return toEffect(settled, resource.uid);
}

function wakeFor(tx: Transaction, resource: ResourceRow | undefined): void {
  if (resource?.state !== "live" || resource.suspended === 1) return;
  // A run that was interrupted for good goes on when its `resume` says so.
  const isHeldRun = resource.held_generation !== null && isRun(tx, resource.id);
  if (!isHeldRun) {
    enqueue(tx, resource, { cause: "effect" });
  }
}

/** What is said of an effect that is open when a pass has ended. */
export type OpenEffect = Pick<EffectRow, "key" | "parked">;

/**
 * The effects that are open when a pass has ended, also those that it did not ask for. Calls
 * in flight of a pass that has ended can't be told any more (E-6).
 */
export function leaveEffects(tx: Transaction, resource: Target): OpenEffect[] {
  const rows = tx.all<EffectRow>(
    `SELECT * FROM effect WHERE resource_id = ? AND state IN ('pending', 'indeterminate')
     ORDER BY id`,
    resource.id,
  );
  return rows.map((row) =>
    row.state === "pending" ? move(tx, resource, row, { state: "indeterminate", ...LOST }) : row,
  );
}

type Target = Pick<ResourceRow, "id" | "uid">;

/** The one door through which an effect changes its state (E-5). */
function move(
  tx: Transaction,
  resource: Target,
  row: EffectRow,
  outcome: EffectOutcome & Pick<SettleEffect, "shownRef">,
): EffectRow {
  const repeated = row.state === outcome.state;
  if (repeated && !isOpen(row.state)) return row;
  if (!repeated && !EFFECT_TRANSITIONS[row.state].includes(outcome.state)) {
    throw notOpen(row, outcome.state);
  }
  const kept = keptOutcome(outcome);
  if (repeated && row.reason === kept.reason && row.parked === kept.parked) return row;
  const after: EffectRow = {
    ...row,
    ...kept,
    state: outcome.state,
    completed_at: isOpen(outcome.state) ? null : tx.now,
    sequence: tx.next(),
  };
  const changed = tx.run(
    `UPDATE effect SET state = ?, external_ref = ?, result = ?, reason = ?, parked = ?,
       completed_at = ?, sequence = ? WHERE id = ? AND state = ?`,
    after.state,
    after.external_ref,
    after.result,
    after.reason,
    after.parked,
    after.completed_at,
    after.sequence,
    row.id,
    row.state,
  );
  if (changed !== 1) throw notOpen(row, outcome.state);
  if (!isOpen(after.state)) tx.quiet.forget(row.id);
  else if (!repeated) tx.quiet.begin(row.id);
  appendEvent(tx, resource.id, effectEvent(after, outcome.shownRef ?? after.external_ref));
  return after;
}

/**
 * Writes down that an effect which had ended was looked at once more (E-12). It stays as it is: that
 * its provider shows it no more is no reason to do it again.
 */
function confirm(tx: Transaction, row: EffectRow, outcome: EffectOutcome): EffectRow {
  const after = { ...row, sequence: tx.next() };
  tx.run("UPDATE effect SET sequence = ? WHERE id = ?", after.sequence, row.id);
  if (outcome.state !== row.state) {
    const seen = "reason" in outcome ? outcome.reason : outcome.state;
    const message = `${row.key}: the ledger says ${row.state}, its provider: ${redactText(seen)}`;
    appendEvent(tx, row.resource_id, warning("EffectNotConfirmed", truncate(message)));
  }
  return after;
}

type Kept = Pick<EffectRow, "external_ref" | "result" | "reason" | "parked">;

function keptOutcome(outcome: EffectOutcome): Kept {
  if (outcome.state !== "applied") {
    const parked = outcome.state === "indeterminate" && outcome.park ? 1 : 0;
    const reason = truncate(redactText(outcome.reason));
    return { external_ref: null, result: null, reason, parked };
  }
  const result = outcome.result === undefined ? null : canonicalJson(outcome.result);
  const fits = result === null || byteLength(result) <= LIMITS.effectResult;
  return {
    external_ref: outcome.externalRef ?? null,
    // That it was applied must not be lost because of what came back.
    result: fits ? result : null,
    reason: fits ? null : `the result is not kept: it exceeds ${LIMITS.effectResult} bytes`,
    parked: 0,
  };
}

function effectEvent(effect: EffectRow, ref: string | null): ReturnType<typeof normal> {
  const detail = ref ?? effect.reason;
  const message = detail === null ? effect.key : `${effect.key}: ${detail}`;
  switch (effect.state) {
    case "applied":
      return effect.reason === null
        ? normal("EffectApplied", message)
        : warning("EffectApplied", `${effect.key}: ${effect.reason}`);
    case "rejected":
      return warning("EffectRejected", message);
    case "pending":
    case "indeterminate":
      return warning(effect.parked === 1 ? "EffectParked" : "EffectIndeterminate", message);
  }
}

const RESTORED = "the store was restored from a backup, which may be older than this effect";

function insertEffect(
  tx: Transaction,
  resource: ClaimedRow,
  request: BeginEffect & { fingerprint: string; doubt: { at: number } | undefined },
): EffectRow {
  const { doubt } = request;
  // The stored request is for people only; what is compared is the fingerprint of the true one.
  const shown = canonicalJson(redact(request.shown ?? request.request));
  tx.run(
    `INSERT INTO effect (resource_id, key, kind, generation, fingerprint, request, state, reason,
       attempts, parked, claim_token, started_at, sequence)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?, ?, ?)`,
    resource.id,
    request.key,
    request.kind,
    resource.generation,
    request.fingerprint,
    byteLength(shown) > LIMITS.effectRequest ? '"[too large to show]"' : shown,
    doubt ? "indeterminate" : "pending",
    doubt ? RESTORED : null,
    resource.claim_token,
    // What may have been called was called before the restore.
    doubt?.at ?? tx.now,
    tx.next(),
  );
  return findEffect(tx, resource.id, request.key) as EffectRow;
}

/** Another call after proof that the one before did not arrive. */
function retry(tx: Transaction, row: EffectRow, claim: Claim): EffectRow {
  const changed = tx.run(
    `UPDATE effect SET state = 'pending', attempts = attempts + 1, parked = 0, reason = NULL,
       claim_token = ?, started_at = ?, sequence = ? WHERE id = ? AND state = 'indeterminate'`,
    claim.token,
    tx.now,
    tx.next(),
    row.id,
  );
  if (changed !== 1) throw notOpen(row, "pending");
  return findEffect(tx, row.resource_id, row.key) as EffectRow;
}

function checkRequest(request: BeginEffect): string {
  if (request.key === "" || request.key.length > LIMITS.effectKey || request.kind === "") {
    throw new PiWorkflowsError(
      "BAD_REQUEST",
      `an effect needs a kind and a key of 1 to ${LIMITS.effectKey} characters`,
    );
  }
  const canonical = canonicalJson(request.request);
  const bytes = byteLength(canonical);
  if (bytes > LIMITS.effectRequest) {
    throw new PiWorkflowsError(
      "TOO_LARGE",
      `the request of effect ${request.key} has ${bytes} bytes; ${LIMITS.effectRequest} are allowed`,
    );
  }
  return fingerprintText(canonical);
}

function isOpen(state: EffectState): boolean {
  return EFFECT_TRANSITIONS[state].length > 0;
}

function conflict(row: EffectRow, why: string): PiWorkflowsError {
  return new PiWorkflowsError("EFFECT_CONFLICT", `effect ${row.key} ${why}`, {
    details: { key: row.key, state: row.state },
  });
}

function notOpen(row: EffectRow, wanted: EffectState): PiWorkflowsError {
  return new PiWorkflowsError(
    "EFFECT_NOT_OPEN",
    `effect ${row.key} is ${row.state} and can't become ${wanted}`,
    { details: { key: row.key, state: row.state } },
  );
}
