import { canonicalJson, type Json } from "../../../model/canonical.ts";
import { PiWorkflowsError } from "../../../model/errors.ts";
import { byteLength, LIMITS, truncate } from "../../../model/limits.ts";
import { redactText } from "../../../model/redact.ts";
import type { NodeOrder, RunOrders, StoredRun } from "../../../model/run.ts";
import type { RunAnswer } from "../../runs.ts";
import type { Claim } from "../../store.ts";
import { unqueue } from "../apply.ts";
import { enqueue } from "../enqueue.ts";
import { appendEvent } from "../events.ts";
import { normal } from "../resources.ts";
import type { Transaction } from "../transaction.ts";
import { cancel } from "./cancel.ts";
import { claimedRun } from "./journal.ts";
import { isAmbiguous, isClosed, openOrdinal, ordinalOfVisit } from "./questions.ts";
import { runByUid, storedRun, type RunRow } from "./run-row.ts";
import { moveRun, runEnded } from "./state.ts";

/** @throws NOT_FOUND, RUN_ENDED: also for one that is being cancelled, which a pause would hold up */
export function pauseRun(tx: Transaction, runId: string): StoredRun {
  const run = openRun(tx, runId);
  if (run.cancel_by !== null) {
    throw new PiWorkflowsError("RUN_ENDED", `run ${runId} is being cancelled and can't be paused`);
  }
  if (run.suspended === 1) return storedRun(tx, run.id);
  suspendRun(tx, run, 1);
  appendEvent(tx, run.id, normal("Paused", "by request"));
  unqueue(tx, run.id);
  const isIdle = run.claimed_at === null && (run.state === "pending" || run.state === "running");
  if (isIdle) moveRun(tx, run, PAUSED);
  return storedRun(tx, run.id);
}

/** What a run is that nobody works on and that was paused. */
export const PAUSED = { state: "waiting", reason: "Paused", message: "paused by request" } as const;

/** @throws NOT_FOUND, RUN_ENDED */
export function resumeRun(tx: Transaction, runId: string): StoredRun {
  const run = openRun(tx, runId);
  const isGivenUp = run.reason === "Stalled" || run.reason === "DefinitionChanged";
  if (run.suspended === 0 && !isGivenUp) return storedRun(tx, run.id);
  suspendRun(tx, run, 0);
  if (run.reason === "DefinitionChanged") {
    tx.run("UPDATE run SET keeps_code = 1 WHERE resource_id = ?", run.id);
  }
  appendEvent(tx, run.id, normal("Resumed", "by request"));
  if (isGivenUp || run.reason === "Paused") {
    moveRun(tx, run, { state: run.epochs === 0 ? "pending" : "running" });
  }
  enqueue(tx, run, { cause: "request" });
  return storedRun(tx, run.id);
}

function suspendRun(tx: Transaction, run: RunRow, suspended: 0 | 1): void {
  tx.run(
    "UPDATE resource SET suspended = ?, updated_at = ? WHERE id = ?",
    suspended,
    tx.now,
    run.id,
  );
}

/** @throws NOT_FOUND, RUN_ENDED */
export function cancelRun(tx: Transaction, runId: string, by: string): StoredRun {
  const run = openRun(tx, runId);
  cancel(tx, run, by);
  return storedRun(tx, run.id);
}

/** @throws NOT_FOUND, RUN_ENDED, NO_QUESTION, ALREADY_ANSWERED, TOO_LARGE, BAD_REQUEST */
export function answerRun(tx: Transaction, runId: string, answer: RunAnswer): StoredRun {
  const run = openRun(tx, runId);
  const { node, by } = answer;
  const ordinal =
    answer.ordinal ??
    (answer.visit === undefined
      ? openOrdinal(tx, run.id, node)
      : ordinalOfVisit(tx, run.id, { node, visit: answer.visit }));
  if (node === "" || !Number.isSafeInteger(ordinal) || ordinal < 1) {
    throw new PiWorkflowsError("BAD_REQUEST", "an answer needs a checkpoint and an ordinal from 1");
  }
  const taken = isClosed(tx, run.id, { node, ordinal })
    ? 0
    : tx.run(
        `INSERT INTO answer (resource_id, node, ordinal, value, by, at) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING`,
        run.id,
        node,
        ordinal,
        checkedValue(node, answer.value),
        by,
        tx.now,
      );
  if (taken === 0) throw answeredBefore(run, node);
  appendEvent(tx, run.id, normal("Answered", `${node}, by ${by}`));
  wakeRun(tx, run);
  return storedRun(tx, run.id);
}

