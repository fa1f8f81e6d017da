import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { Driver, keysOf, PROJECT, SETTLED, sqliteStore, type OpenedStore } from "./support.ts";

type Watched = OpenedStore & { driver: Driver; commits: number[]; points: string[] };

async function watched(keys: number): Promise<Watched> {
  const commits: number[] = [];
  const points: string[] = [];
  const opened = sqliteStore({
    probe: (name, fields) => {
      points.push(name);
      if (name === "store.committed") commits.push(Number(fields?.operations));
    },
  });
  const driver = await new Driver(opened.store, opened.clock).begin("m");
  for (let key = 0; key < keys; key += 1) await driver.put(`key ${key}`, key);
  commits.length = 0;
  points.length = 0;
  return { ...opened, driver, commits, points };
}

describe("group commit", () => {
  it("makes one transaction of what arrives in one turn, so that a pass costs a part of an fsync", async () => {
    const { driver, commits } = await watched(40);
    const claimed = await driver.claim(40);
    expect(commits).toEqual([1]);
    await Promise.all(claimed.map((one) => driver.settle(one, SETTLED)));
    // Goal P3. Not exactly one: a slow machine may end a group early.
    expect((commits.length - 1) / claimed.length).toBeLessThanOrEqual(0.5);
  });

  it("bounds a group, so that the event loop turns", async () => {
    const { driver, store, commits } = await watched(1);
    const target = driver.ref("key 0");
    await Promise.all(
      Array.from({ length: 250 }, () => store.enqueue([{ target, cause: "source" }])),
    );
    expect(Math.max(...commits)).toBeLessThanOrEqual(100);
    expect(commits.reduce((sum, size) => sum + size, 0)).toBe(250);
  });

  it("undoes an operation that fails, and keeps the others of its group", async () => {
    const { driver, store, commits } = await watched(2);
    const results = await Promise.allSettled([
      store.suspend(driver.ref("key 0"), true),
      store.suspend(driver.ref("nobody"), true),
      driver.store.delete({
        ref: driver.ref("key 1"),
        origin: { owner: { kind: "person", name: "ann" } },
        expected: 12_345,
      }),
      store.enqueue([{ target: driver.ref("key 1"), cause: "request" }]),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    expect(commits).toEqual([4]);
    expect((await store.get(driver.ref("key 0")))?.suspended).toBe(true);
  });

  it("runs operations in the order in which they were asked for", async () => {
    const { driver, store } = await watched(1);
    const ref = driver.ref("key 0");
    await Promise.all([true, false, true].map((suspended) => store.suspend(ref, suspended)));
    expect((await store.get(ref))?.suspended).toBe(true);
  });

  it("E-1: answers only after the commit", async () => {
    const { driver, points } = await watched(1);
    const { claim } = await driver.claimOne();
    points.length = 0;
    await driver.store
      .beginEffect(claim, { key: "e", kind: "test", request: 1, provenAbsent: false })
      .then(() => points.push("answer"));
    expect(points).toEqual([
      "store.beginEffect.written",
      "store.commit",
      "store.committed",
      "store.beginEffect.committed",
      "answer",
    ]);
  });

  it("commits what waits when it is closed", async () => {
    const { driver, store, path } = await watched(1);
    const suspended = store.suspend(driver.ref("key 0"), true);
    await store.close();
    await suspended;
    const again = sqliteStore({ path });
    expect((await again.store.get(driver.ref("key 0")))?.suspended).toBe(true);
  });
});

describe("P-5: a write that the machine refuses", () => {
  it("leaves nothing behind when the disk is full, and goes on when there is room", async () => {
    const { driver, store, connection } = await watched(1);
    const pages = Number(connection.database.pragma("page_count", { simple: true }));
    connection.database.pragma(`max_page_count = ${pages}`);
    const results = await Promise.allSettled([
      driver.put("large", "x".repeat(200_000)),
      driver.put("larger", "x".repeat(900_000)),
    ]);
    for (const result of results) {
      expect(result).toMatchObject({ status: "rejected", reason: { code: "STORE_FULL" } });
    }
    expect(await store.get(driver.ref("large"))).toBeUndefined();
    expect(keysOf(await driver.claim())).toEqual(["key 0"]);
    connection.database.pragma("max_page_count = 1000000");
    await driver.put("large", "x".repeat(200_000));
    expect(connection.database.pragma("integrity_check", { simple: true })).toBe("ok");
  });

  it("rejects every operation of the group when the commit fails, and hands out no claim", async () => {
    let failing = false;
    const { store, clock } = sqliteStore({
      probe: (name) => {
        if (failing && name === "store.commit") throw new Error("the disk went away");
      },
    });
    const driver = await new Driver(store, clock).begin("m");
    await driver.put("a", 1);
    failing = true;
    const results = await Promise.allSettled([
      driver.claim(),
      store.suspend(driver.ref("a"), true),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    failing = false;
    expect(await driver.queued("a")).toMatchObject({ claimed: false });
    expect((await store.get(driver.ref("a")))?.suspended).toBe(false);
    expect(keysOf(await driver.claim())).toEqual(["a"]);
  });

  it("says that the database is busy while another process writes, and goes on after it", async () => {
    const { driver, store, path, connection } = await watched(1);
    connection.database.pragma("busy_timeout = 1");
    const other = new Database(path);
    other.exec("BEGIN IMMEDIATE");
    const busy = store.enqueue([{ target: driver.ref("key 0"), cause: "request" }]);
    await expect(busy).rejects.toMatchObject({ code: "STORE_BUSY" });
    other.exec("ROLLBACK");
    other.close();
    expect(await store.enqueue([{ target: driver.ref("key 0"), cause: "request" }])).toBe(1);
    expect(await store.queue({ project: PROJECT })).toHaveLength(1);
  });
});
