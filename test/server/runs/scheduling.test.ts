import { describe, expect, it } from "vitest";
import { fingerprintText } from "../../../src/model/canonical.ts";
import { LIMITS } from "../../../src/model/limits.ts";
import type { RunEnding, StoredRun } from "../../../src/model/run.ts";
import { createChanges } from "../../../src/server/changes.ts";
import type { RunItem } from "../../../src/server/run-protocol.ts";
import { streamRuns } from "../../../src/server/runs/stream.ts";
import { makeBench, type Bench } from "../scheduling.ts";
import { turns } from "../virtual-clock.ts";
import type { FakeRun } from "../fake-runner.ts";

const HOUR = 60 * 60_000;
const succeeded: RunEnding = { state: "succeeded", exit: "done", output: { ok: true } };
const paused: RunEnding = { state: "waiting", reason: "Paused", message: "paused" };
const asks: RunEnding = { state: "waiting", reason: "Checkpoint", message: "?", node: "ask" };

async function end({ runner }: Bench, ending: RunEnding, run?: FakeRun): Promise<void> {
  (run ?? only(runner.executing)).end({ kind: "ran", ending });
  await turns();
}

function only<T>(items: readonly T[]): T {
  expect(items).toHaveLength(1);
  return items[0] as T;
}

async function now({ store }: Bench, { runId }: StoredRun): Promise<StoredRun> {
  return (await store.run(runId)) as StoredRun;
}

describe("a pass of a run", () => {
  it("gets what its runner needs, and settles the run with how it ended", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    const run = await bench.startRun("w", { url: "x" });
    expect(await now(bench, run)).toMatchObject({ state: "running" });
    expect(only(bench.runner.executing).request).toEqual({
      runId: run.runId,
      project: "/p",
      workflow: "w",
      digest: fingerprintText("w"),
      input: { url: "x" },
      epoch: 1,
      remainingMs: HOUR,
    });
    await end(bench, succeeded);
    expect(await now(bench, run)).toMatchObject({ state: "succeeded", output: { ok: true } });
    expect(bench.scheduler.isIdle()).toBe(true);
  });

  it("keeps its claim for hours, and its journal with it", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w", { deadlineMs: 9 * HOUR });
    const run = await bench.startRun("w");
    await bench.clock.advance(8 * HOUR);
    // Its claim would take over what has expired.
    const other = await bench.startRun("w");
    const ids = bench.runner.executing.map(({ request }) => request.runId);
    expect(ids).toEqual([run.runId, other.runId]);
    const { host, signal } = bench.runner.executing[0] as FakeRun;
    expect(signal.aborted).toBe(false);
    await host.appendJournal([{ event: "recovered", at: bench.clock.now() }]);
    await end(bench, succeeded, bench.runner.executing[0]);
    expect(await now(bench, run)).toMatchObject({ state: "succeeded", entries: 1, epochs: 1 });
  });

  it("ends the run as overdue where its runner did not end it in its grace", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w", { deadlineMs: HOUR });
    const run = await bench.startRun("w");
    await bench.clock.advance(HOUR + LIMITS.endRunMs);
    const message = "no answer";
    only(bench.runner.executing).end({ kind: "crashed", fault: "deadline", message });
    await turns();
    expect(await now(bench, run)).toMatchObject({ state: "failed", reason: "DeadlineExceeded" });
  });

  it("is tried again where its runner was killed for one node before the run's deadline", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w", { deadlineMs: HOUR });
    const run = await bench.startRun("w");
    await bench.clock.advance(HOUR / 2);
    const message = "blocked by node ask";
    only(bench.runner.executing).end({ kind: "crashed", fault: "deadline", message });
    await bench.clock.advance(LIMITS.backoffCapMs);
    expect(only(bench.runner.executing).request).toMatchObject({ runId: run.runId, epoch: 2 });
  });

  it("ends the run where what it hands over can't be kept", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    const run = await bench.startRun("w");
    await end(bench, { ...succeeded, output: "x".repeat(LIMITS.nodeOutput) });
    expect(await now(bench, run)).toMatchObject({
      state: "failed",
      reason: "InvalidOutput",
      message: expect.stringContaining(`${LIMITS.nodeOutput + 2} bytes`),
    });
  });

  it("masks secrets of the input in its log and in what went wrong", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w", { secretPaths: ["token"] });
    const run = await bench.startRun("w", { token: "hunter2000" });
    const { host } = only(bench.runner.executing);
    const at = bench.clock.now();
    const attempt = { visit: 1, node: "ask", attempt: 1, kind: "checkpoint" } as const;
    await host.appendRunLog([
      { at, visit: 1, node: "ask", stream: "stdout", text: "I am hunter2000" },
    ]);
    await host.appendJournal([
      { ...attempt, event: "begun", at },
      {
        ...attempt,
        event: "failed",
        at,
        startedAt: at,
        retryable: false,
        error: { reason: "Thrown", message: "no hunter2000" },
      },
    ]);
    host.log("info", "token hunter2000");
    await end(bench, { state: "failed", reason: "NodeFailed", message: "hunter2000 failed" });
    const kept = JSON.stringify([
      await now(bench, run),
      await bench.store.journal(run.runId, { bodies: true }),
      await bench.store.runLog(run.runId, {}),
      await bench.store.events({ uid: run.runId }),
      bench.log,
    ]);
    expect(kept).toContain("I am ");
    expect(kept.replaceAll('"token":"hunter2000"', "")).not.toContain("hunter2000");
  });
});

