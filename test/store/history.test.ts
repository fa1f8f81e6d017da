import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { Driver, EFFECT, ORIGIN, SETTLED, sqliteStore } from "./support.ts";

async function start() {
  const { store, clock, connection } = sqliteStore();
  const driver = await new Driver(store, clock).begin("m");
  const count = (table: string) =>
    connection.get<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)?.count;
  return { driver, count, connection };
}

describe("history", () => {
  it("A-13: names where each generation came from, newest first", async () => {
    const { driver } = await start();
    const owner = { kind: "sync" as const, name: "main" };
    const commit = "1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d";
    await driver.put("a", 1, { origin: { owner, file: "a.json", commit, dirty: true } });
    driver.clock.advance(5_000);
    await driver.put("a", { two: 2 }, { origin: ORIGIN });
    expect(await driver.store.history(driver.ref("a"))).toEqual([
      expect.objectContaining({
        generation: 2,
        spec: { two: 2 },
        origin: ORIGIN,
        at: driver.clock.now(),
      }),
      expect.objectContaining({
        generation: 1,
        spec: 1,
        origin: { owner, file: "a.json", commit, dirty: true },
      }),
    ]);
  });

  it("keeps a bounded number of generations, and no specs that nobody names", async () => {
    const { driver, count } = await start();
    for (let spec = 1; spec <= LIMITS.generationsKept + 7; spec += 1) await driver.put("a", spec);
    const history = await driver.store.history(driver.ref("a"));
    expect(history).toHaveLength(LIMITS.generationsKept);
    expect(history[0]).toMatchObject({ spec: LIMITS.generationsKept + 7 });
    expect(count("spec_body")).toBe(LIMITS.generationsKept);
    expect((await driver.store.get(driver.ref("a")))?.resource.spec).toBe(
      LIMITS.generationsKept + 7,
    );
  });

  it("has the deletion as a generation with the last spec, and outlives the resource", async () => {
    const { driver } = await start();
    await driver.put("a", { last: true });
    await driver.store.delete({ ref: driver.ref("a"), origin: ORIGIN });
    expect(await driver.store.history(driver.ref("a"))).toMatchObject([
      { generation: 2, spec: { last: true }, origin: ORIGIN },
      { generation: 1, spec: { last: true } },
    ]);
  });
});

describe("retention", () => {
  it("prunes on request what was removed so long ago, all of it, and tells before what it would", async () => {
    const { driver, count } = await start();
    for (const key of ["a", "b", "kept"]) await driver.put(key, 1);
    for (const key of ["a", "b"]) {
      await driver.store.delete({ ref: driver.ref(key), origin: ORIGIN });
      driver.clock.advance(1_000);
    }
    const prune = (olderThanMs: number, dryRun = false) =>
      driver.store.pruneHistory({ olderThanMs, dryRun });
    expect(await prune(3_000)).toEqual({ resources: 0, runs: 0 });
    expect(await prune(1_000, true)).toEqual({ resources: 2, runs: 0 });
    expect(count("resource")).toBe(3);
    expect(await prune(2_000)).toEqual({ resources: 1, runs: 0 });
    expect(await prune(1_000)).toEqual({ resources: 1, runs: 0 });
    expect(["resource", "generation", "spec_body"].map(count)).toEqual([1, 1, 1]);
  });

  it("E-11: deletes a tombstone with all that is its own, after its time, and nothing else", async () => {
    const { driver, count } = await start();
    await driver.put("kept", 1);
    await driver.put("a", 1);
    const [, claimed] = await driver.claim(2);
    if (!claimed) throw new Error("not claimed");
    const { effect } = await driver.store.beginEffect(claimed.claim, EFFECT);
    await driver.store.settleEffect(claimed.claim, {
      key: EFFECT.key,
      requestFingerprint: effect.requestFingerprint,
      outcome: { state: "applied" },
    });
    await driver.settle(claimed, SETTLED);
    await driver.store.delete({ ref: driver.ref("a"), origin: ORIGIN });
    driver.clock.advance(LIMITS.removedKeptMs - 1);
    expect(await driver.store.retain(100)).toBe(0);
    driver.clock.advance(1);
    expect(await driver.store.retain(100)).toBeGreaterThan(0);
    expect(await driver.store.retain(100)).toBe(0);
    expect(
      ["resource", "generation", "spec_body", "event", "effect", "pass"].map((table) =>
        count(table),
      ),
    ).toEqual([1, 1, 1, 1, 0, 0]);
    expect(await driver.store.history(driver.ref("a"))).toEqual([]);
  });

  it("D-7: keeps a tombstone while an effect of it is open", async () => {
    const { driver } = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    await driver.store.beginEffect(claim, EFFECT);
    await driver.store.delete({ ref: driver.ref("a"), origin: ORIGIN });
    driver.clock.advance(LIMITS.removedKeptMs * 2);
    expect(await driver.store.retain(100)).toBe(0);
    const outcome = { state: "rejected" as const, reason: "nothing came of it" };
    await driver.store.resolveEffect(claim.uid, EFFECT.key, outcome, "ann");
    expect(await driver.store.retain(100)).toBeGreaterThan(0);
  });

  it("is bounded in each step", async () => {
    const { driver, count } = await start();
    for (let index = 0; index < 20; index += 1) {
      await driver.put(`key ${index}`, index);
      await driver.store.delete({ ref: driver.ref(`key ${index}`), origin: ORIGIN });
    }
    driver.clock.advance(LIMITS.removedKeptMs);
    const deleted = await driver.store.retain(15);
    expect(deleted).toBeGreaterThanOrEqual(15);
    expect(count("resource")).toBeGreaterThan(10);
    while ((await driver.store.retain(15)) > 0);
    expect(count("resource")).toBe(0);
  });
});
