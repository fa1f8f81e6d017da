import type { Condition } from "../../model/condition.ts";
import { isWorkflowLane } from "../../model/graph.ts";
import { LIMITS, truncate } from "../../model/limits.ts";
import type { PassOutcome, PassRecord } from "../../model/pass.ts";
import { QUEUE_CLASSES, classOf } from "../../model/queue.ts";
import { redactText } from "../../model/redact.ts";
import type { RunEnding } from "../../model/run.ts";
import type { SettleReceipt } from "../store.ts";
import type { ClaimedRow } from "./claimed.ts";
import { leaveEffects, type OpenEffect } from "./effects.ts";
import { NEVER } from "./enqueue.ts";
import { appendEvent } from "./events.ts";
import { laneRow } from "./managers.ts";
import { nextPass, slowed, type NextPass } from "./next-pass.ts";
import { insertPass } from "./passes.ts";
import { normal, warning } from "./resources.ts";
import { endRunPass } from "./runs/pass.ts";
import { writeStatus } from "./status.ts";
import type { Transaction } from "./transaction.ts";

/** How a pass ended, as its server says. */
export type PassEnd = {
  reconcileId: string;
  observedGeneration: number;
  outcome: PassOutcome;
  /** Of a run's pass that was not cut short. */
  run?: RunEnding;
  startedAt: number;
  durationMs: number;
  random: number;
};

/**
 * Writes all that a pass leaves behind: status, or what became of the run, queue row, events and
 * record (G-8).
 */
export function endPass(
  tx: Transaction,
  row: ClaimedRow,
  end: PassEnd,
): Omit<SettleReceipt, "claimed"> {
  const { outcome } = end;
  const openEffects = leaveEffects(tx, row);
  const decided = nextPass(row, outcome, { queueTime: tx.queueTime, random: end.random });
  const hot = decided.hot && !movedEffects(tx, row);
  const next = hot ? slowed(decided, tx.queueTime) : decided;
  const lane = laneRow(tx, row.lane);
  const left = isWorkflowLane(lane?.manager ?? "")
    ? leaveRun(tx, row, { end, next })
    : leaveResource(tx, row, { end, next, hot, openEffects });
  const { resourceVersion, readyAt, detail } = left;
  const record: PassRecord = {
    reconcileId: end.reconcileId,
    uid: row.uid,
    project: lane?.project ?? "",
    resourceManager: lane?.manager ?? "",
    key: row.key,
    generation: end.observedGeneration,
    cause: row.claim_cause,
    outcome: outcome.kind,
    ...(detail === undefined ? {} : { detail }),
    ...(next.wanted ? { requeueAfterMs: Math.max(0, next.wanted.at - tx.queueTime) } : {}),
    startedAt: end.startedAt,
    durationMs: end.durationMs,
  };
  const receipt = { record, resourceVersion, ...(readyAt === undefined ? {} : { readyAt }) };
  insertPass(tx, row, receipt);
  return receipt;
}

type Left = { resourceVersion: number; readyAt: number | undefined; detail: string | undefined };

function leaveResource(
  tx: Transaction,
  row: ClaimedRow,
  pass: { end: PassEnd; next: NextPass; hot: boolean; openEffects: OpenEffect[] },
): Left {
  const { end, next, hot, openEffects } = pass;
  const { outcome } = end;
  const status = { ...end, stalled: next.stalled, openEffects };
  const { resourceVersion, moved } = writeStatus(tx, row, status);
  const readyAt = release(tx, row, next);
  writeEvents(tx, row, { outcome, next, hot, moved });
  return { resourceVersion, readyAt, detail: detailOf(outcome) };
}

function leaveRun(
  tx: Transaction,
  row: ClaimedRow,
  { end, next }: { end: PassEnd; next: NextPass },
): Left {
  const { outcome, run } = end;
  writeEvents(tx, row, { outcome, next, hot: false, moved: [] });
  const after = endRunPass(tx, row.id, end, next);
  const readyAt = after && release(tx, row, after);
  const told = run && "message" in run ? `${run.state}: ${run.message}` : run?.state;
  const detail = told === undefined ? detailOf(outcome) : truncate(redactText(told));
  return { resourceVersion: row.resource_version, readyAt, detail };
}

