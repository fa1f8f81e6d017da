import { canonicalJson } from "../../../model/canonical.ts";
import { PiWorkflowsError } from "../../../model/errors.ts";
import { byteLength, LIMITS, truncate } from "../../../model/limits.ts";
import { redactText } from "../../../model/redact.ts";
import { hasEnded, type RunEnding, type RunReason } from "../../../model/run.ts";
import { appendEvent } from "../events.ts";
import { normal, warning } from "../resources.ts";
import type { Transaction } from "../transaction.ts";
import { tellParent } from "./parents.ts";
import type { RunRow } from "./run-row.ts";

/** The states of a run that has not ended and is in nobody's hands. */
export type RunStop =
  | { state: "pending" | "running"; message?: string }
  | { state: "interrupted"; reason: "Stalled"; message: string };
export type RunMove = RunEnding | RunStop;

/**
 * The one door through which a run changes its state: the run, the hold that keeps hints from waking
 * it, its event, and its parent's view of it, in one transaction. One that ends becomes a
 * removed resource. @throws TOO_LARGE for its output
 */
export function moveRun(tx: Transaction, run: RunRow, move: RunMove): void {
  const reason = "reason" in move ? move.reason : null;
  const message =
    "message" in move && move.message !== undefined ? truncate(redactText(move.message)) : null;
  const ended = hasEnded(move);
  const changed = tx.run(
    `UPDATE run SET state = ?, reason = ?, message = ?, node = ?, exit = ?, output = ?, ended_at = ?
     WHERE resource_id = ? AND ended_at IS NULL`,
    move.state,
    reason,
    message,
    "node" in move ? (move.node ?? null) : null,
    move.state === "succeeded" ? move.exit : null,
    move.state === "succeeded" ? outputText(run, move.output) : null,
    ended ? tx.now : null,
    run.id,
  );
  if (changed !== 1) throw runEnded(run);
  if (ended) endResource(tx, run);
  else holdRun(tx, run, isHeld(reason));
  if (move.state === run.state && reason === run.reason) return;
  if (move.state !== "pending" && move.state !== "running") {
    appendEvent(tx, run.id, eventOf(move, message));
  }
  tellParent(tx, { ...run, state: move.state }, { reason, message });
}

/** Reasons for which only a person's `resume` or `cancel` brings a run back. */
function isHeld(reason: RunReason | null): boolean {
  return reason === "Stalled" || reason === "DefinitionChanged";
}

/** Keeps hints and repair from waking a run, or lifts that. */
function holdRun(tx: Transaction, run: RunRow, held: boolean): void {
  tx.run(
    "UPDATE resource SET held_generation = ?, updated_at = ? WHERE id = ?",
    held ? run.generation : null,
    tx.now,
    run.id,
  );
}

function endResource(tx: Transaction, run: RunRow): void {
  tx.run("DELETE FROM queue WHERE resource_id = ?", run.id);
  tx.run("DELETE FROM answer WHERE resource_id = ?", run.id);
  tx.run("DELETE FROM resolution WHERE resource_id = ?", run.id);
  tx.run(
    `UPDATE resource SET state = 'removed', removed_at = ?, updated_at = ?, suspended = 0,
       held_generation = NULL WHERE id = ?`,
    tx.now,
    tx.now,
    run.id,
  );
}

function outputText(run: RunRow, output: unknown): string {
  const text = canonicalJson(output);
  const bytes = byteLength(text);
  if (bytes <= LIMITS.nodeOutput) return text;
  throw new PiWorkflowsError(
    "TOO_LARGE",
    `the output of run ${run.uid} has ${bytes} bytes; ${LIMITS.nodeOutput} are allowed`,
  );
}

function eventOf(move: RunMove, message: string | null): ReturnType<typeof normal> {
  const name = `Run${move.state.charAt(0).toUpperCase()}${move.state.slice(1)}`;
  const reason = "reason" in move ? move.reason : undefined;
  const exit = move.state === "succeeded" ? `by exit ${move.exit}` : undefined;
  const text = [reason, message ?? exit].filter((part) => part != null).join(": ");
  const isTrouble = move.state === "failed" || move.state === "interrupted";
  return (isTrouble ? warning : normal)(name, text);
}

/** @throws RUN_ENDED */
export function runEnded(run: RunRow): PiWorkflowsError {
  return new PiWorkflowsError("RUN_ENDED", `run ${run.uid} has ended: ${run.state}`, {
    details: { runId: run.uid, state: run.state },
  });
}