describe("admission", () => {
  it("Q-10: long runs that hold all their places leave some for a quiet manager", async () => {
    const bench = await makeBench({ caps: { total: 6, perProject: 6, runs: 4 } });
    await bench.acceptWorkflow("noisy");
    const manager = await bench.accept("quiet");
    for (let run = 0; run < 20; run += 1) await bench.startRun("noisy");
    expect(bench.runner.executing).toHaveLength(4);
    await bench.create(manager, "one", "two", "three");
    expect(bench.runner.keys()).toEqual(["one", "two"]);
    bench.runner.of("one").end();
    await turns();
    expect(bench.runner.keys()).toEqual(["two", "three"]);
    await end(bench, succeeded, bench.runner.executing[0]);
    expect(bench.runner.executing).toHaveLength(4);
  });

  it("gives workflows their turns", async () => {
    const bench = await makeBench({ caps: { total: 4, perProject: 4, runs: 2 } });
    await bench.acceptWorkflow("a");
    await bench.acceptWorkflow("b");
    for (let run = 0; run < 4; run += 1) await bench.startRun("a");
    await bench.startRun("b");
    await end(bench, succeeded, bench.runner.executing[0]);
    expect(bench.runner.executing.map(({ request }) => request.workflow)).toEqual(["a", "b"]);
  });
});

