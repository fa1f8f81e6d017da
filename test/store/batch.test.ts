import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApplyChange } from "../../src/model/batch.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import { Driver, ManualClock, PROJECT, SETTLED, specWrite, sqliteStore } from "./support.ts";

// A thousand of them are more than is written in one transaction.
const LARGE = "x".repeat(4_000);

function creates(count: number, body = LARGE): ApplyChange[] {
  return Array.from({ length: count }, (_, index) => ({
    kind: "create",
    manager: "m",
    key: `key ${String(index).padStart(4, "0")}`,
    write: specWrite({ index, body }),
    expected: 0,
  }));
}

async function start(): Promise<Driver<ResourceManagerStore>> {
  const { store, clock } = sqliteStore();
  return new Driver(store, clock).begin("m");
}

describe("a batch", () => {
  it("that is large is written in several transactions, and seen only when it is whole", async () => {
    const seen: number[] = [];
    const points: string[] = [];
    const synchronous = new Map<string, unknown>();
    const clock = new ManualClock();
    const opened = sqliteStore({
      clock,
      probe: (name) => {
        if (!/applyBatch|stage/.test(name)) return;
        points.push(name);
        const mode = opened.connection.database.pragma("synchronous", { simple: true });
        synchronous.set(name, mode);
        const sql = "SELECT count(*) AS count FROM resource";
        seen.push(opened.connection.get<{ count: number }>(sql)?.count ?? 0);
      },
    });
    const driver = await new Driver(opened.store, clock).begin("m");
    const receipt = await driver.store.applyBatch({ project: PROJECT, changes: creates(1_000) });
    expect(receipt.items).toHaveLength(1_000);
    expect(points.filter((name) => name === "store.stage.committed").length).toBeGreaterThan(2);
    const whole = points.indexOf("store.applyBatch.written");
    expect(new Set(seen.slice(0, whole))).toEqual(new Set([0]));
    expect((await driver.store.info()).revision).toBe(receipt.revision);
    expect(await driver.store.queue({ project: PROJECT, limit: 2_000 })).toHaveLength(1_000);
    // What is written ahead is not synced, the transaction that makes it count is.
    expect(Object.fromEntries(synchronous)).toEqual({
      "store.stage.written": 1,
      "store.stage.committed": 2,
      "store.applyBatch.written": 2,
      "store.applyBatch.committed": 2,
    });
    const staged = opened.connection.get("SELECT 1 FROM staged_body");
    expect(staged).toBeUndefined();
  });

  it("A-10: that is refused leaves nothing, not even what it wrote ahead", async () => {
    const { store, clock, connection } = sqliteStore();
    const driver = await new Driver(store, clock).begin("m");
    await driver.put("key 0500", 1);
    const batch = driver.store.applyBatch({ project: PROJECT, changes: creates(1_000) });
    await expect(batch).rejects.toMatchObject({
      code: "STALE",
      message: "m key 0500 exists already: it is at version 2",
    });
    const count = (table: string) =>
      connection.get<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)?.count;
    expect([count("resource"), count("spec_body"), count("staged_body"), count("queue")]).toEqual([
      1, 1, 0, 1,
    ]);
  });

  it("names every resource that is not as the plan saw it", async () => {
    const driver = await start();
    await driver.put("key 0001", 1);
    await driver.put("key 0002", 1);
    const batch = driver.store.applyBatch({ project: PROJECT, changes: creates(4) });
    await expect(batch).rejects.toMatchObject({
      message: expect.stringContaining("and 1 more") as string,
      details: { resources: [{ resource: "m key 0001" }, { resource: "m key 0002" }] },
    });
  });

  it("A-7: with one resource twice is refused", async () => {
    const driver = await start();
    const changes = [...creates(1), ...creates(1)];
    const batch = driver.store.applyBatch({ project: PROJECT, changes });
    await expect(batch).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  it("A-8: that moves a resource to another file keeps uid and generation and wakes nothing", async () => {
    const driver = await start();
    const before = await driver.put("a", 1);
    await driver.pass(SETTLED);
    const origin = { owner: { kind: "apply" as const, name: "specs" }, file: "specs/other.json" };
    const change: ApplyChange = {
      kind: "move",
      manager: "m",
      key: "a",
      write: specWrite(1, { origin }),
      expected: await driver.version("a"),
    };
    const { items } = await driver.store.applyBatch({ project: PROJECT, changes: [change] });
    expect(items[0]).toMatchObject({ uid: before.uid, generation: 1 });
    expect((await driver.store.get(driver.ref("a")))?.origin).toEqual(origin);
    expect(await driver.queued("a")).toBeUndefined();
  });

  it("A-2: the same specs in any order, in any batches, give the same store", async () => {
    const keys = ["a", "b", "c", "d", "e", "f"];
    const order = fc.shuffledSubarray(keys, { minLength: keys.length });
    await fc.assert(
      fc.asyncProperty(order, fc.array(fc.nat({ max: 3 }), { minLength: 6 }), async (all, cuts) => {
        const driver = await start();
        for (let from = 0; from < all.length;) {
          const size = 1 + (cuts.pop() ?? 0);
          const changes = all.slice(from, from + size).map((key): ApplyChange => ({
            kind: "create",
            manager: "m",
            key,
            write: specWrite({ key }),
            expected: 0,
          }));
          await driver.store.applyBatch({ project: PROJECT, changes });
          from += size;
        }
        const { resources } = await driver.store.snapshot(PROJECT);
        expect(
          resources.map(({ key, generation, specHash }) => [key, generation, specHash]),
        ).toEqual(keys.map((key) => [key, 1, specWrite({ key }).specHash]));
        expect(await driver.store.queue({ project: PROJECT })).toHaveLength(keys.length);
        await driver.store.close();
      }),
      { numRuns: 15 },
    );
  });

  it("that changes prune, labels and dependencies only is no new generation", async () => {
    const driver = await start();
    const first = await driver.put("a", 1);
    await driver.pass(SETTLED);
    const changed = await driver.put("a", 1, {
      prunable: false,
      labels: { team: "red" },
      dependsOn: ["m/b"],
    });
    expect(changed.generation).toBe(1);
    expect(changed.resourceVersion).toBeGreaterThan(first.resourceVersion);
    expect(await driver.queued("a")).toBeUndefined();
    expect((await driver.store.snapshot(PROJECT)).resources).toMatchObject([
      { prunable: false, labels: { team: "red" }, dependsOn: ["m/b"], generation: 1 },
    ]);
  });
});
