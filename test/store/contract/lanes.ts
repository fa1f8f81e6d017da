import { expect, it } from "vitest";
import {
  FAILED,
  keysOf,
  PROJECT,
  resolvedManager,
  SETTLED,
  specWrite,
  type Start,
} from "../support.ts";

export function laneSuite(start: Start): void {
  it("keys of a manager that is not accepted can't be claimed until it is", async () => {
    const driver = await start();
    const write = specWrite(1);
    const change = {
      kind: "create" as const,
      manager: "late",
      key: "a",
      write,
      expected: 0 as const,
    };
    await driver.store.applyBatch({ project: PROJECT, changes: [change] });
    expect((await driver.store.lanes()).map(({ manager }) => manager)).not.toContain("late");
    // Lanes are numbered as they come: this one is the next after those of the start.
    const next = Math.max(driver.lane("m"), driver.lane("n")) + 1;
    const early = { ...driver.claimRequest(), lanes: [{ lane: next, max: 1 }] };
    expect(await driver.store.claim(early)).toEqual([]);
    const { lane } = await driver.store.acceptManager(PROJECT, resolvedManager("late"));
    expect(lane).toBe(next);
    const request = { ...driver.claimRequest(), lanes: [{ lane, max: 1 }] };
    expect(keysOf(await driver.store.claim(request))).toEqual(["a"]);
  });

  it("a suspended resource is not reconciled until it is resumed", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.store.suspend(driver.ref("a"), true);
    await driver.put("a", 2, { suspended: true });
    expect(await driver.store.enqueue([{ target: driver.ref("a"), cause: "request" }])).toBe(0);
    expect(await driver.claim()).toEqual([]);
    await driver.store.suspend(driver.ref("a"), false);
    expect(keysOf(await driver.claim())).toEqual(["a"]);
  });

  it("a resource suspended during its pass leaves the queue when it settles", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    await driver.store.suspend(driver.ref("a"), true);
    await driver.settle(claimed, { kind: "requeue" });
    expect(await driver.queued("a")).toBeUndefined();
  });

  it("R-5: repair adds what is missing, twice as well as once, and touches nothing else", async () => {
    const driver = await start();
    await driver.put("settled", 1);
    await driver.pass(SETTLED);
    await driver.put("failing", 1);
    await driver.pass(FAILED);
    const failing = await driver.queued("failing");
    expect(await driver.store.repair({ dryRun: true })).toEqual({ enqueued: 1 });
    expect(await driver.store.repair()).toEqual({ enqueued: 1 });
    expect(await driver.store.repair()).toEqual({ enqueued: 0 });
    expect(await driver.queued("failing")).toEqual(failing);
    expect(await driver.queued("settled")).toMatchObject({ class: "low", cause: "repair" });
  });

  it("a whole lane can be woken at once", async () => {
    const driver = await start();
    for (const key of ["a", "b"]) await driver.put(key, 1);
    while ((await driver.claim()).length > 0);
    await driver.store.beginEpoch();
    driver.epoch += 1;
    const target = { lane: driver.lane() };
    expect(await driver.store.enqueue([{ target, cause: "schedule" }])).toBe(2);
  });
}
