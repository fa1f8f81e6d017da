import { describe, expect, it } from "vitest";
import { memoryHost, never, passOf } from "./support/host.ts";
import { reconcileBundle, useTestPools, type TestPool } from "./support/pool.ts";
import { alive, until } from "./support/processes.ts";

const testPool = useTestPools();

const REPORT_PID = reconcileBundle(
  "return ctx.settled({ resourceManagerStatus: { pid: process.pid } });",
);

async function pidOf(test: TestPool, digest: string): Promise<number> {
  const outcome = await test.pool.run(passOf(digest), memoryHost(), never());
  if (outcome.kind !== "settled") throw new Error(JSON.stringify(outcome));
  return (outcome.resourceManagerStatus as { pid: number }).pid;
}

describe("the runner pool", () => {
  it("runs a pass in a process of its own and keeps that for the next pass", async () => {
    const test = testPool();
    test.bundle("a", REPORT_PID);

    const first = await pidOf(test, "a");
    const second = await pidOf(test, "a");

    expect(first).not.toBe(process.pid);
    expect(second).toBe(first);
    expect(test.pool.stats()).toEqual({ alive: 1, busy: 0 });
  });

  it("runs passes at once in as many processes, and no more than there is room for", async () => {
    const test = testPool({ concurrency: 2 });
    test.bundle(
      "a",
      reconcileBundle(`
        await ctx.workflows.ensure({ requestKey: "meet", workflow: "w", input: null });
        return ctx.settled({ resourceManagerStatus: { pid: process.pid } });`),
    );
    const arrived: (() => void)[] = [];
    const host = {
      ...memoryHost(),
      ensureWorkflow: async () => {
        await new Promise<void>((resolve) => arrived.push(resolve));
        return { requestId: "r", state: "running" as const, attempt: 1 };
      },
    };

    const passes = [1, 2, 3].map(() => test.pool.run(passOf("a"), host, never()));
    await until(() => arrived.length === 2);
    expect(test.pool.stats()).toEqual({ alive: 2, busy: 2 });
    for (const go of arrived.splice(0)) go();
    await until(() => arrived.length === 1);
    arrived[0]?.();
    const outcomes = await Promise.all(passes);

    const pids = outcomes.map(
      (outcome) => "resourceManagerStatus" in outcome && outcome.resourceManagerStatus,
    );
    expect(new Set(pids.map((pid) => JSON.stringify(pid))).size).toBe(2);
  });

  it("lets an idle runner of another digest go when room is needed", async () => {
    const test = testPool({ concurrency: 1 });
    test.bundle("a", REPORT_PID);
    test.bundle("b", REPORT_PID);

    const first = await pidOf(test, "a");
    const second = await pidOf(test, "b");

    expect(second).not.toBe(first);
    expect(alive(first)).toBe(false);
    expect(test.pool.stats()).toEqual({ alive: 1, busy: 0 });
  });

  it("replaces a runner that is too old", async () => {
    const test = testPool({ runnerRecycleMs: 0 });
    test.bundle("a", REPORT_PID);

    const first = await pidOf(test, "a");

    expect(alive(first)).toBe(false);
    expect(await pidOf(test, "a")).not.toBe(first);
  });

  it("replaces a runner that is too large", async () => {
    const test = testPool({ runnerRecycleBytes: 1 });
    test.bundle("a", REPORT_PID);

    const first = await pidOf(test, "a");

    expect(alive(first)).toBe(false);
    expect(await pidOf(test, "a")).not.toBe(first);
  });

  it("lets a runner go that has had nothing to do", async () => {
    const test = testPool({ runnerIdleMs: 50 });
    test.bundle("a", REPORT_PID);

    const pid = await pidOf(test, "a");
    await until(() => test.pool.stats().alive === 0);

    expect(alive(pid)).toBe(false);
  });

  it("replaces a runner that died while it had nothing to do, and says so in the log", async () => {
    const test = testPool();
    test.bundle("a", REPORT_PID);

    const first = await pidOf(test, "a");
    process.kill(first, "SIGKILL");
    await until(() => test.pool.stats().alive === 0);

    expect(await pidOf(test, "a")).not.toBe(first);
    expect(test.log).toContainEqual(
      expect.objectContaining({
        message: "runner ended",
        fields: expect.objectContaining({ pid: first, fault: "signal" }),
      }),
    );
  });

  it("gives definitions the server's environment, and none of it as arguments", async () => {
    process.env["PROBE_TOKEN"] = "for-the-definition";
    const test = testPool();
    test.bundle(
      "a",
      reconcileBundle(`return ctx.settled({ resourceManagerStatus: {
        token: process.env.PROBE_TOKEN, argv: [...process.argv, ...process.execArgv].join(" ") } });`),
    );

    const outcome = await test.pool.run(passOf("a"), memoryHost(), never());
    delete process.env["PROBE_TOKEN"];

    expect(outcome).toMatchObject({
      resourceManagerStatus: {
        token: "for-the-definition",
        argv: expect.not.stringContaining("for-the-definition"),
      },
    });
  });
});

