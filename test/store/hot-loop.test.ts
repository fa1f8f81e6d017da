import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import type { WakeCause } from "../../src/model/queue.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import { Driver, EFFECT, PROJECT, sqliteStore } from "./support.ts";

type Looping = Driver<ResourceManagerStore>;

async function looping(passes: number, wake?: WakeCause): Promise<Looping> {
  const { store, clock } = sqliteStore();
  const driver = await new Driver(store, clock).begin("m");
  await driver.put("a", 1);
  for (let count = 0; count < passes; count += 1) {
    const claimed = await driver.claimOne();
    if (wake) await store.enqueue([{ target: driver.ref("a"), cause: wake }]);
    await driver.settle(claimed, { kind: "requeue" });
    clock.advance(10);
  }
  return driver;
}

describe("B-5: passes that ask for passes", () => {
  it("are slowed with a warning when they are too many, and never stopped", async () => {
    const driver = await looping(LIMITS.hotLoopPasses);
    const { readyAt } = await driver.pass({ kind: "requeue" });
    expect(readyAt).toBe(driver.clock.now() + LIMITS.hotLoopDelayMs);
    const events = await driver.store.events({ project: PROJECT });
    const warnings = events.filter(({ reason }) => reason === "HotLoop");
    expect(warnings).toMatchObject([{ type: "Warning", count: 1 }]);
    driver.clock.advance(LIMITS.hotLoopDelayMs);
    await driver.pass({ kind: "requeue" });
    driver.clock.advance(61_000);
    expect((await driver.pass({ kind: "requeue" })).readyAt).toBe(driver.clock.now());
  });

  it("are no loop while a child or an effect makes progress", async () => {
    const driver = await looping(LIMITS.hotLoopPasses * 2, "child");
    expect((await driver.queued("a"))?.readyAt).toBeLessThanOrEqual(driver.clock.now());
    const claimed = await driver.claimOne();
    await driver.store.beginEffect(claimed.claim, EFFECT);
    const { readyAt } = await driver.settle(claimed, { kind: "requeue" });
    expect(readyAt).toBe(driver.clock.now());
  });

  it("are no loop when each moves an effect", async () => {
    const driver = await looping(LIMITS.hotLoopPasses);
    const claimed = await driver.claimOne();
    await driver.store.beginEffect(claimed.claim, EFFECT);
    const { readyAt } = await driver.settle(claimed, { kind: "requeue" });
    expect(readyAt).toBe(driver.clock.now());
  });

  it("are one where only the effects of another key move", async () => {
    const driver = await looping(LIMITS.hotLoopPasses);
    const claimed = await driver.claimOne();
    await driver.put("b", 1);
    await driver.store.beginEffect((await driver.claimOne()).claim, EFFECT);
    const { readyAt } = await driver.settle(claimed, { kind: "requeue" });
    expect(readyAt).toBe(driver.clock.now() + LIMITS.hotLoopDelayMs);
  });

  it("are no loop when they ask for enough time and others wake them", async () => {
    const driver = await looping(0);
    for (let count = 0; count < LIMITS.hotLoopPasses * 2; count += 1) {
      await driver.pass({ kind: "requeueAfter", delayMs: LIMITS.hotLoopDelayMs });
      await driver.store.enqueue([{ target: driver.ref("a"), cause: "source" }]);
    }
    const events = await driver.store.events({ project: PROJECT });
    expect(events.filter(({ reason }) => reason === "HotLoop")).toEqual([]);
  });

  it("are no loop when they leave enough time", async () => {
    const driver = await looping(0);
    const delayMs = 60_000 / LIMITS.hotLoopPasses;
    for (let count = 0; count < LIMITS.hotLoopPasses * 2; count += 1) {
      const { readyAt } = await driver.pass({ kind: "requeueAfter", delayMs });
      expect(readyAt).toBe(driver.clock.now() + delayMs);
      driver.clock.advance(delayMs);
    }
  });
});
