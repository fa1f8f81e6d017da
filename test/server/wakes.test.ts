import { describe, expect, it, vi } from "vitest";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import { createIn, makeBench, type Bench } from "./scheduling.ts";
import { turns } from "./virtual-clock.ts";

describe("a wake", () => {
  it("Q-2: that comes while a claim is under way is not lost with that claim's empty answer", async () => {
    let held: Promise<void> | undefined;
    const bench: Bench = await makeBench({
      wrap: (store) => ({
        ...store,
        claim: async (request) => {
          const claimed = await store.claim(request);
          await held;
          return claimed;
        },
      }),
    });
    const manager = await bench.accept("m");
    let release = (): void => undefined;
    held = new Promise((resolve) => (release = resolve));
    const target = { project: manager.project, manager: manager.name };
    bench.scheduler.wake(target);
    await turns();
    await createIn(bench.store, manager, ["a"]);
    bench.scheduler.wake(target);
    held = undefined;
    release();
    await turns();
    expect(bench.runner.keys()).toEqual(["a"]);
  });
});

describe("a notice", () => {
  it("reaches the runner of its own run only", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    const run = await bench.startRun("w");
    await bench.startRun("w");
    bench.scheduler.notify(run.runId, "orders");
    expect(bench.runner.executing.map(({ notices }) => notices)).toEqual([["orders"], []]);
  });

  it("of changed code reaches the runs of that workflow only", async () => {
    const bench = await makeBench();
    const changed = await bench.acceptWorkflow("w");
    await bench.acceptWorkflow("v");
    for (const name of ["w", "v"]) await bench.startRun(name);
    await bench.acceptWorkflow("w", { digest: `${changed.digest} changed` });
    const told = bench.runner.executing.map(({ request, notices }) => [request.workflow, notices]);
    expect(told).toEqual([
      ["w", ["pause"]],
      ["v", []],
    ]);
  });
});

describe("a claim that can't be renewed", () => {
  it.each([
    ["LEASE_LOST", "F-4: ends its pass", true],
    ["STORE_BUSY", "T-3: leaves its pass alone where the store is only busy", false],
  ] as const)("%s: %s", async (code, _, isEnded) => {
    const renew = vi.fn(() => Promise.reject(new PiWorkflowsError(code, "no")));
    const bench = await makeBench({
      wrap: (store) => ({
        ...store,
        renew,
      }),
    });
    await bench.create(await bench.accept("m"), "a");
    const { signal } = bench.runner.of("a");
    for (let second = 0; renew.mock.calls.length === 0 && second < 600; second += 1) {
      await bench.clock.advance(1_000);
    }
    expect(signal.aborted).toBe(isEnded);
    if (isEnded) expect(signal.reason).toBe("lease-lost");
  });
});

it("T-1: a claim is renewed in time where the clock was set back under its pass", async () => {
  const renew = vi.fn(() => Promise.resolve());
  const bench = await makeBench({ wrap: (store) => ({ ...store, renew }) });
  await bench.create(await bench.accept("m"), "a");
  bench.clock.jump(-60 * 60_000);
  for (let second = 0; renew.mock.calls.length === 0 && second < 90; second += 1) {
    await bench.clock.advance(1_000);
  }
  expect(renew).toHaveBeenCalled();
});

describe("the record of a pass", () => {
  it("says how long it took", async () => {
    const bench = await makeBench();
    const uids = await bench.create(await bench.accept("m"), "a");
    await bench.clock.advance(1_500);
    bench.runner.of("a").end();
    await turns();
    const passes = await bench.store.passes(uids.get("a") ?? "");
    expect(passes).toMatchObject([{ durationMs: 1_500 }]);
  });
});

describe("a scheduler is not idle", () => {
  it("while a key of any lane waits for its time", async () => {
    const bench = await makeBench();
    await bench.accept("n");
    await bench.create(await bench.accept("m"), "a");
    bench.runner.of("a").end({ kind: "requeueAfter", delayMs: 60 * 60_000 });
    await turns();
    expect(bench.scheduler.isIdle()).toBe(false);
  });

  it("P-5: while the store can't say what is ready", async () => {
    let isFull = false;
    const refuse = (): void => {
      if (isFull) throw new PiWorkflowsError("STORE_FULL", "full");
    };
    const bench = await makeBench({
      wrap: (store): ResourceManagerStore => ({
        ...store,
        claim: async (request) => {
          refuse();
          return store.claim(request);
        },
        lanes: async (only) => {
          refuse();
          return store.lanes(only);
        },
      }),
    });
    const manager = await bench.accept("m");
    isFull = true;
    await bench.create(manager, "a");
    expect(bench.scheduler.isIdle()).toBe(false);
    isFull = false;
    await bench.clock.advance(60_000);
    expect(bench.runner.keys()).toEqual(["a"]);
  });

  it("while a run waits to be tried again", async () => {
    const bench = await makeBench();
    await bench.acceptWorkflow("w");
    await bench.startRun("w");
    const gone = { kind: "crashed", fault: "exit", message: "code 1" } as const;
    bench.runner.executing.splice(0).forEach((run) => run.end(gone));
    await turns();
    expect(bench.runner.executing).toEqual([]);
    expect(bench.scheduler.isIdle()).toBe(false);
  });
});