/** @throws NOT_FOUND, RUN_ENDED, NOT_AMBIGUOUS, ALREADY_ANSWERED, TOO_LARGE */
export function resolveRun(
  tx: Transaction,
  runId: string,
  { visit, order }: { visit: number; order: NodeOrder },
): StoredRun {
  const run = openRun(tx, runId);
  if (!isAmbiguous(tx, run.id, visit)) {
    throw new PiWorkflowsError("NOT_AMBIGUOUS", `visit ${visit} of run ${runId} is not ambiguous`);
  }
  const what = `the output of visit ${visit}`;
  const output = order.outcome === "succeeded" ? order.output : undefined;
  const taken = tx.run(
    `INSERT INTO resolution (resource_id, visit, outcome, output, message, by, at)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    run.id,
    visit,
    order.outcome,
    output === undefined ? null : checkedValue(what, output),
    order.outcome === "failed" ? truncate(redactText(order.message)) : null,
    order.by,
    tx.now,
  );
  if (taken === 0) throw answeredBefore(run, `visit ${visit}`);
  appendEvent(tx, run.id, normal("Resolved", `visit ${visit} ${order.outcome}, by ${order.by}`));
  wakeRun(tx, run);
  return storedRun(tx, run.id);
}

/** A person spoke: the run is looked at, unless it waits for its `resume`. */
function wakeRun(tx: Transaction, run: RunRow): void {
  const waitsForResume =
    run.suspended === 1 || run.reason === "Stalled" || run.reason === "DefinitionChanged";
  if (!waitsForResume) enqueue(tx, run, { cause: "request" });
}

/** @throws LEASE_LOST */
export function runOrders(tx: Transaction, claim: Claim): RunOrders {
  const { id } = claimedRun(tx, claim);
  const cancelled = tx.get<{ by: string }>(
    `SELECT cancel_by AS by FROM run
     WHERE resource_id = ? AND cancel_by IS NOT NULL AND cancel_taken = 0`,
    id,
  );
  const answers = tx.all<{ node: string; ordinal: number; value: string; by: string }>(
    "SELECT node, ordinal, value, by FROM answer WHERE resource_id = ? ORDER BY node, ordinal",
    id,
  );
  const resolutions = tx.all<ResolutionRow>(
    "SELECT visit, outcome, output, message, by FROM resolution WHERE resource_id = ? ORDER BY visit",
    id,
  );
  return {
    ...(cancelled ? { cancel: cancelled } : {}),
    answers: answers.map((row) => ({ ...row, value: JSON.parse(row.value) as Json })),
    resolutions: resolutions.map(toResolution),
  };
}

type ResolutionRow = {
  visit: number;
  outcome: NodeOrder["outcome"];
  output: string | null;
  message: string | null;
  by: string;
};

function toResolution({
  visit,
  outcome,
  output,
  message,
  by,
}: ResolutionRow): RunOrders["resolutions"][number] {
  switch (outcome) {
    case "succeeded":
      return {
        visit,
        outcome,
        ...(output === null ? {} : { output: JSON.parse(output) as Json }),
        by,
      };
    case "failed":
      return { visit, outcome, message: message ?? "", by };
    case "retry":
      return { visit, outcome, by };
  }
}

/** @throws NOT_FOUND, RUN_ENDED */
function openRun(tx: Transaction, runId: string): RunRow {
  const run = runByUid(tx, runId);
  if (run.ended_at !== null) throw runEnded(run);
  return run;
}

function answeredBefore(run: RunRow, what: string): PiWorkflowsError {
  return new PiWorkflowsError("ALREADY_ANSWERED", `${what} of run ${run.uid} was answered before`);
}

function checkedValue(what: string, value: Json): string {
  const text = canonicalJson(value);
  const bytes = byteLength(text);
  if (bytes <= LIMITS.nodeOutput) return text;
  throw new PiWorkflowsError(
    "TOO_LARGE",
    `${what} has ${bytes} bytes; ${LIMITS.nodeOutput} are allowed`,
  );
}
