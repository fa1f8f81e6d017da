import { expect, it } from "vitest";
import { LIMITS } from "../../../src/model/limits.ts";
import type { PassOutcome } from "../../../src/model/pass.ts";
import { CLASS_DELAY_MS } from "../../../src/model/queue.ts";
import type { Claimed } from "../../../src/store/store.ts";
import {
  CRASHED,
  FAILED,
  keysOf,
  ORIGIN,
  PROJECT,
  SETTLED,
  type Start,
  TERMINAL,
} from "../support.ts";

export function queueSuite(start: Start): void {
  it("Q-1: a key that is marked many times has one queue row", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const target = driver.ref("a");
    await driver.store.enqueue([
      { target, cause: "request" },
      { target, cause: "child" },
    ]);
    expect(await driver.store.queue({ project: PROJECT })).toHaveLength(1);
  });

  it("Q-2: an enqueue after the claim causes another pass", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    await driver.store.enqueue([{ target: { uid: claimed.claim.uid }, cause: "source" }]);
    expect(await driver.queued("a")).toMatchObject({ claimed: true, dirty: true });
    await driver.settle(claimed, SETTLED);
    expect((await driver.claimOne()).cause).toBe("source");
  });

  it("Q-2: so does one after the claim of a key that was given up and that a person asked for", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass(TERMINAL);
    const target = driver.ref("a");
    await driver.store.enqueue([{ target, cause: "request" }]);
    const claimed = await driver.claimOne();
    expect(await driver.store.enqueue([{ target, cause: "source" }])).toBe(1);
    await driver.settle(claimed, TERMINAL);
    expect((await driver.claimOne()).cause).toBe("source");
  });

  it.each<[string, PassOutcome]>([
    ["success", SETTLED],
    ["a delay", { kind: "requeueAfter", delayMs: 600_000 }],
    ["a failure", FAILED],
    ["a terminal error", TERMINAL],
    ["a crash", CRASHED],
    ["a parked effect", { kind: "parked", effectKey: "e", message: "unknown" }],
  ])("Q-3: a key that became dirty is ready at once after %s", async (_, outcome) => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    await driver.store.enqueue([{ target: driver.ref("a"), cause: "child" }]);
    const receipt = await driver.settle(claimed, outcome);
    expect(receipt.readyAt).toBeLessThanOrEqual(driver.clock.now());
    expect(keysOf(await driver.claim())).toEqual(["a"]);
  });

  it("Q-4: many enqueues during one pass cause exactly one more", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    for (let count = 0; count < 5; count += 1) {
      await driver.store.enqueue([{ target: driver.ref("a"), cause: "source" }]);
    }
    await driver.settle(claimed, SETTLED);
    await driver.pass(SETTLED);
    expect(await driver.claim()).toEqual([]);
  });

  it("Q-5: waiting merges by the earlier time, and a ready key is never put off", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass(SETTLED);
    const target = driver.ref("a");
    const now = driver.clock.now();
    await driver.store.enqueue([{ target, cause: "schedule", delayMs: 5_000 }]);
    await driver.store.enqueue([{ target, cause: "schedule", delayMs: 9_000 }]);
    expect((await driver.queued("a"))?.readyAt).toBe(now + 5_000);
    await driver.store.enqueue([{ target, cause: "request" }]);
    await driver.store.enqueue([{ target, cause: "schedule", delayMs: 9_000 }]);
    expect((await driver.queued("a"))?.readyAt).toBe(now);
  });

  it("Q-5: what a pass asks for merges with what was asked for meanwhile by the earlier time", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const meanwhile = async (delayMs: number, outcome: PassOutcome) => {
      const claimed = await driver.claimOne();
      await driver.store.enqueue([{ target: driver.ref("a"), cause: "schedule", delayMs }]);
      await driver.settle(claimed, outcome);
      const readyAt = (await driver.queued("a"))?.readyAt ?? 0;
      const waited = readyAt - driver.clock.now();
      driver.clock.advance(waited);
      return waited;
    };
    expect(await meanwhile(600_000, { kind: "requeueAfter", delayMs: 1_000 })).toBe(1_000);
    expect(await meanwhile(1_000, { kind: "requeueAfter", delayMs: 600_000 })).toBe(1_000);
    expect(await meanwhile(600_000, FAILED)).toBeLessThan(600_000);
    expect(await meanwhile(600_000, SETTLED)).toBe(600_000);
  });

  it("Q-6: a pass before the time that was asked for takes its place", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass({ kind: "requeueAfter", delayMs: 10_000 });
    await driver.store.enqueue([{ target: driver.ref("a"), cause: "source" }]);
    await driver.pass(SETTLED);
    driver.clock.advance(60_000);
    expect(await driver.claim()).toEqual([]);
  });

  it("Q-7: one key runs once under one manager, but under two managers at the same time", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.put("a", 1, { manager: "n" });
    expect(keysOf(await driver.claim(5))).toEqual(["a", "a"]);
    await driver.store.enqueue([{ target: driver.ref("a"), cause: "request" }]);
    expect(await driver.claim(5)).toEqual([]);
  });

  it("Q-8: a claimed key is not handed out until its claim has run out", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.claimOne();
    driver.clock.advance(89_999);
    expect(await driver.claim()).toEqual([]);
    driver.clock.advance(1);
    expect(keysOf(await driver.claim())).toEqual(["a"]);
  });

  it("Q-9: a rebuild of the queue goes behind fresh changes, but not for ever", async () => {
    const driver = await start();
    await driver.put("old", 1);
    await driver.pass(SETTLED);
    await driver.store.repair();
    driver.clock.advance(29_999);
    await driver.put("new", 1);
    expect((await driver.claimOne()).resource.metadata.key).toBe("new");
    driver.clock.advance(2);
    await driver.put("newer", 1);
    expect((await driver.claimOne()).resource.metadata.key).toBe("old");
  });

  it("Q-10: a lane with many ready keys leaves the others their places", async () => {
    const driver = await start();
    for (const key of ["a", "b", "c", "d"]) await driver.put(key, 1);
    await driver.put("x", 1, { manager: "n" });
    const lanes = [
      { lane: driver.lane("m"), max: 2 },
      { lane: driver.lane("n"), max: 2 },
    ];
    const claimed = await driver.store.claim({ ...driver.claimRequest(), lanes, limit: 3 });
    expect(keysOf(claimed)).toEqual(["a", "b", "x"]);
  });

  it("Q-11: keys of one class are handed out in the order in which they became ready", async () => {
    const driver = await start();
    for (const key of ["c", "a", "b"]) {
      await driver.put(key, 1);
      driver.clock.advance(1);
    }
    expect(keysOf(await driver.claim(3))).toEqual(["c", "a", "b"]);
  });

  it("Q-11: what is ready first goes first, also where it was marked later", async () => {
    const driver = await start();
    for (const key of ["a", "b"]) await driver.put(key, 1);
    for (const claimed of await driver.claim(2)) await driver.settle(claimed, SETTLED);
    const cause = "source";
    await driver.store.enqueue([{ target: driver.ref("a"), cause, delayMs: 2_000 }]);
    await driver.store.enqueue([{ target: driver.ref("b"), cause, delayMs: 1_000 }]);
    driver.clock.advance(2_000);
    expect((await driver.claimOne()).resource.metadata.key).toBe("b");
  });

  it("Q-12: within one millisecond the order of marking decides", async () => {
    const driver = await start();
    for (const key of ["c", "a", "b"]) await driver.put(key, 1);
    // To be marked once more costs no place.
    await driver.store.enqueue([{ target: driver.ref("c"), cause: "request" }]);
    expect(keysOf(await driver.claim(3))).toEqual(["c", "a", "b"]);
  });

  it("Q-11: a key that was marked during its pass keeps its place", async () => {
    const driver = await start();
    for (const key of ["a", "b"]) await driver.put(key, 1);
    const [a, b] = (await driver.claim(2)) as [Claimed, Claimed];
    for (const key of ["a", "b"]) {
      await driver.store.enqueue([{ target: driver.ref(key), cause: "source" }]);
    }
    await driver.settle(b, SETTLED);
    await driver.settle(a, SETTLED);
    expect(keysOf(await driver.claim(2))).toEqual(["a", "b"]);
  });

  it("Q-11: a pass that asks for another goes behind what was marked before", async () => {
    const driver = await start();
    for (const key of ["a", "b"]) await driver.put(key, 1);
    for (const claimed of await driver.claim(2)) await driver.settle(claimed, SETTLED);
    await driver.store.enqueue([{ target: driver.ref("a"), cause: "source" }]);
    const claimed = await driver.claimOne();
    await driver.store.enqueue([{ target: driver.ref("b"), cause: "source" }]);
    await driver.settle(claimed, { kind: "requeue" });
    expect(keysOf(await driver.claim(2))).toEqual(["b", "a"]);
  });

  it.each([
    [
      ["request", "source"],
      ["a", "b"],
    ],
    [
      ["source", "request"],
      ["b", "a"],
    ],
  ] as const)(
    "Q-12: where the head start of a class makes two equal, the order of marking decides (%s)",
    async (causes, order) => {
      const driver = await start();
      for (const key of ["a", "b"]) await driver.put(key, 1);
      for (const claimed of await driver.claim(2)) await driver.settle(claimed, SETTLED);
      const later = { request: CLASS_DELAY_MS.normal, source: 0 };
      for (const cause of causes) {
        const key = cause === "request" ? "a" : "b";
        const delayMs = later[cause];
        await driver.store.enqueue([{ target: driver.ref(key), cause, delayMs }]);
      }
      driver.clock.advance(CLASS_DELAY_MS.normal);
      expect(keysOf(await driver.claim(2))).toEqual(order);
    },
  );

  it("Q-13: removing a resource removes its queue row and not its successor's", async () => {
    const driver = await start();
    const { uid: old } = await driver.put("a", 1);
    await driver.store.delete({ ref: driver.ref("a"), origin: ORIGIN });
    expect(await driver.queued("a")).toBeUndefined();
    expect(await driver.store.enqueue([{ target: { uid: old }, cause: "request" }])).toBe(0);
    const { uid } = await driver.put("a", 1);
    expect((await driver.queued("a"))?.uid).toBe(uid);
  });

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, LIMITS.maxRequeueMs + 1, 0])(
    "Q-14: a requeueAfter of %s is refused and the claim kept",
    async (delayMs) => {
      const driver = await start();
      await driver.put("a", 1);
      const claimed = await driver.claimOne();
      const refused = driver.settle(claimed, { kind: "requeueAfter", delayMs });
      await expect(refused).rejects.toMatchObject({ code: "BAD_REQUEST" });
      await driver.settle(claimed, FAILED);
    },
  );

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, LIMITS.maxRequeueMs + 1])(
    "Q-14: an enqueue for %s ms later is refused",
    async (delayMs) => {
      const driver = await start();
      await driver.put("a", 1);
      await driver.pass(SETTLED);
      const refused = driver.store.enqueue([
        { target: driver.ref("a"), cause: "schedule", delayMs },
      ]);
      await expect(refused).rejects.toMatchObject({ code: "BAD_REQUEST" });
      expect(await driver.queued("a")).toBeUndefined();
    },
  );

  it("an enqueue marks nothing where there is no such key", async () => {
    const driver = await start();
    for (const target of [driver.ref("a"), driver.ref("a", "unknown"), { uid: "unknown" }]) {
      expect(await driver.store.enqueue([{ target, cause: "request" }])).toBe(0);
    }
  });

  it("Q-14: the longest requeueAfter is taken", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const delayMs = LIMITS.maxRequeueMs;
    const { readyAt } = await driver.pass({ kind: "requeueAfter", delayMs });
    expect(readyAt).toBe(driver.clock.now() + delayMs);
  });

  it("says per lane what is ready, what runs and when more will be", async () => {
    const driver = await start();
    for (const key of ["a", "b", "c"]) await driver.put(key, 1);
    await driver.claimOne();
    await driver.pass({ kind: "requeueAfter", delayMs: 4_000 });
    const lane = (await driver.store.lanes()).find((one) => one.lane === driver.lane());
    const nextReadyAt = driver.clock.now() + 4_000;
    expect(lane).toMatchObject({ manager: "m", ready: 1, running: 1, nextReadyAt });
  });
}