describe("stopping the pool", () => {
  it("ends passes under way and idle runners, and starts no more", async () => {
    const test = testPool({ concurrency: 2 });
    test.bundle("a", REPORT_PID);
    test.bundle("hang", reconcileBundle(`ctx.log.info("in"); await new Promise(() => {});`));
    const idle = await pidOf(test, "a");
    const host = memoryHost();
    const pass = test.pool.run(passOf("hang"), host, never());
    await until(() => host.lines.length === 1);

    await test.pool.stop();

    expect(await pass).toMatchObject({ kind: "crashed", fault: "shutdown" });
    expect(alive(idle)).toBe(false);
    expect(test.pool.stats()).toEqual({ alive: 0, busy: 0 });
    expect(await test.pool.run(passOf("a"), host, never())).toMatchObject({
      kind: "crashed",
      fault: "shutdown",
    });
  });

  it("ends a pass that waits for room", async () => {
    const test = testPool({ concurrency: 1 });
    test.bundle("hang", reconcileBundle(`ctx.log.info("in"); await new Promise(() => {});`));
    const host = memoryHost();
    const passes = [1, 2].map(() => test.pool.run(passOf("hang"), host, never()));
    await until(() => host.lines.length === 1);

    await test.pool.stop();

    expect(
      (await Promise.all(passes)).map((outcome) => "fault" in outcome && outcome.fault),
    ).toEqual(["shutdown", "shutdown"]);
  });
});

describe("calling a pass off", () => {
  it("names the fault that the caller gave, and lets the pass finish its calls", async () => {
    const test = testPool({ killGraceMs: 10_000 });
    test.bundle(
      "a",
      reconcileBundle(`
        ctx.log.info("in");
        await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
        await ctx.events.emit({ type: "Normal", reason: "Aborted", message: ctx.signal.reason.message });
        return ctx.settled();`),
    );
    const host = memoryHost();
    const controller = new AbortController();
    const pass = test.pool.run(passOf("a"), host, controller.signal);
    await until(() => host.lines.length === 1);

    controller.abort("lease-lost");

    expect(await pass).toMatchObject({ kind: "crashed", fault: "lease-lost" });
    expect(host.events).toEqual([
      { type: "Normal", reason: "Aborted", message: "the pass ends: lease-lost" },
    ]);
    expect(test.pool.stats().alive).toBe(0);
  });

  it("gives up its place in the line", async () => {
    const test = testPool({ concurrency: 1 });
    test.bundle("hang", reconcileBundle(`ctx.log.info("in"); await new Promise(() => {});`));
    const host = memoryHost();
    const first = test.pool.run(passOf("hang"), host, never());
    await until(() => host.lines.length === 1);
    const controller = new AbortController();
    const second = test.pool.run(passOf("hang"), host, controller.signal);

    controller.abort("lease-lost");

    expect(await second).toMatchObject({ kind: "crashed", fault: "lease-lost" });
    expect(test.pool.stats()).toEqual({ alive: 1, busy: 1 });
    await test.pool.stop();
    await first;
  });

  it("ends a runner that is still starting", async () => {
    const test = testPool();
    test.bundle("slow", `await new Promise(() => {});`);
    const controller = new AbortController();
    const pass = test.pool.run(passOf("slow"), memoryHost(), controller.signal);

    controller.abort("shutdown");

    expect(await pass).toMatchObject({ kind: "crashed", fault: "shutdown" });
    expect(test.pool.stats().alive).toBe(0);
  });
});
