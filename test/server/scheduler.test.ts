import { describe, expect, it } from "vitest";
import type { ManagerRecord } from "../../src/model/batch.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { LIMITS } from "../../src/model/limits.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import { creation } from "./hosting.ts";
import { createIn, makeBench, type Bench } from "./scheduling.ts";
import { turns } from "./virtual-clock.ts";

const keysOf = (count: number, prefix = "k"): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Lets the event loop turn until `done`, without letting time pass. */
async function until(done: () => boolean, rounds = 20_000): Promise<void> {
  for (let round = 0; !done(); round += 1) {
    if (round === rounds) throw new Error("it did not happen");
    await turns(1);
  }
}

/** A resource of a manager with a schedule, looked at once at midnight, 1 January 2026, UTC. */
async function benchWithCron(expression: string): Promise<Bench> {
  const bench = await makeBench();
  const sources = [{ kind: "cron", expression, timezone: "UTC" } as const];
  await bench.create(await bench.accept("m", { sources }), "a");
  bench.runner.answer = () => ({ kind: "settled" });
  bench.runner.of("a").end();
  await turns();
  return bench;
}

/** Ends every claim for the store, as if its time had passed while nobody renewed it. */
async function expire({ clock, store }: Bench): Promise<void> {
  clock.jump(60 * 60_000);
  await store.claim({ epoch: 1, lanes: [], limit: 1, leaseMs: 1 });
}

async function claims(bench: Bench): Promise<number> {
  return (await bench.store.queue({ limit: 1_000 })).filter(({ claimed }) => claimed).length;
}

