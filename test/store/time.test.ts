import { describe, expect, it } from "vitest";
import { CRASHED, Driver, keysOf, ManualClock, SETTLED, sqliteStore } from "./support.ts";

const HOUR = 3_600_000;

async function start(clock = new ManualClock(), path?: string) {
  const opened = sqliteStore({ clock, ...(path === undefined ? {} : { path }) });
  return { ...opened, driver: await new Driver(opened.store, clock).begin("m") };
}

describe("T-1: a clock that is set back", () => {
  it("does not put off what is ready", async () => {
    const { driver, clock } = await start();
    await driver.put("a", 1);
    clock.jump(-HOUR);
    expect((await driver.store.lanes())[0]).toMatchObject({ ready: 1 });
    expect(keysOf(await driver.claim())).toEqual(["a"]);
  });

  it("does not make a delay longer", async () => {
    const { driver, clock } = await start();
    await driver.put("a", 1);
    await driver.pass({ kind: "requeueAfter", delayMs: 30_000 });
    clock.jump(-HOUR);
    expect((await driver.store.lanes())[0]?.nextReadyAt).toBe(clock.now() + 30_000);
    expect((await driver.queued("a"))?.readyAt).toBe(clock.now() + 30_000);
    clock.advance(29_999);
    expect(await driver.claim()).toEqual([]);
    clock.advance(1);
    expect(keysOf(await driver.claim())).toEqual(["a"]);
  });

  it("by less than has gone since it was last looked at, does not make a delay longer", async () => {
    const { driver, clock } = await start();
    await driver.put("a", 1);
    await driver.pass({ kind: "requeueAfter", delayMs: HOUR });
    clock.advance(HOUR);
    clock.jump(-HOUR / 2);
    expect(keysOf(await driver.claim())).toEqual(["a"]);
  });

  it("does not make a claim immortal", async () => {
    const { driver, clock } = await start();
    await driver.put("a", 1);
    const { claim, expiresAt } = await driver.claimOne();
    expect(expiresAt).toBe(clock.now() + 90_000);
    clock.jump(-HOUR);
    await driver.store.renew(claim, clock.now() + 60_000);
    clock.advance(59_999);
    expect(await driver.claim()).toEqual([]);
    clock.advance(1);
    expect(keysOf(await driver.claim())).toEqual(["a"]);
  });

  it("does not put off what is ready over a restart", async () => {
    const first = await start();
    await first.driver.put("a", 1);
    await first.driver.put("b", 1);
    await first.driver.pass({ kind: "requeueAfter", delayMs: 5_000 });
    await first.store.close();
    first.clock.jump(-HOUR);
    const { driver, clock } = await start(first.clock, first.path);
    expect(keysOf(await driver.claim(5))).toEqual(["b"]);
    clock.advance(5_000);
    expect(keysOf(await driver.claim(5))).toEqual(["a"]);
  });

  it("keeps versions and order rising", async () => {
    const { driver, clock } = await start();
    const first = await driver.put("a", 1);
    clock.jump(-HOUR);
    const second = await driver.put("b", 1);
    expect(second.resourceVersion).toBeGreaterThan(first.resourceVersion);
    expect(keysOf(await driver.claim(2))).toEqual(["a", "b"]);
  });

  it("can't be outdone by a renewal that asks for too much", async () => {
    const { driver, clock } = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    await driver.store.renew(claim, Number.MAX_SAFE_INTEGER);
    clock.advance(HOUR);
    expect(keysOf(await driver.claim())).toEqual(["a"]);
  });
});

describe("T-2: a clock that jumps ahead", () => {
  it("makes each due key run once, and none twice", async () => {
    const { driver, clock } = await start();
    await driver.put("a", 1);
    await driver.pass({ kind: "requeueAfter", delayMs: 60_000 });
    clock.jump(HOUR);
    const claimed = await driver.claim(5);
    expect(keysOf(claimed)).toEqual(["a"]);
    expect(await driver.claim(5)).toEqual([]);
    for (const one of claimed) await driver.settle(one, SETTLED);
    clock.advance(HOUR);
    expect(await driver.claim(5)).toEqual([]);
  });

  it("F-3: lets the owner renew first, as a machine that slept does", async () => {
    const { driver, clock } = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    clock.jump(HOUR);
    await driver.store.renew(claimed.claim, clock.now() + 60_000);
    expect(await driver.claim()).toEqual([]);
    await driver.settle(claimed, SETTLED);
  });
});

describe("T-5: stored times", () => {
  it("are whole milliseconds, even where a delay is not", async () => {
    const { driver, connection, clock } = await start();
    await driver.put("a", 1);
    const { readyAt } = await driver.pass({ kind: "requeueAfter", delayMs: 0.25 });
    expect(readyAt).toBe(clock.now() + 1);
    clock.advance(1);
    await driver.pass(CRASHED);
    const row = connection.get<{ types: string }>(
      "SELECT typeof(ready_at) || typeof(backoff_until) AS types FROM queue",
    );
    expect(row?.types).toBe("integerinteger");
  });
});