describe("what people want of a run", () => {
  it("reaches its runner; a pause ends the pass and keeps the run until it is resumed", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    const run = await bench.startRun("w");
    bench.scheduler.notify(run.runId, "orders");
    await bench.store.pauseRun(run.runId);
    bench.scheduler.notify(run.runId, "pause");
    expect(only(bench.runner.executing).notices).toEqual(["orders", "pause"]);
    await end(bench, paused);
    expect(await now(bench, run)).toMatchObject({ state: "waiting", reason: "Paused" });
    expect(await bench.store.passes(run.runId)).toMatchObject([{ outcome: "settled" }]);
    expect(bench.runner.executing).toEqual([]);
    expect(bench.scheduler.isIdle()).toBe(true);
    await bench.store.resumeRun(run.runId);
    bench.scheduler.wake({ project: "/p", manager: "workflow/w" });
    await turns();
    expect(only(bench.runner.executing).request.epoch).toBe(2);
  });

  it("a pause that came while the run was on its way to a runner keeps it from beginning", async () => {
    const bench = await makeBench({
      wrap: (store) => ({
        ...store,
        async claim(request) {
          const claimed = await store.claim(request);
          for (const { run } of claimed) if (run?.epochs === 1) await store.pauseRun(run.runId);
          return claimed;
        },
      }),
    });
    await bench.acceptWorkflow("w");
    const run = await bench.startRun("w");
    expect(bench.runner.executing).toEqual([]);
    expect(await now(bench, run)).toMatchObject({ state: "waiting", reason: "Paused" });
    await bench.store.resumeRun(run.runId);
    bench.scheduler.wake();
    await turns();
    expect(only(bench.runner.executing).request.epoch).toBe(2);
  });

  it("a pause that was lifted before the runner stopped does not stop the run", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    const run = await bench.startRun("w");
    await bench.store.pauseRun(run.runId);
    bench.scheduler.notify(run.runId, "pause");
    await bench.store.resumeRun(run.runId);
    await end(bench, paused);
    expect(await now(bench, run)).toMatchObject({ state: "running", paused: false });
    expect(only(bench.runner.executing).request.epoch).toBe(2);
  });

  it("a run that asks a person keeps no server, and no place", async () => {
    const bench = await makeBench({ caps: { total: 1, perProject: 1, runs: 1 } });
    await bench.acceptWorkflow("w");
    await bench.startRun("w");
    expect(bench.scheduler.isIdle()).toBe(false);
    await end(bench, asks);
    expect(bench.scheduler.isIdle()).toBe(true);
    const other = await bench.startRun("w");
    expect(only(bench.runner.executing).request.runId).toBe(other.runId);
  });

  it("R-4: a run that asks a person is looked at again at its deadline", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w", { deadlineMs: HOUR });
    const run = await bench.startRun("w");
    await end(bench, asks);
    await bench.clock.advance(HOUR - 1_000);
    expect(bench.runner.executing).toEqual([]);
    await bench.clock.advance(2_000);
    expect(only(bench.runner.executing).request).toMatchObject({
      runId: run.runId,
      remainingMs: 0,
    });
  });
});

describe("child runs", () => {
  const request = { requestKey: "k", workflow: "w", input: { url: "x" } };

  it("R-2: begin as soon as they are asked for, and their end wakes their parent at once", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    const manager = await bench.accept("m");
    await bench.create(manager, "parent");
    const { host } = bench.runner.of("parent");
    const child = await host.ensureWorkflow(request);
    expect(child).toMatchObject({ requestId: "k", state: "pending", attempt: 1 });
    const changed = host.ensureWorkflow({ ...request, input: { url: "y" } });
    await expect(changed).rejects.toMatchObject({
      code: "RUN_CONFLICT",
      message: expect.stringMatching(/for another input\. Put what distinguishes the request/),
    });
    await turns();
    expect(only(bench.runner.executing).request).toMatchObject({ runId: child.runId });
    expect(await host.getWorkflow("k")).toMatchObject({ state: "running" });
    expect(await host.getWorkflow("other")).toBeUndefined();
    bench.runner.of("parent").end();
    await turns();
    expect(bench.runner.running).toEqual([]);
    await end(bench, succeeded);
    const woken = bench.runner.of("parent");
    expect(woken.request.event.cause).toBe("child");
    expect(await woken.host.ensureWorkflow(request)).toMatchObject({
      runId: child.runId,
      state: "succeeded",
      output: { ok: true },
    });
  });

  it("R-1: are found again also where their workflow takes another input by now", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    const manager = await bench.accept("m");
    await bench.create(manager, "parent");
    const { host } = bench.runner.of("parent");
    const { runId } = await host.ensureWorkflow(request);
    const inputSchema = { type: "object", required: ["branch"] };
    await bench.acceptWorkflow("w", { digest: fingerprintText("newer"), inputSchema });
    expect(await host.ensureWorkflow(request)).toMatchObject({ runId });
    const other = { ...request, requestKey: "another" };
    await expect(host.ensureWorkflow(other)).rejects.toThrow(/input.*branch/);
  });

  it("are told when their parent cancels them, and wake it when they were not begun", async () => {
    const bench = await makeBench({ caps: { total: 3, perProject: 3, runs: 1 } });
    await bench.acceptWorkflow("w");
    const manager = await bench.accept("m");
    await bench.create(manager, "parent");
    const { host } = bench.runner.of("parent");
    await host.ensureWorkflow(request);
    await host.ensureWorkflow({ ...request, requestKey: "waits" });
    await turns();
    await host.cancelWorkflow("k");
    expect(only(bench.runner.executing).notices).toEqual(["orders"]);
    expect(await host.cancelWorkflow("waits")).toMatchObject({ state: "failed" });
    expect(await host.cancelWorkflow("none")).toBeUndefined();
    bench.runner.of("parent").end();
    await turns();
    expect(bench.runner.keys()).toEqual(["parent"]);
  });

  it("F-1: are not asked for by a pass that lost its claim", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    const manager = await bench.accept("m");
    await bench.create(manager, "parent");
    const { host, signal } = bench.runner.of("parent");
    await bench.store.beginEpoch();
    await expect(host.ensureWorkflow(request)).rejects.toMatchObject({ code: "LEASE_LOST" });
    expect(signal.reason).toBe("lease-lost");
    expect((await bench.store.runs({})).items).toEqual([]);
  });
});