describe("waking", () => {
  it("Q-14: a commit becomes a pass at once; the only timer is the heartbeat", async () => {
    const bench = await makeBench();
    const manager = await bench.accept("m");
    expect(bench.clock.pending()).toBe(1);
    await bench.create(manager, "a");
    expect(bench.runner.keys()).toEqual(["a"]);
    bench.runner.of("a").end();
    await turns();
    expect(bench.clock.pending()).toBe(1);
    expect(bench.scheduler.isIdle()).toBe(true);
  });

  it("Q-14: the heartbeat finds what a lost wake left behind", async () => {
    const bench = await makeBench();
    const manager = await bench.accept("m");
    await createIn(bench.store, manager, ["a"]);
    await bench.clock.advance(LIMITS.heartbeatMs - 1);
    expect(bench.runner.keys()).toEqual([]);
    await bench.clock.advance(1);
    expect(bench.runner.keys()).toEqual(["a"]);
  });

  it("a requeue runs again as soon as there is room", async () => {
    const bench = await makeBench();
    await bench.create(await bench.accept("m"), "a");
    bench.runner.of("a").end({ kind: "requeue" });
    await turns();
    expect(bench.runner.begun).toEqual(["m/a", "m/a"]);
  });

  it("Q-6: a delayed requeue runs at its time, not before, and once", async () => {
    const bench = await makeBench();
    await bench.create(await bench.accept("m"), "a");
    bench.runner.of("a").end({ kind: "requeueAfter", delayMs: 5_000 });
    await bench.clock.advance(4_999);
    expect(bench.runner.begun).toHaveLength(1);
    await bench.clock.advance(1);
    expect(bench.runner.begun).toHaveLength(2);
    bench.runner.of("a").end();
    await bench.clock.advance(60_000);
    expect(bench.runner.begun).toHaveLength(2);
  });

  it("Q-6: many waiting keys of one lane each run at their own time", async () => {
    const bench = await makeBench({ caps: { total: 100, perProject: 100, runs: 100 } });
    await bench.create(await bench.accept("m", { maxConcurrent: 100 }), ...keysOf(20));
    for (const [index, pass] of [...bench.runner.running].entries()) {
      pass.end({ kind: "requeueAfter", delayMs: 1_000 * (index + 1) });
    }
    await turns();
    bench.runner.answer = () => ({ kind: "settled" });
    for (let second = 1; second <= 20; second += 1) {
      await bench.clock.advance(1_000);
      expect(bench.runner.begun).toHaveLength(20 + second);
    }
  });

  it("asks only about the lane whose waiting row came due, however many there are", async () => {
    const asked: (readonly number[] | undefined)[] = [];
    const bench = await makeBench({
      wrap: (store) => ({
        ...store,
        lanes: (only) => {
          asked.push(only);
          return store.lanes(only);
        },
      }),
    });
    const managers = [];
    for (const name of keysOf(5, "m")) managers.push(await bench.accept(name));
    const manager = managers[3] as ManagerRecord;
    await bench.create(manager, "a");
    bench.runner.of("a").end({ kind: "requeueAfter", delayMs: 1_000 });
    await turns();
    asked.length = 0;
    await bench.clock.advance(1_000);
    expect(bench.runner.keys()).toEqual(["a"]);
    expect(asked).toEqual([[manager.lane]]);
  });

  it("Q-2: an enqueue after the claim causes another pass", async () => {
    const bench = await makeBench();
    const uids = await bench.create(await bench.accept("m"), "a");
    await bench.store.enqueue([{ target: { uid: uids.get("a") as string }, cause: "request" }]);
    bench.scheduler.wake();
    await turns();
    expect(bench.runner.begun).toHaveLength(1);
    bench.runner.of("a").end();
    await turns();
    expect(bench.runner.begun).toHaveLength(2);
  });

  it("a source with an interval looks again after it, also after a restart of the rhythm", async () => {
    const bench = await makeBench();
    const manager = await bench.accept("m", { sources: [{ kind: "every", everyMs: 60_000 }] });
    await bench.create(manager, "a");
    bench.runner.answer = () => ({ kind: "settled" });
    bench.runner.of("a").end();
    await turns();
    expect(bench.scheduler.isIdle()).toBe(false);
    await bench.clock.advance(53_999);
    expect(bench.runner.begun).toHaveLength(1);
    await bench.clock.advance(6_001);
    expect(bench.runner.begun).toHaveLength(2);
    const [waiting] = await bench.store.queue({});
    expect(waiting).toMatchObject({ cause: "schedule" });
    expect(waiting?.readyAt).toBeGreaterThan(bench.clock.now() + 47_999);
    expect(waiting?.readyAt).toBeLessThanOrEqual(bench.clock.now() + 60_000);
  });

  it("a source with a cron expression looks again at its time, and says which it was", async () => {
    const bench = await benchWithCron("30 * * * *");
    await bench.clock.advance(30 * 60_000 - 1);
    expect(bench.runner.begun).toHaveLength(1);
    await bench.clock.advance(1);
    expect(bench.runner.begun).toHaveLength(2);
    const [waiting] = await bench.store.queue({});
    expect(waiting).toMatchObject({
      cause: "cron:30 * * * *",
      readyAt: Date.UTC(2026, 0, 1, 1, 30),
    });
  });

  it("T-2: times missed while the machine slept are made up for by one look", async () => {
    const bench = await benchWithCron("*/10 * * * *");
    bench.clock.jump(5 * 3_600_000 + 60_000);
    await bench.clock.advance(10_000);
    expect(bench.runner.begun).toHaveLength(2);
    await bench.clock.advance(5 * 60_000);
    expect(bench.runner.begun).toHaveLength(2);
    const [waiting] = await bench.store.queue({});
    expect(waiting?.readyAt).toBe(Date.UTC(2026, 0, 1, 5, 10));
  });

  it("a clock that is set back delays no look for longer than its time", async () => {
    const bench = await benchWithCron("*/10 * * * *");
    bench.clock.jump(-5 * 3_600_000);
    await bench.clock.advance(10 * 60_000 + 10_000);
    expect(bench.runner.begun).toHaveLength(2);
  });
});