/** Ends the claim: the key waits for what comes first, or leaves the queue. Returns the wall time. */
function release(tx: Transaction, row: ClaimedRow, next: NextPass): number | undefined {
  // A poll that is due some time does not bring back a key that was given up.
  const asked = row.ready_at !== NEVER && (row.dirty === 1 || !next.givenUp);
  if (row.suspended === 1 || (!asked && !next.wanted)) {
    tx.run("DELETE FROM queue WHERE resource_id = ?", row.id);
    return undefined;
  }
  // What was asked for during the pass and what the pass asked for merge like two enqueues.
  const own = next.wanted;
  const first =
    own && !(asked && row.ready_at <= own.at) ? own : { at: row.ready_at, cause: row.cause };
  const ownClass = own ? QUEUE_CLASSES.indexOf(classOf(own.cause)) : row.class;
  tx.run(
    `UPDATE queue SET class = ?, ready_at = ?, seq = ?, cause = ?, attempts = ?, crash_attempts = ?,
       backoff_until = ?, hot_passes = ?, hot_since = ?, claim_token = NULL WHERE resource_id = ?`,
    asked ? Math.min(row.class, ownClass) : ownClass,
    first.at,
    first === own ? tx.next() : row.seq,
    first.cause,
    next.attempts,
    next.crashAttempts,
    next.backoffUntil,
    next.hotPasses,
    next.hotSince,
    row.id,
  );
  return tx.toWall(first.at);
}

function movedEffects(tx: Transaction, row: ClaimedRow): boolean {
  const sql = "SELECT 1 AS found FROM effect WHERE resource_id = ? AND sequence > ? LIMIT 1";
  return tx.get(sql, row.id, row.claim_generation) !== undefined;
}

function writeEvents(
  tx: Transaction,
  row: ClaimedRow,
  pass: { outcome: PassOutcome; next: NextPass; hot: boolean; moved: Condition[] },
): void {
  const { outcome, moved } = pass;
  const detail = detailOf(outcome) ?? "";
  if (outcome.kind === "failed") {
    const reason = outcome.terminal ? "TerminalError" : "ReconcileFailed";
    appendEvent(tx, row.id, warning(reason, detail));
  } else if (outcome.kind === "crashed") {
    appendEvent(tx, row.id, warning(pass.next.stalled ? "Stalled" : "RunnerFailed", detail));
  } else if (moved.length > 0) {
    appendEvent(tx, row.id, normal("ConditionChanged", describeMoved(moved)));
  }
  if (pass.hot) {
    const text = `more than ${LIMITS.hotLoopPasses} passes in a minute with nothing changing`;
    appendEvent(tx, row.id, warning("HotLoop", `${text}; slowed down`));
  }
}

/** `Ready`, which says it all where it moved, or else the first in full; the others by name. */
function describeMoved(moved: readonly Condition[]): string {
  const main = moved.find(({ type }) => type === "Ready") ?? moved[0];
  if (!main) return "";
  const message = main.message === undefined ? "" : `: ${main.message}`;
  const others = moved
    .filter((condition) => condition !== main)
    .map(({ type, status }) => `${type}=${String(status)}`);
  const rest = others.length === 0 ? "" : ` [${others.join(", ")}]`;
  return `${main.type}=${String(main.status)} (${main.reason})${message}${rest}`;
}

function detailOf(outcome: PassOutcome): string | undefined {
  switch (outcome.kind) {
    case "settled":
    case "requeue":
    case "requeueAfter":
      return undefined;
    case "failed":
      return truncate(redactText(outcome.message));
    case "parked":
      return truncate(redactText(`${outcome.effectKey}: ${outcome.message}`));
    case "crashed":
      return truncate(redactText(`${outcome.fault}: ${outcome.message}`));
  }
}
