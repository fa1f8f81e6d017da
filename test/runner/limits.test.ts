import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { createInProcessRunner } from "../../src/runner/in-process.ts";
import type { RunnerPort } from "../../src/runner/port.ts";
import { webhook } from "../../src/resource-managers/sources.ts";
import { turns, VirtualClock } from "../server/virtual-clock.ts";
import { memoryHost, never, passOf } from "./support/host.ts";
import { probe } from "./support/manager.ts";
import { reconcileBundle, useTestPools } from "./support/pool.ts";
import { alive, until } from "./support/processes.ts";

const testPool = useTestPools();
const SLOW = { manager: { name: "probe", digest: "a", deadlineMs: LIMITS.maxDeadlineMs } };
const REPORT_PID = reconcileBundle(
  "return ctx.settled({ resourceManagerStatus: { pid: process.pid } });",
);

/** The status that a pass returned. */
async function statusOf<T>(pool: RunnerPort): Promise<T> {
  const outcome = await pool.run({ ...passOf("a"), ...SLOW }, memoryHost(), never());
  if (outcome.kind !== "settled") throw new Error(JSON.stringify(outcome));
  return outcome.resourceManagerStatus as T;
}

/** Whether a promise has settled, as far as can be told without waiting. */
async function isDone(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  void promise.then(() => (done = true));
  await turns();
  return done;
}

describe("a runner is let go at its limit and not before", () => {
  it("LIMITS.readyMs: one that does not get ready", async () => {
    const clock = new VirtualClock();
    const test = testPool({}, clock);
    const { pool } = test;
    test.bundle("a", "await new Promise(() => setInterval(() => {}, 1_000));");
    const pass = pool.run({ ...passOf("a"), ...SLOW }, memoryHost(), never());
    await clock.advance(LIMITS.readyMs - 1);
    expect(pool.stats().alive).toBe(1);
    expect(await isDone(pass)).toBe(false);
    await clock.advance(1);
    expect(await pass).toMatchObject({ kind: "crashed", fault: "never-ready" });
    expect(pool.stats().alive).toBe(0);
  });

  it("LIMITS.killGraceMs: between asking, SIGTERM and SIGKILL", async () => {
    const clock = new VirtualClock();
    const test = testPool({ killGraceMs: LIMITS.killGraceMs }, clock);
    const { pool } = test;
    test.bundle(
      "a",
      reconcileBundle(`
        process.on("SIGTERM", () => ctx.log.info("SIGTERM"));
        ctx.signal.addEventListener("abort", () => ctx.log.info("asked"));
        ctx.log.info(String(process.pid));
        await new Promise(() => setInterval(() => {}, 1_000));`),
    );
    const host = memoryHost();
    const said = () => host.lines.map(({ message }) => message).slice(1);
    const controller = new AbortController();
    const pass = pool.run({ ...passOf("a"), ...SLOW }, host, controller.signal);
    await until(() => host.lines.length === 1);
    const pid = Number(host.lines[0]?.message);
    controller.abort("shutdown");
    await until(() => said().length === 1);
    await clock.advance(LIMITS.killGraceMs - 1);
    expect(clock.untilNext()).toBe(1);
    expect(said()).toEqual(["asked"]);
    await clock.advance(1);
    await until(() => said().length === 2);
    expect(said()).toEqual(["asked", "SIGTERM"]);
    await clock.advance(LIMITS.killGraceMs - 1);
    expect(clock.untilNext()).toBe(1);
    expect(alive(pid)).toBe(true);
    await clock.advance(1);
    expect(await pass).toMatchObject({ kind: "crashed", fault: "shutdown" });
    expect(alive(pid)).toBe(false);
  });

  it("LIMITS.killGraceMs: a pass in this process, which can't be killed, is given up", async () => {
    const clock = new VirtualClock();
    const runner = createInProcessRunner([probe(() => new Promise(() => {}))], clock);
    const controller = new AbortController();
    const pass = runner.run({ ...passOf("hosted"), ...SLOW }, memoryHost(), controller.signal);
    await turns();
    controller.abort("lease-lost");
    await clock.advance(LIMITS.killGraceMs - 1);
    expect(await isDone(pass)).toBe(false);
    await clock.advance(1);
    expect(await pass).toMatchObject({ kind: "crashed", fault: "lease-lost" });
  });

  it("LIMITS.runnerIdleMs: one that has nothing to do", async () => {
    const clock = new VirtualClock();
    const test = testPool({}, clock);
    const { pool } = test;
    test.bundle("a", REPORT_PID);
    const { pid } = await statusOf<{ pid: number }>(pool);
    await clock.advance(LIMITS.runnerIdleMs - 1);
    expect(alive(pid)).toBe(true);
    await clock.advance(1);
    await until(() => pool.stats().alive === 0);
    expect(alive(pid)).toBe(false);
  });

  it("LIMITS.runnerRecycleMs: one that is old, after its pass", async () => {
    const clock = new VirtualClock();
    const test = testPool({ runnerIdleMs: 2 * LIMITS.runnerRecycleMs }, clock);
    const { pool } = test;
    test.bundle("a", REPORT_PID);
    const { pid } = await statusOf<{ pid: number }>(pool);
    await clock.advance(LIMITS.runnerRecycleMs - 1);
    expect((await statusOf<{ pid: number }>(pool)).pid).toBe(pid);
    expect(pool.stats().alive).toBe(1);
    await clock.advance(1);
    expect((await statusOf<{ pid: number }>(pool)).pid).toBe(pid);
    expect(pool.stats().alive).toBe(0);
  });

  it.each([
    [LIMITS.runnerRecycleBytes - 1, 1],
    [LIMITS.runnerRecycleBytes, 0],
  ])("LIMITS.runnerRecycleBytes: one of %d bytes", async (bytes, left) => {
    const test = testPool({}, new VirtualClock());
    const { pool } = test;
    test.bundle("a", `process.memoryUsage.rss = () => ${bytes};\n${REPORT_PID}`);
    await statusOf(pool);
    expect(pool.stats().alive).toBe(left);
  });

  it("LIMITS.runnerHeapMiB: the child is started with that heap", async () => {
    const test = testPool({}, new VirtualClock());
    const { pool } = test;
    test.bundle(
      "a",
      reconcileBundle("return ctx.settled({ resourceManagerStatus: { argv: process.execArgv } });"),
    );
    const { argv } = await statusOf<{ argv: string[] }>(pool);
    const flags = argv.filter((flag) => flag.startsWith("--max-old-space-size"));
    expect(flags).toEqual([`--max-old-space-size=${LIMITS.runnerHeapMiB}`]);
  });
});