describe("a workflow that changes while its run works", () => {
  const changed = { digest: fingerprintText("other code") };

  it("has its run stopped and parked; resumed, it goes on with the code that it began with", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    const run = await bench.startRun("w");
    const record = await bench.acceptWorkflow("w", changed);
    expect(only(bench.runner.executing).notices).toEqual(["pause"]);
    await end(bench, paused);
    expect(await now(bench, run)).toMatchObject({
      state: "interrupted",
      reason: "DefinitionChanged",
    });
    await bench.store.resumeRun(run.runId);
    bench.scheduler.wake();
    await turns();
    expect(only(bench.runner.executing).request.digest).toBe(fingerprintText("w"));
    // Accepted again unchanged, as every apply does.
    bench.scheduler.register(record);
    expect(only(bench.runner.executing).notices).toEqual([]);
    await end(bench, succeeded);
    expect(await now(bench, run)).toMatchObject({ state: "succeeded" });
  });

  it("does not park a run that ended, nor one that is being cancelled", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    const first = await bench.startRun("w");
    const second = await bench.startRun("w");
    const [one, two] = [...bench.runner.executing];
    await bench.acceptWorkflow("w", changed);
    await end(bench, succeeded, one);
    expect(await now(bench, first)).toMatchObject({ state: "succeeded" });
    await two?.host.appendJournal([{ event: "recovered", at: bench.clock.now() }]);
    await bench.store.cancelRun(second.runId, "me");
    await end(bench, paused, two);
    expect(await now(bench, second)).toMatchObject({ state: "running", cancelling: true });
    expect(only(bench.runner.executing).request.digest).toBe(fingerprintText("w"));
    const events = await bench.store.events({ uid: second.runId });
    expect(events.map(({ reason }) => reason)).not.toContain("RunInterrupted");
  });
});

describe("a watch of runs", () => {
  it("tells of a run that was parked when it was to be handed out, which nothing touches", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    await bench.startRun("w");
    await end(bench, asks);
    await bench.acceptWorkflow("w", { digest: fingerprintText("other code") });
    const { store: runs, clock } = bench;
    const leaving = new AbortController();
    const items = streamRuns({ runs, clock, changes: createChanges() }, {}, leaving.signal);
    const next = async () => (await items.next()).value as RunItem;
    expect(await next()).toMatchObject({ run: { state: "waiting" } });
    expect(await next()).toEqual({ kind: "listed" });
    const told = next();
    await clock.advance(HOUR);
    expect(await told).toMatchObject({
      run: { state: "interrupted", reason: "DefinitionChanged" },
    });
    leaving.abort();
    await items.return(undefined);
  });
});

describe("a server that stops", () => {
  it("P-3: tells runs to stop between two nodes; they go on at the next start, at no attempt's cost", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    const run = await bench.startRun("w");
    const drained = bench.scheduler.drain();
    expect(only(bench.runner.executing).notices).toEqual(["pause"]);
    await end(bench, paused);
    await drained;
    expect(await now(bench, run)).toMatchObject({ state: "running", paused: false });
    const { epoch } = await bench.store.beginEpoch();
    const { lane } = (await bench.store.workflows())[0] as { lane: number };
    const claims = { epoch, lanes: [{ lane, max: 1 }], limit: 1, leaseMs: 1_000 };
    expect(await bench.store.claim(claims)).toMatchObject([
      { run: { runId: run.runId }, attempts: 0, crashAttempts: 0 },
    ]);
  });
});
