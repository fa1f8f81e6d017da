import { afterEach, describe, expect, it } from "vitest";
import type { ResourceManager } from "../../src/resource-managers/define.ts";
import { createInProcessRunner } from "../../src/runner/in-process.ts";
import type { RunnerPort } from "../../src/runner/port.ts";
import { memoryHost, never, passOf } from "./support/host.ts";
import { probe, type Reconcile } from "./support/manager.ts";
import { clock } from "./support/pool.ts";
import { until } from "./support/processes.ts";

const runners: RunnerPort[] = [];
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.stop();
});

function runnerOf(managers: ResourceManager[], graceMs = 50): RunnerPort {
  const runner = createInProcessRunner(managers, clock, graceMs);
  runners.push(runner);
  return runner;
}

const withProbe = (reconcile: Reconcile, graceMs?: number) => runnerOf([probe(reconcile)], graceMs);

/** A promise, and what settles it. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

describe("the in-process runner", () => {
  it("runs a pass of a manager handed over as an object", async () => {
    const host = memoryHost();
    const runner = withProbe(async (ctx) => {
      await ctx.effects.ensure({
        key: "k",
        kind: "t",
        request: 1,
        observe: async () => ({ state: "absent" }),
        apply: async () => ({ externalRef: "r" }),
      });
      return ctx.settled({ resourceManagerStatus: { phase: "done" } });
    });

    const outcome = await runner.run(passOf("hosted"), host, never());

    expect(outcome).toEqual({ kind: "settled", resourceManagerStatus: { phase: "done" } });
    expect(host.effects.get("k")?.state).toBe("applied");
    expect(runner.stats()).toEqual({ alive: 0, busy: 0 });
  });

  it("says so where no such manager was handed over", async () => {
    expect(await runnerOf([]).run(passOf("hosted"), memoryHost(), never())).toMatchObject({
      kind: "crashed",
      fault: "load-failed",
      message: expect.stringContaining("probe"),
    });
  });

  it("maps what is thrown as a runner process does", async () => {
    const runner = withProbe(() => {
      throw new Error("boom");
    });

    expect(await runner.run(passOf("hosted"), memoryHost(), never())).toMatchObject({
      kind: "failed",
      message: "boom",
    });
  });

  it.each([
    ["its deadline", "deadline", 20, () => {}],
    [
      "being called off",
      "shutdown",
      60_000,
      (controller: AbortController) => controller.abort("shutdown"),
    ],
    ["losing its claim", "lease-lost", 60_000, (controller: AbortController) => controller.abort()],
  ] as const)(
    "ends a pass at %s, once its function has ended",
    async (_what, fault, deadlineMs, act) => {
      let ended = false;
      const started = gate();
      const runner = withProbe(async (ctx) => {
        started.open();
        await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
        await new Promise((resolve) => setImmediate(resolve));
        ended = true;
        return ctx.settled();
      }, 10_000);
      const controller = new AbortController();
      const pass = runner.run(passOf("hosted", { deadlineMs }), memoryHost(), controller.signal);
      await started.opened;
      act(controller);

      expect(await pass).toMatchObject({ kind: "crashed", fault });
      expect(ended).toBe(true);
    },
  );

  it("F-5: gives up a pass that ignores its signal, and refuses all that it still asks for", async () => {
    const host = memoryHost();
    const { opened, open } = gate();
    const late: unknown[] = [];
    const runner = withProbe(async (ctx) => {
      await opened;
      late.push(await ctx.finalizers.add("late").catch((error: { code: string }) => error.code));
      return ctx.settled();
    });

    const outcome = await runner.run(passOf("hosted", { deadlineMs: 20 }), host, never());
    open();
    await until(() => late.length === 1);

    expect(outcome).toMatchObject({ kind: "crashed", fault: "deadline" });
    expect(late).toEqual(["LEASE_LOST"]);
    expect(host.finalizers.size).toBe(0);
  });

  it("E-10: still reports the provider's late answer of such a pass", async () => {
    const host = memoryHost();
    const { opened, open } = gate();
    const runner = withProbe(async (ctx) => {
      await ctx.effects.ensure({
        key: "k",
        kind: "t",
        request: 1,
        observe: async () => ({ state: "absent" }),
        apply: async () => {
          await opened;
          return { externalRef: "late" };
        },
      });
      return ctx.settled();
    });

    await runner.run(passOf("hosted", { deadlineMs: 20 }), host, never());
    expect(host.effects.get("k")?.state).toBe("pending");
    open();
    await until(() => host.effects.get("k")?.state === "applied");
  });

  it("F-5: never runs two passes of one resource at once, whatever the first one does", async () => {
    const { opened, open } = gate();
    let inside = 0;
    let most = 0;
    const runner = withProbe(async (ctx) => {
      inside += 1;
      most = Math.max(most, inside);
      await opened;
      inside -= 1;
      return ctx.settled();
    });
    const pass = (deadlineMs: number) =>
      runner.run(passOf("hosted", { deadlineMs }), memoryHost(), never());

    expect(await pass(20)).toMatchObject({ fault: "deadline" });
    expect(await pass(20)).toMatchObject({
      fault: "deadline",
      message: expect.stringContaining("earlier pass"),
    });
    const third = pass(10_000);
    open();

    expect((await third).kind).toBe("settled");
    expect(most).toBe(1);
  });

  it("ends passes under way when it stops, and starts no more", async () => {
    const started = gate();
    const runner = withProbe(async (ctx) => {
      started.open();
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      return ctx.settled();
    });
    const pass = runner.run(passOf("hosted"), memoryHost(), never());
    await started.opened;

    await runner.stop();

    expect(await pass).toMatchObject({ kind: "crashed", fault: "shutdown" });
    expect(await runner.run(passOf("hosted"), memoryHost(), never())).toMatchObject({
      kind: "crashed",
      fault: "shutdown",
    });
  });
});
