import { canonicalJson } from "../../model/canonical.ts";
import {
  isConditionTrue,
  mergeConditions,
  RUNTIME_CONDITIONS,
  TERMINAL_ERROR,
  type Condition,
  type ConditionInput,
} from "../../model/condition.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import { byteLength, LIMITS, truncate } from "../../model/limits.ts";
import type { PassOutcome, StatusPatch } from "../../model/pass.ts";
import { redactText } from "../../model/redact.ts";
import type { ClaimedRow } from "./claimed.ts";
import type { OpenEffect } from "./effects.ts";
import { conditionsOf } from "./resource-row.ts";
import type { Transaction } from "./transaction.ts";

const { reconciled, stalled, effectIndeterminate } = RUNTIME_CONDITIONS;

/** What a pass ends with. */
type Leaving = { outcome: PassOutcome; stalled: boolean; openEffects: readonly OpenEffect[] };

/** What a pass leaves of a resource's status. */
export type StatusWrite = {
  resourceVersion: number;
  /** Conditions whose status or reason is another one now. */
  moved: Condition[];
};

/**
 * Writes what a pass says of the status, computed from the generation it read (G-4). Writes nothing
 * where no byte would change (G-2).
 * @throws TOO_LARGE, NOT_JSON
 */
export function writeStatus(
  tx: Transaction,
  row: ClaimedRow,
  pass: Leaving & { observedGeneration: number },
): StatusWrite {
  const { outcome } = pass;
  const before = conditionsOf(row);
  const inputs = conditionInputs(before, pass);
  const conditions = mergeConditions(before, inputs, pass.observedGeneration, tx.now);
  const patch: StatusPatch = isAnswer(outcome) ? outcome : {};
  const status =
    patch.resourceManagerStatus === undefined
      ? row.status
      : canonicalJson(patch.resourceManagerStatus);
  const observed = isAnswer(outcome)
    ? Math.max(row.observed_generation, pass.observedGeneration)
    : row.observed_generation;
  if (conditions === before && status === row.status && observed === row.observed_generation) {
    return { resourceVersion: row.resource_version, moved: [] };
  }
  const text = conditions === before ? row.conditions : JSON.stringify(conditions);
  checkSize(row, conditions, byteLength(status) + byteLength(text));
  const resourceVersion = tx.nextVersion();
  tx.run(
    `UPDATE resource SET resource_version = ?, status = ?, conditions = ?, observed_generation = ?,
       ready_generation = ?, held_generation = ?, updated_at = ? WHERE id = ?`,
    resourceVersion,
    status,
    text,
    observed,
    conditions.find(({ type, status }) => type === "Ready" && status === true)
      ?.observedGeneration ?? null,
    heldGeneration(conditions),
    tx.now,
    row.id,
  );
  return { resourceVersion, moved: movedConditions(before, conditions) };
}

type Answer = Extract<PassOutcome, { kind: "settled" | "requeue" | "requeueAfter" }>;

function isAnswer(outcome: PassOutcome): outcome is Answer {
  return (
    outcome.kind === "settled" || outcome.kind === "requeue" || outcome.kind === "requeueAfter"
  );
}

function conditionInputs(
  before: Condition[],
  { outcome, stalled: givenUp, openEffects }: Leaving,
): ConditionInput[] {
  switch (outcome.kind) {
    case "settled":
    case "requeue":
    case "requeueAfter":
      return [
        ...(outcome.conditions ?? []).map(cleaned),
        { type: reconciled, status: true, reason: "Succeeded" },
        ...(openEffects.length === 0 ? [] : [unsettled(openEffects)]),
        ...(openEffects.length === 0 ? [stalled, effectIndeterminate] : [stalled])
          .filter((type) => before.some((one) => one.type === type && one.status === true))
          .map((type) => ({ type, status: false as const, reason: "Succeeded" })),
      ];
    case "failed": {
      const reason = outcome.terminal ? TERMINAL_ERROR : "ReconcileFailed";
      return [cleaned({ type: reconciled, status: false, reason, message: outcome.message })];
    }
    case "parked": {
      const message = `${outcome.effectKey}: ${outcome.message}`;
      return [
        cleaned({ type: effectIndeterminate, status: true, reason: "EffectParked", message }),
      ];
    }
    case "crashed": {
      const message = `${outcome.fault}: ${outcome.message}`;
      const reason = "RunnerFailed";
      // A server that ended says nothing about the resource.
      const blameless = outcome.fault === "shutdown" || outcome.fault === "lease-lost";
      return [
        ...(blameless ? [] : [cleaned({ type: reconciled, status: false, reason, message })]),
        ...(givenUp ? [cleaned({ type: stalled, status: true, reason, message })] : []),
      ];
    }
  }
}

/** An effect that no pass asks for any more is still open, and must not be forgotten (R-4, E-9). */
function unsettled(open: readonly OpenEffect[]): ConditionInput {
  const reason = open.some(({ parked }) => parked === 1) ? "EffectParked" : "EffectUnsettled";
  const message = `not known to have happened or not: ${open.map(({ key }) => key).join(", ")}`;
  return cleaned({ type: effectIndeterminate, status: true, reason, message });
}

function cleaned(input: ConditionInput): ConditionInput {
  if (input.message === undefined) return input;
  return { ...input, message: truncate(redactText(input.message)) };
}

/** The generation for which the runtime has stopped trying, by the conditions that say so. */
function heldGeneration(conditions: Condition[]): number | null {
  const held = conditions
    .filter(
      ({ type, status, reason }) =>
        (type === stalled && status === true) || (type === reconciled && reason === TERMINAL_ERROR),
    )
    .map(({ observedGeneration }) => observedGeneration);
  return held.length === 0 ? null : Math.max(...held);
}

function movedConditions(before: Condition[], after: Condition[]): Condition[] {
  return after.filter((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    if (old) return old.status !== condition.status || old.reason !== condition.reason;
    // That the first pass went well is no news.
    return !(
      condition.type === reconciled &&
      isConditionTrue(after, reconciled, condition.observedGeneration)
    );
  });
}

function checkSize(row: ClaimedRow, conditions: Condition[], bytes: number): void {
  if (bytes > LIMITS.status) {
    throw new PiWorkflowsError(
      "TOO_LARGE",
      `the status of ${row.key} has ${bytes} bytes; ${LIMITS.status} are allowed`,
    );
  }
  if (conditions.length > LIMITS.conditions) {
    throw new PiWorkflowsError(
      "TOO_LARGE",
      `${row.key} has ${conditions.length} conditions; ${LIMITS.conditions} are allowed`,
    );
  }
}
