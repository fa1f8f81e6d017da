import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import type { SourceCause } from "../../src/model/queue.ts";
import { migrate } from "../../src/store/sqlite/migrate.ts";
import { INIT } from "../../src/store/sqlite/migrations/0001-init.ts";
import { SYNC } from "../../src/store/sqlite/migrations/0002-sync.ts";
import { Driver, ORIGIN, sqliteStore } from "./support.ts";

async function drivenStore() {
  const { store, clock } = sqliteStore();
  return new Driver(store, clock).begin("m");
}

describe("a wake by a source", () => {
  it.each<SourceCause>(["cron:0 3 * * *", "files:docs/**", "watch:other", "webhook:github"])(
    "%s is the cause of the pass that follows",
    async (cause) => {
      const driver = await drivenStore();
      await driver.put("a", 1);
      await driver.pass({ kind: "settled" });
      await driver.store.enqueue([{ target: driver.ref("a"), cause }]);
      expect(await driver.queued("a")).toMatchObject({ cause, class: "normal" });
      await driver.pass({ kind: "settled" });
      const uid = (await driver.store.get(driver.ref("a")))?.resource.metadata.uid as string;
      expect((await driver.store.passes(uid))[0]?.cause).toBe(cause);
    },
  );

  it("a cause of an unknown kind is refused", async () => {
    const driver = await drivenStore();
    await driver.put("a", 1);
    const cause = "rumour:x" as SourceCause;
    await expect(driver.store.enqueue([{ target: driver.ref("a"), cause }])).rejects.toThrow(
      /CHECK/,
    );
  });

  it("by a prefix marks the keys that begin with it, and no others", async () => {
    const driver = await drivenStore();
    const keys = ["a/b#1", "a/b#12", "a/b#", "a/bb#1", "a/c#1", "a", "é/b#1", "a/b#\u{1F600}"];
    for (const key of keys) await driver.put(key, 1);
    for (let count = 0; count < keys.length; count += 1) await driver.pass({ kind: "settled" });
    const wake = (prefix: string) =>
      driver.store.enqueue([{ target: { lane: driver.lane(), prefix }, cause: "webhook:w" }]);
    expect(await wake("a/b#")).toBe(4);
    const queued = await driver.store.queue({});
    expect(queued.map(({ key }) => key).sort()).toEqual([
      "a/b#",
      "a/b#1",
      "a/b#12",
      "a/b#\u{1F600}",
    ]);
    expect(await wake("é")).toBe(1);
    expect(await wake("z")).toBe(0);
    expect(await wake("")).toBe(keys.length);
  });
});

describe("what a source remembers", () => {
  it("is kept by lane and name, the latest only", async () => {
    const { store, lane } = await drivenStore().then((driver) => ({
      store: driver.store,
      lane: driver.lane(),
    }));
    expect(await store.sourceMark(lane, "watch:other")).toBeUndefined();
    await store.putSourceMark(lane, "watch:other", "1");
    await store.putSourceMark(lane, "watch:other", "2");
    expect(await store.sourceMark(lane, "watch:other")).toBe("2");
    expect(await store.sourceMark(lane, "files:x")).toBeUndefined();
  });

  it("what changed after a version is found, also what was removed", async () => {
    const driver = await drivenStore();
    await driver.put("a", 1);
    await driver.put("b", 1);
    await driver.put("c", 1);
    const { revision } = await driver.store.info();
    expect(await driver.store.changedSince(driver.lane(), revision)).toEqual([]);
    await driver.put("b", 2);
    await driver.store.delete({ ref: driver.ref("c"), origin: ORIGIN });
    const changed = await driver.store.changedSince(driver.lane(), revision);
    expect(changed.map(({ key }) => key)).toEqual(["b", "c"]);
    expect(await driver.store.changedSince(driver.lane(), 0)).toHaveLength(3);
  });
});

describe("deliveries of a webhook", () => {
  it("are remembered by webhook and id, once", async () => {
    const { store } = await drivenStore();
    expect(await store.isDelivered("w", "1")).toBe(false);
    await store.recordDelivery("w", "1");
    await store.recordDelivery("w", "1");
    expect(await store.isDelivered("w", "1")).toBe(true);
    expect(await store.isDelivered("v", "1")).toBe(false);
  });

  it("are forgotten when nobody sends them again", async () => {
    const { store, clock } = await drivenStore();
    await store.recordDelivery("w", "1");
    clock.advance(LIMITS.deliveryKeptMs - 1);
    expect(await store.retain(10)).toBe(0);
    clock.advance(1);
    expect(await store.retain(10)).toBe(1);
    expect(await store.isDelivered("w", "1")).toBe(false);
  });

  it("are no more than the limit, the latest", async () => {
    const { store, connection, clock } = sqliteStore();
    const driver = await new Driver(store, clock).begin("m");
    connection.run(
      `INSERT INTO webhook_delivery (webhook, delivery, at)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       SELECT 'w', i, 0 FROM n`,
      LIMITS.deliveriesKept,
    );
    await driver.store.recordDelivery("w", "new");
    expect(await store.isDelivered("w", "1")).toBe(false);
    expect(await store.isDelivered("w", "2")).toBe(true);
    expect(await store.isDelivered("w", "new")).toBe(true);
  });

  it("have an id of at most the limit", async () => {
    const { store } = await drivenStore();
    await store.recordDelivery("w", "x".repeat(LIMITS.deliveryId));
    await expect(
      store.recordDelivery("w", "x".repeat(LIMITS.deliveryId + 1)),
    ).rejects.toMatchObject({ code: "TOO_LARGE" });
  });
});

it("P-8: the queue of an earlier version comes along whole", () => {
  const database = new Database(":memory:");
  migrate(database, [INIT, SYNC]);
  database.pragma("foreign_keys = ON");
  database.exec(`
    INSERT INTO project (path) VALUES ('/p');
    INSERT INTO manager (project_id, name) VALUES (1, 'm');
    INSERT INTO spec_body (body) VALUES ('{}');`);
  const columns = database.prepare("SELECT name FROM pragma_table_info('queue')").pluck().all();
  database.pragma("foreign_keys = OFF");
  database.exec(`
    INSERT INTO queue VALUES (7, 1, 0, 5, 3, 'spec', 3, 2, 1, 2, 9, 4, 8, 't', 6, 'r', 1, 'spec', 4, 10);
    INSERT INTO queue (resource_id, lane, class, ready_at, seq, cause, enqueue_seq)
      VALUES (8, 1, 1, 6, 4, 'source', 4);`);
  const before = database.prepare("SELECT * FROM queue ORDER BY resource_id").all();
  migrate(database);
  expect(database.prepare("SELECT * FROM queue ORDER BY resource_id").all()).toEqual(before);
  expect(database.prepare("SELECT name FROM pragma_table_info('queue')").pluck().all()).toEqual(
    columns,
  );
  database.close();
});