describe("room", () => {
  it("runs no more passes of a manager than it allows", async () => {
    const bench = await makeBench();
    const manager = await bench.accept("m", { maxConcurrent: 3 });
    await bench.create(manager, ...keysOf(20));
    expect(bench.runner.running).toHaveLength(3);
    while (bench.runner.running.length > 0) {
      bench.runner.running[0]?.end();
      await turns();
    }
    expect(bench.runner.begun).toHaveLength(20);
    expect(bench.runner.peak.get("m")).toBe(3);
  });

  it("runs no more passes than the server and the project allow", async () => {
    const bench = await makeBench({ caps: { total: 5, perProject: 3, runs: 5 } });
    const here = await bench.accept("m", { maxConcurrent: 100 }, "/p");
    const there = await bench.accept("n", { maxConcurrent: 100 }, "/q");
    await bench.create(here, ...keysOf(10));
    expect(bench.runner.running).toHaveLength(3);
    await bench.create(there, ...keysOf(10));
    expect(bench.runner.running).toHaveLength(5);
    bench.runner.answer = () => ({ kind: "settled" });
    bench.runner.endAll();
    await until(() => bench.runner.begun.length === 20);
    expect(bench.runner.peak.get("")).toBe(5);
  });

  it("Q-10: a manager with 10,000 ready keys delays another's single key by at most one pass", async () => {
    const bench = await makeBench({ caps: { total: 2, perProject: 2, runs: 2 } });
    const crowd = await bench.accept("crowd", { maxConcurrent: 2 });
    const single = await bench.accept("single");
    await bench.create(crowd, ...keysOf(10_000));
    expect(bench.runner.running.map(({ manager }) => manager)).toEqual(["crowd", "crowd"]);
    await bench.create(single, "one");
    bench.runner.running[0]?.end();
    await turns();
    expect(bench.runner.begun.slice(2)).toEqual(["single/one"]);
  });

  it("Q-10: nor when the crowd's passes are so quick that keys are claimed ahead", async () => {
    const bench = await makeBench({ caps: { total: 2, perProject: 2, runs: 2 } });
    const crowd = await bench.accept("crowd", { maxConcurrent: 2 });
    const single = await bench.accept("single");
    await bench.create(crowd, ...keysOf(1_000));
    for (let pass = 0; pass < 10; pass += 1) {
      bench.runner.running[0]?.end();
      await turns();
    }
    expect(bench.runner.running).toHaveLength(2);
    expect(await claims(bench)).toBe(4);
    await bench.create(single, "one");
    const before = bench.runner.begun.length;
    bench.runner.running[0]?.end();
    await turns();
    expect(bench.runner.begun.slice(before)).toEqual(["single/one"]);
  });

  it("G-5: a key claimed ahead whose spec changed before it began runs with the new one only", async () => {
    const bench = await makeBench({ caps: { total: 1, perProject: 1, runs: 1 } });
    const manager = await bench.accept("m", { maxConcurrent: 1 });
    await bench.create(manager, ...keysOf(4));
    bench.runner.of("k0").end();
    await turns();
    bench.runner.of("k1").end();
    await turns();
    expect(await claims(bench)).toBe(2);
    const { resources } = await bench.store.snapshot("/p");
    const last = resources.find(({ key }) => key === "k3");
    const change = creation("k3", { size: 2 }, "m");
    const expected = last?.resourceVersion as number;
    const write = (change as Extract<typeof change, { kind: "create" }>).write;
    await bench.store.applyBatch({
      project: "/p",
      changes: [{ kind: "update", manager: "m", key: "k3", write, expected }],
    });
    await bench.clock.advance(1_000);
    bench.runner.of("k2").end();
    await turns();
    expect(bench.runner.begun.filter((name) => name === "m/k3")).toHaveLength(1);
    expect(bench.runner.of("k3").request.resource).toMatchObject({
      metadata: { generation: 2 },
      spec: { size: 2 },
    });
    bench.runner.of("k3").end();
    await turns();
    expect(await bench.store.queue({})).toEqual([]);
    const ref = { project: "/p", resourceManager: "m", key: "k3" };
    const stored = await bench.store.get(ref);
    expect(stored?.resource.status.observedGeneration).toBe(2);
  });

  it("Q-9: every ready key is claimed although others of its lane never stop asking", async () => {
    const bench = await makeBench({ caps: { total: 1, perProject: 1, runs: 1 } });
    const manager = await bench.accept("m", { maxConcurrent: 1 });
    const greedy = ["g0", "g1", "g2"];
    await bench.create(manager, ...greedy, "patient");
    const uids = new Map((await bench.store.snapshot("/p")).resources.map((r) => [r.key, r.uid]));
    // Spec changes and requests are of a better class than what a pass asks for itself.
    for (let round = 0; !bench.runner.keys().includes("patient"); round += 1) {
      expect(round).toBeLessThan(50);
      const pass = bench.runner.running[0];
      await bench.store.enqueue(
        greedy.map((key) => ({ target: { uid: uids.get(key) as string }, cause: "request" })),
      );
      pass?.end();
      await bench.clock.advance(100);
    }
  });

  it("settles 10,000 keys, each once", async () => {
    const bench = await makeBench();
    const manager = await bench.accept("m", { maxConcurrent: 8 });
    bench.runner.answer = () => ({ kind: "settled" });
    await bench.create(manager, ...keysOf(10_000));
    await until(() => bench.scheduler.isIdle(), 200_000);
    expect(bench.runner.begun).toHaveLength(10_000);
    expect(new Set(bench.runner.begun).size).toBe(10_000);
    expect(await bench.store.queue({ limit: 1 })).toEqual([]);
  });
});

