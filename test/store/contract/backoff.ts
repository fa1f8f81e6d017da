import { expect, it } from "vitest";
import { LIMITS } from "../../../src/model/limits.ts";
import { backoffMs } from "../../../src/model/queue.ts";
import { CRASHED, EFFECT, FAILED, SETTLED, type Start, TERMINAL } from "../support.ts";

export function backoffSuite(start: Start): void {
  it("B-1: each failed pass counts once; success and a terminal error count from the start", async () => {
    const driver = await start();
    await driver.put("a", 1);
    for (const attempts of [1, 2, 3]) {
      await driver.pass(FAILED);
      expect((await driver.queued("a"))?.attempts).toBe(attempts);
      driver.clock.advance(LIMITS.backoffCapMs);
    }
    await driver.pass({ kind: "requeueAfter", delayMs: 1 });
    expect((await driver.queued("a"))?.attempts).toBe(0);
    driver.clock.advance(1);
    await driver.pass(FAILED);
    driver.clock.advance(LIMITS.backoffCapMs);
    await driver.pass(TERMINAL);
    await driver.put("a", 2);
    expect((await driver.queued("a"))?.attempts).toBe(0);
  });

  it("B-2: the delay grows, with the jitter that the caller draws", async () => {
    const driver = await start();
    await driver.put("a", 1);
    for (const attempts of [1, 2, 3, 4]) {
      const receipt = await driver.settle(await driver.claimOne(), FAILED, 0.25);
      const delay = backoffMs(attempts, 0.25);
      expect(receipt.readyAt).toBe(driver.clock.now() + delay);
      driver.clock.advance(delay);
    }
  });

  it("B-3: a failure follows the backoff, whatever delay came with it", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const both = { ...FAILED, delayMs: 5 };
    const { readyAt } = await driver.settle(await driver.claimOne(), both, 0.5);
    expect(readyAt).toBe(driver.clock.now() + backoffMs(1, 0.5));
  });

  it("B-4: a change during backoff runs at once, and its failure keeps the earlier time and count", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass(FAILED);
    driver.clock.advance(LIMITS.backoffCapMs);
    const { readyAt } = await driver.settle(await driver.claimOne(), FAILED, 0.99);
    await driver.put("a", 2);
    const early = await driver.claimOne();
    expect(early.resource.spec).toBe(2);
    expect((await driver.settle(early, FAILED)).readyAt).toBe(readyAt);
    expect((await driver.queued("a"))?.attempts).toBe(2);
  });

  it("B-4: a status written by the pass itself does not end its backoff", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass(FAILED);
    expect(await driver.claim()).toEqual([]);
  });

  it("B-6: passes without an answer are counted, and the key parked as stalled", async () => {
    const driver = await start();
    await driver.put("a", 1);
    for (let crash = 1; crash < LIMITS.crashAttempts; crash += 1) {
      await driver.pass(CRASHED);
      expect((await driver.queued("a"))?.crashAttempts).toBe(crash);
      driver.clock.advance(LIMITS.backoffCapMs);
    }
    await driver.pass(CRASHED);
    expect(await driver.queued("a")).toBeUndefined();
    const stored = await driver.store.get(driver.ref("a"));
    const stalled = stored?.resource.status.conditions.find(({ type }) => type === "Stalled");
    expect(stalled).toMatchObject({ status: true, message: "exit: code 1" });
  });

  it.each([
    ["B-6: a stalled key", CRASHED],
    ["a key with a terminal error", TERMINAL],
  ])("%s is revived by a new spec or a request, not by hints or repair", async (_, outcome) => {
    const driver = await start();
    await driver.put("a", 1);
    const giveUp = async () => {
      for (let count = 0; count < LIMITS.crashAttempts; count += 1) {
        if (!(await driver.queued("a"))) break;
        await driver.pass(outcome);
        driver.clock.advance(LIMITS.backoffCapMs);
      }
    };
    await giveUp();
    expect(await driver.store.enqueue([{ target: driver.ref("a"), cause: "schedule" }])).toBe(0);
    expect(await driver.store.repair()).toEqual({ enqueued: 0 });
    expect(await driver.store.enqueue([{ target: driver.ref("a"), cause: "request" }])).toBe(1);
    await giveUp();
    await driver.put("a", 2);
    expect(await driver.queued("a")).toBeDefined();
    await driver.pass(SETTLED);
    const stored = await driver.store.get(driver.ref("a"));
    expect(
      stored?.resource.status.conditions.filter(
        ({ type, status }) => type === "Stalled" && status === true,
      ),
    ).toEqual([]);
    expect(await driver.store.enqueue([{ target: driver.ref("a"), cause: "schedule" }])).toBe(1);
  });

  it("a poll that was asked for before does not bring back a key that was given up", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    await driver.store.enqueue([{ target: driver.ref("a"), cause: "schedule", delayMs: 1_000 }]);
    await driver.settle(claimed, TERMINAL);
    expect(await driver.queued("a")).toBeUndefined();
  });

  it("B-6: a pass that went well lifts Stalled, also beside an effect that is still open", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.store.beginEffect((await driver.claimOne()).claim, EFFECT);
    driver.clock.advance(90_000);
    for (let count = 1; count < LIMITS.crashAttempts; count += 1) {
      await driver.pass(CRASHED);
      driver.clock.advance(LIMITS.backoffCapMs);
    }
    const stalled = async () =>
      (await driver.store.get(driver.ref("a")))?.resource.status.conditions.find(
        ({ type }) => type === "Stalled",
      )?.status;
    expect(await stalled()).toBe(true);
    await driver.store.enqueue([{ target: driver.ref("a"), cause: "request" }]);
    await driver.pass(SETTLED);
    expect(await stalled()).toBe(false);
  });

  it.each([
    ["exit", false],
    ["shutdown", undefined],
    ["lease-lost", undefined],
  ] as const)("a pass that ended by %s says of Reconciled: %s", async (fault, said) => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass({ kind: "crashed", fault, message: "ended" });
    const stored = await driver.store.get(driver.ref("a"));
    const found = stored?.resource.status.conditions.find(({ type }) => type === "Reconciled");
    expect(found?.status).toBe(said);
  });

  it("a pass that the server itself ended is no crash of the resource", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass({ kind: "crashed", fault: "shutdown", message: "stopping" });
    expect(await driver.queued("a")).toMatchObject({
      crashAttempts: 0,
      readyAt: driver.clock.now(),
    });
  });
}
