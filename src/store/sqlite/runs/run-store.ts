import type { Ids } from "../../../model/ports.ts";
import type { RunReader, RunStore } from "../../runs.ts";
import type { Connection } from "../connection.ts";
import type { GroupCommit } from "../group.ts";
import { cancel } from "./cancel.ts";
import { childOf, ensureChildRun, retryRun, startRun } from "./create.ts";
import { appendJournal, readAwaited, readJournal } from "./journal.ts";
import { listRuns, readAttempts } from "./listing.ts";
import { appendRunLog, readRunLog } from "./log.ts";
import { answerRun, cancelRun, pauseRun, resolveRun, resumeRun, runOrders } from "./orders.ts";
import { readRun, storedRun } from "./run-row.ts";
import { acceptWorkflow, workflowRecords } from "./workflows.ts";

/** The writing half of runs. */
export function runWrites(group: GroupCommit, ids: Ids): Omit<RunStore, keyof RunReader> {
  return {
    acceptWorkflow: (project, workflow) =>
      group.write("acceptWorkflow", (tx) => acceptWorkflow(tx, project, workflow)),
    startRun: (request) => group.write("startRun", (tx) => startRun(tx, ids, request)),
    ensureChildRun: (claim, request) =>
      group.write("ensureChildRun", (tx) => ensureChildRun(tx, ids, { claim, request })),
    childRun: (claim, requestKey) =>
      group.write("childRun", (tx) => {
        const run = childOf(tx, claim, requestKey);
        return run && storedRun(tx, run.id);
      }),
    cancelChildRun: (claim, requestKey) =>
      group.write("cancelChildRun", (tx) => {
        const run = childOf(tx, claim, requestKey);
        if (!run) return undefined;
        cancel(tx, run, run.started_by);
        return storedRun(tx, run.id);
      }),
    appendJournal: (claim, entries) =>
      group.write("appendJournal", (tx) => {
        appendJournal(tx, claim, entries);
      }),
    // Nothing follows from a line of a log, so it need not be on the disk before what comes next is.
    appendRunLog: (claim, entries) =>
      group.write(
        "appendRunLog",
        (tx) => {
          appendRunLog(tx, claim, entries);
        },
        "deferred",
      ),
    runOrders: (claim) => group.write("runOrders", (tx) => runOrders(tx, claim), "deferred"),
    pauseRun: (runId) => group.write("pauseRun", (tx) => pauseRun(tx, runId)),
    resumeRun: (runId) => group.write("resumeRun", (tx) => resumeRun(tx, runId)),
    cancelRun: (runId, by) => group.write("cancelRun", (tx) => cancelRun(tx, runId, by)),
    answerRun: (runId, answer) => group.write("answerRun", (tx) => answerRun(tx, runId, answer)),
    resolveRun: (runId, visit, order) =>
      group.write("resolveRun", (tx) => resolveRun(tx, runId, { visit, order })),
    retryRun: (runId, by) => group.write("retryRun", (tx) => retryRun(tx, ids, { runId, by })),
  };
}

/** The reading half of runs; `read` is what reads go through. */
export function runReads(
  connection: Connection,
  read: <Result>(work: () => Result) => Promise<Result>,
): RunReader {
  return {
    workflows: (project) => read(() => workflowRecords(connection, project)),
    run: (runId) => read(() => readRun(connection, runId)),
    runs: (query) => read(() => listRuns(connection, query)),
    attempts: (runId) => read(() => readAttempts(connection, runId)),
    journal: (runId, query) => read(() => readJournal(connection, runId, query)),
    awaited: (runId) => read(() => readAwaited(connection, runId)),
    runLog: (runId, query) => read(() => readRunLog(connection, runId, query)),
  };
}