describe("a store that refuses", () => {
  const full = () => new PiWorkflowsError("STORE_FULL", "no space left");

  /** A store whose claims and settles fail while `broken` says so. */
  function breaking(broken: { claim: boolean; settle: boolean }) {
    return (store: ResourceManagerStore): ResourceManagerStore =>
      new Proxy(store, {
        get(target, name, receiver) {
          if ((name === "claim" || name === "settle") && broken[name]) {
            return () => Promise.reject(full());
          }
          const member: unknown = Reflect.get(target, name, receiver);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
  }

  it("P-5: a full disk pauses claiming, is logged once, and passes by itself", async () => {
    const broken = { claim: true, settle: false };
    const bench = await makeBench({ wrap: breaking(broken) });
    await bench.create(await bench.accept("m"), "a");
    await bench.clock.advance(120_000);
    expect(bench.runner.begun).toEqual([]);
    expect(bench.log.filter(({ level }) => level === "error")).toHaveLength(1);
    broken.claim = false;
    await bench.clock.advance(30_000);
    expect(bench.runner.keys()).toEqual(["a"]);
    expect(bench.log.at(-1)?.message).toBe("The store takes writes again");
  });

  it("P-5: what a pass came to is kept until it can be written", async () => {
    const broken = { claim: false, settle: false };
    const bench = await makeBench({ wrap: breaking(broken) });
    const uids = await bench.create(await bench.accept("m"), "a", "b");
    broken.settle = true;
    bench.runner.of("a").end({ kind: "settled", resourceManagerStatus: { done: true } });
    await bench.clock.advance(3_000);
    broken.settle = false;
    await bench.clock.advance(30_000);
    const stored = await bench.store.get({ project: "/p", resourceManager: "m", key: "a" });
    expect(stored?.resource.status.resourceManagerStatus).toEqual({ done: true });
    expect(bench.runner.begun).toEqual(["m/a", "m/b"]);
    expect(uids.size).toBe(2);
  });

  it("a result that the store refuses becomes a failure that says so", async () => {
    const bench = await makeBench();
    const uids = await bench.create(await bench.accept("m"), "a");
    const status = { text: "x".repeat(LIMITS.status) };
    bench.runner.of("a").end({ kind: "settled", resourceManagerStatus: status });
    await turns();
    const [pass] = await bench.store.passes(uids.get("a") as string);
    expect(pass).toMatchObject({ outcome: "failed" });
    expect(await claims(bench)).toBe(0);
  });
});

describe("claims", () => {
  it("F-3: a pass that outlives its claim's time keeps it, because it is renewed", async () => {
    const bench = await makeBench();
    await bench.create(await bench.accept("m", { deadlineMs: 1_000 }), "a");
    await bench.clock.advance(10 * 60_000);
    expect(bench.runner.begun).toHaveLength(1);
    expect(await claims(bench)).toBe(1);
    bench.runner.of("a").end();
    await turns();
    expect(await claims(bench)).toBe(0);
  });

  it("T-2, T-3: no key runs twice at once when the clock jumps past its claim", async () => {
    const bench = await makeBench();
    await bench.create(await bench.accept("m", { deadlineMs: 1_000 }), "a");
    bench.clock.jump(60 * 60_000);
    bench.scheduler.wake();
    await turns();
    await bench.clock.advance(LIMITS.heartbeatMs);
    expect(bench.runner.running).toHaveLength(1);
    expect(bench.runner.begun).toHaveLength(1);
  });

  it("Q-7: a resource made anew under its name waits for the pass of the old one to end", async () => {
    const bench = await makeBench();
    const manager = await bench.accept("m");
    await bench.create(manager, "a");
    const first = bench.runner.of("a");
    const ref = { project: manager.project, resourceManager: "m", key: "a" };
    const origin = { owner: { kind: "person" as const, name: "ada" } };
    expect((await bench.store.delete({ ref, origin })).removed).toBe(true);
    await bench.create(manager, "a");
    await turns();
    expect(bench.runner.running).toEqual([first]);
    expect(first.signal.reason).toBe("lease-lost");
    first.end({ kind: "crashed", fault: "lease-lost", message: "called off" });
    await turns();
    expect(bench.runner.begun).toEqual(["m/a", "m/a"]);
    expect(bench.runner.running).toHaveLength(1);
  });

  const noRenewal = (store: ResourceManagerStore): ResourceManagerStore => ({
    ...store,
    renew: () => Promise.reject(new PiWorkflowsError("STORE_BUSY", "not now")),
  });

  it("F-5: a key whose claim ran out under its pass waits for that pass to end", async () => {
    const bench = await makeBench({ wrap: noRenewal });
    await bench.create(await bench.accept("m"), "a");
    const first = bench.runner.of("a");
    await expire(bench);
    bench.scheduler.wake();
    await turns();
    expect(await claims(bench)).toBe(1);
    expect(bench.runner.running).toEqual([first]);
    expect(first.signal.reason).toBe("lease-lost");
    first.end({ kind: "crashed", fault: "lease-lost", message: "called off" });
    await turns();
    expect(bench.runner.begun).toEqual(["m/a", "m/a"]);
    expect(bench.runner.running).toHaveLength(1);
  });

  it("F-5: claims of a key that ran out while they waited for its pass to end don't run beside each other", async () => {
    const bench = await makeBench({ wrap: noRenewal });
    await bench.create(await bench.accept("m"), "a");
    const first = bench.runner.of("a");
    for (let times = 0; times < 3; times += 1) {
      await expire(bench);
      bench.scheduler.wake();
      await turns();
    }
    first.end({ kind: "crashed", fault: "lease-lost", message: "called off" });
    await turns();
    const ends: unknown[] = [];
    for (let [pass] = bench.runner.running; pass; [pass] = bench.runner.running) {
      expect(bench.runner.running).toEqual([pass]);
      ends.push(pass.signal.reason);
      pass.end();
      await turns();
    }
    expect(ends.at(-1)).toBeUndefined();
    expect(bench.log.filter(({ message }) => message === "Reconciled")).toHaveLength(1);
    expect(await claims(bench)).toBe(0);
    await bench.clock.advance(10 * 60_000);
    expect(bench.runner.running).toEqual([]);
  });

  it("T-1: a clock set back delays a waiting key by no more than the heartbeat", async () => {
    const bench = await makeBench();
    await bench.create(await bench.accept("m"), "a");
    bench.runner.of("a").end({ kind: "requeueAfter", delayMs: 5_000 });
    await turns();
    bench.clock.jump(-60 * 60_000);
    await bench.clock.advance(5_000 + LIMITS.heartbeatMs);
    expect(bench.runner.begun).toEqual(["m/a", "m/a"]);
  });

  it("T-4: a jump of the wall clock neither ends a pass nor changes how long it took", async () => {
    const bench = await makeBench();
    await bench.create(await bench.accept("m"), "a");
    const pass = bench.runner.of("a");
    await bench.clock.advance(40);
    bench.clock.jump(60 * 60_000);
    await bench.clock.advance(60);
    bench.clock.jump(-2 * 60 * 60_000);
    expect(pass.signal.aborted).toBe(false);
    pass.end();
    await turns();
    const record = bench.log.find(({ message }) => message === "Reconciled");
    expect(record?.fields).toMatchObject({ outcome: "settled", durationMs: 100 });
  });

  it("F-4: a pass whose claim is lost is told to stop, and writes nothing more", async () => {
    const bench = await makeBench();
    const uids = await bench.create(await bench.accept("m"), "a");
    const pass = bench.runner.of("a");
    await expire(bench);
    const effect = { key: "e", kind: "k", request: {}, provenAbsent: false };
    await expect(pass.host.beginEffect(effect)).rejects.toMatchObject({ code: "LEASE_LOST" });
    expect(pass.signal.aborted).toBe(true);
    expect(pass.signal.reason).toBe("lease-lost");
    const event = { type: "Normal", reason: "Late", message: "late" } as const;
    await expect(pass.host.emitEvent(event)).rejects.toMatchObject({ code: "LEASE_LOST" });
    pass.end({ kind: "settled", resourceManagerStatus: { late: true } });
    await turns();
    const stored = await bench.store.get({ project: "/p", resourceManager: "m", key: "a" });
    expect(stored?.resource.status.resourceManagerStatus).toEqual({});
    expect(bench.log.filter(({ level }) => level === "error")).toEqual([]);
    expect(uids.size).toBe(1);
  });

  it("P-3: nothing is claimed once draining has begun, and every claim is settled at its end", async () => {
    const bench = await makeBench();
    const manager = await bench.accept("m", { maxConcurrent: 2 });
    await bench.create(manager, ...keysOf(10));
    let drained = false;
    void bench.scheduler.drain().then(() => (drained = true));
    bench.scheduler.wake();
    await bench.clock.advance(60_000);
    expect(bench.runner.begun).toHaveLength(2);
    expect(drained).toBe(false);
    bench.scheduler.abort("shutdown");
    expect(bench.runner.of("k0").signal.reason).toBe("shutdown");
    await bench.runner.stop();
    await turns();
    expect(drained).toBe(true);
    expect(bench.runner.begun).toHaveLength(2);
    expect(await claims(bench)).toBe(0);
  });
});

it("writes one record per pass: what ran, how it ended, why it was woken, when it runs next", async () => {
  const bench = await makeBench();
  await bench.create(await bench.accept("m"), "a");
  bench.runner.of("a").end({ kind: "requeueAfter", delayMs: 30_000 });
  await turns();
  const record = bench.log.find(({ message }) => message === "Reconciled");
  expect(record?.fields).toMatchObject({
    resourceManager: "m",
    key: "a",
    generation: 1,
    reconcileId: expect.any(String),
    outcome: "requeueAfter",
    durationMs: expect.any(Number),
    requeueAfterMs: 30_000,
    cause: "spec",
  });
});
