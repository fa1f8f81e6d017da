import { PiWorkflowsError } from "../../../model/errors.ts";
import type { PassOutcome } from "../../../model/pass.ts";
import { hasEnded, type RunEnding } from "../../../model/run.ts";
import type { Claimed } from "../../store.ts";
import { doubtedFrom } from "../doubt.ts";
import type { NextPass } from "../next-pass.ts";
import type { Transaction } from "../transaction.ts";
import { PAUSED } from "./orders.ts";
import { runById, storedRun, type RunRow } from "./run-row.ts";
import { moveRun, type RunMove } from "./state.ts";

/**
 * Makes a run ready to be handed out. One that has begun and whose workflow has other code by now is
 * interrupted instead, unless it was told to keep its own; one that has not takes today's. False
 * where it is not to be handed out.
 */
export function prepareRun(tx: Transaction, id: number): boolean {
  const run = runById(tx, id) as RunRow;
  const today = tx.get<{ digest: string }>("SELECT digest FROM manager WHERE lane = ?", run.lane);
  const digest = today?.digest ?? run.digest;
  if (run.digest === digest || run.keeps_code === 1) return true;
  if (run.epochs === 0) {
    tx.run("UPDATE run SET digest = ? WHERE resource_id = ?", digest, id);
    return true;
  }
  tx.run("DELETE FROM queue WHERE resource_id = ?", id);
  moveRun(tx, run, {
    state: "interrupted",
    reason: "DefinitionChanged",
    message: "its workflow has other code by now: resume it with the old, or retry it with the new",
  });
  return false;
}

/** A run is handed out: a new epoch begins. */
export function beginRunPass(tx: Transaction, id: number): Pick<Claimed, "run" | "doubtedFrom"> {
  tx.run(
    "UPDATE run SET epochs = epochs + 1, started_at = ifnull(started_at, ?) WHERE resource_id = ?",
    tx.now,
    id,
  );
  moveRun(tx, runById(tx, id) as RunRow, { state: "running" });
  const from = doubtedFrom(tx, id);
  return { run: storedRun(tx, id), ...(from === undefined ? {} : { doubtedFrom: from }) };
}

/** Whether the outcome is one that a run's pass may have. @throws BAD_REQUEST */
export function checkRunEnd(outcome: PassOutcome, ending: RunEnding | undefined): void {
  const isCut = outcome.kind === "failed" || outcome.kind === "crashed";
  if (isCut ? ending === undefined : outcome.kind === "settled" && ending !== undefined) return;
  throw new PiWorkflowsError(
    "BAD_REQUEST",
    `a pass of a run can't end as ${outcome.kind}${ending === undefined ? "" : ` and ${ending.state}`}`,
  );
}

type RunPassEnd = { outcome: PassOutcome; run?: RunEnding | undefined };

/**
 * Writes what became of a run when its pass ended, and decides when it is looked at again; nothing
 * for one that has ended, which left the queue.
 * @throws TOO_LARGE
 */
export function endRunPass(
  tx: Transaction,
  id: number,
  end: RunPassEnd,
  next: NextPass,
): NextPass | undefined {
  const run = runById(tx, id) as RunRow;
  const move = moveOf(run, end, next);
  moveRun(tx, run, move);
  if (hasEnded(move)) return undefined;
  if (move.state !== "waiting") return next;
  const wanted = wakeOfWaiting(tx, run, move.reason);
  return wanted ? { ...next, wanted } : next;
}

function moveOf(run: RunRow, { outcome, run: ending }: RunPassEnd, next: NextPass): RunMove {
  if (ending) return ending;
  const message = "message" in outcome ? outcome.message : "";
  if (next.givenUp) return { state: "interrupted", reason: "Stalled", message };
  if (run.suspended === 1) return PAUSED;
  return outcome.kind === "failed" ? { state: "running", message } : { state: "running" };
}

/**
 * No run waits for ever (R-4): one that waits for an answer is looked at again at its deadline, and
 * one that stopped for a pause which was lifted meanwhile goes on.
 */
function wakeOfWaiting(
  tx: Transaction,
  run: RunRow,
  reason: "Checkpoint" | "Paused",
): NextPass["wanted"] {
  if (reason === "Paused") return { at: tx.queueTime, cause: "request" };
  return { at: deadlineOf(tx, run), cause: "schedule" };
}

/** A run's deadline in queue time. */
export function deadlineOf(tx: Transaction, run: Pick<RunRow, "deadline_at">): number {
  return Math.max(tx.queueTime, tx.toQueueTime(run.deadline_at));
}