describe("runners at once", () => {
  it.each([
    ["LIMITS.concurrency, where nothing else is said", LIMITS.concurrency, {}],
    [
      "LIMITS.mapConcurrency, in a pool of that size",
      LIMITS.mapConcurrency,
      { concurrency: LIMITS.mapConcurrency },
    ],
  ])("are at most %s", async (_what, most, limits) => {
    const test = testPool(limits);
    const { pool } = test;
    test.bundle("a", reconcileBundle('ctx.log.info("in"); await new Promise(() => {});'));
    const host = memoryHost();
    const passes = Array.from({ length: most + 1 }, () =>
      pool.run({ ...passOf("a"), ...SLOW }, host, never()),
    );
    await until(() => host.lines.length === most);
    await turns();
    expect(pool.stats()).toEqual({ alive: most, busy: most });
    expect(host.lines).toHaveLength(most);
    await pool.stop();
    await Promise.all(passes);
  });
});

it("LIMITS.mapMs: a map that does not end is given up", async () => {
  const clock = new VirtualClock();
  const sources = [webhook("w", () => new Promise(() => {}))];
  const runner = createInProcessRunner([probe((ctx) => ctx.settled(), { sources })], clock);
  const request = {
    project: "/p",
    manager: { name: "probe", digest: "a" },
    source: 0,
    input: { kind: "webhook" as const, headers: {}, body: "" },
    deadlineMs: LIMITS.mapMs,
  };
  const map = runner.map(request, memoryHost(), never());
  await clock.advance(LIMITS.mapMs - 1);
  expect(await isDone(map)).toBe(false);
  await clock.advance(1);
  expect(await map).toMatchObject({ kind: "crashed", fault: "deadline" });
});
