import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import type { ListQuery, ResourceManagerStore, StoreReader } from "../../src/store/store.ts";
import { openReader } from "../../src/store/sqlite/reader.ts";
import {
  Driver,
  onTestEnd,
  PROJECT,
  SETTLED,
  specWrite,
  sqliteStore,
  temporaryFolder,
} from "./support.ts";

async function start() {
  const opened = sqliteStore();
  return { ...opened, driver: await new Driver(opened.store, opened.clock).begin("m", "n") };
}

function reading(file: string) {
  const reader = openReader(file);
  onTestEnd(() => {
    reader.close();
  });
  return reader;
}

async function all(store: StoreReader, query: ListQuery): Promise<string[]> {
  const names: string[] = [];
  for (let after: string | undefined; ;) {
    const page = await store.list({ ...query, ...(after === undefined ? {} : { after }) });
    names.push(...page.items.map(({ metadata }) => `${metadata.resourceManager} ${metadata.key}`));
    if (page.next === undefined) return names;
    after = page.next;
  }
}

describe("the query-only reader", () => {
  it("reads beside a running server, and sees what is committed", async () => {
    const { driver, path: file } = await start();
    const reader = reading(file);
    expect(await reader.get(driver.ref("a"))).toBeUndefined();
    await driver.put("a", { x: 1 });
    const stored = await reader.get(driver.ref("a"));
    expect(stored).toEqual(await driver.store.get(driver.ref("a")));
    expect(await reader.snapshot(PROJECT)).toEqual(await driver.store.snapshot(PROJECT));
    expect(await reader.specs([stored?.resource.metadata.uid ?? ""])).toEqual(
      new Map([[stored?.resource.metadata.uid, '{"x":1}']]),
    );
  });

  it("reads with no server, and leaves the database as it is", async () => {
    const { driver, store, path: file } = await start();
    await driver.put("a", 1);
    await store.close();
    const before = readFileSync(file);
    const reader = openReader(file);
    expect((await reader.list({})).items).toHaveLength(1);
    expect(await reader.info()).toMatchObject({
      resources: 1,
      schemaVersion: expect.any(Number) as number,
    });
    reader.close();
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(existsSync(`${file}-wal`) && readFileSync(`${file}-wal`).length > 0).toBe(false);
  });

  it("reads what a killed server left in its log", async () => {
    const { driver, path: file } = await start();
    await driver.put("a", 1);
    expect(readFileSync(`${file}-wal`).length).toBeGreaterThan(0);
    expect((await reading(file).list({})).items).toHaveLength(1);
  });

  it("reads as empty where there is no database, and makes none", async () => {
    const file = path.join(temporaryFolder(), "state.sqlite");
    const reader = reading(file);
    expect(await reader.list({})).toEqual({ items: [] });
    expect(await reader.snapshot(PROJECT)).toEqual({ revision: 0, resources: [] });
    expect(await reader.info()).toMatchObject({ resources: 0, revision: 0 });
    expect(await reader.lanes()).toEqual([]);
    expect(existsSync(file)).toBe(false);
  });

  it("refuses a database of a newer version", async () => {
    const { store, path: file } = await start();
    await store.close();
    const newer = new Database(file);
    newer.pragma("user_version = 99");
    newer.close();
    expect(() => openReader(file)).toThrow(
      expect.objectContaining({ code: "SCHEMA_TOO_NEW" }) as Error,
    );
  });

  it("loads nothing heavy: it stands on the start-up path of the command line", async () => {
    const { metafile } = await build({
      entryPoints: ["src/store/sqlite/reader.ts"],
      bundle: true,
      platform: "node",
      packages: "external",
      write: false,
      metafile: true,
      logLevel: "silent",
    });
    const packages = Object.values(metafile.outputs)
      .flatMap(({ imports }) => imports.map(({ path: name }) => name))
      .filter((name) => !name.startsWith("node:"));
    expect([...new Set(packages)]).toEqual(["better-sqlite3"]);
  });
});

describe("a list", () => {
  async function listed(): Promise<Driver<ResourceManagerStore>> {
    const { driver } = await start();
    const ready = [{ type: "Ready", status: true as const, reason: "Done" }];
    for (const key of ["c", "a", "b"]) {
      await driver.put(key, 1, { labels: { team: key === "a" ? "red" : "blue", tier: "1" } });
    }
    const owner = { kind: "sync" as const, name: "main" };
    await driver.put("z", 1, { manager: "n", origin: { owner } });
    for (const claimed of await driver.claim(2, ["m"])) {
      await driver.settle(claimed, { kind: "settled", conditions: ready });
    }
    return driver;
  }

  it.each([1, 2, 3, 4, 100])(
    "comes in pages of %s, each resource once, in order",
    async (limit) => {
      const driver = await listed();
      expect(await all(driver.store, { limit })).toEqual(["m a", "m b", "m c", "n z"]);
    },
  );

  it.each<[string, ListQuery, string[]]>([
    ["manager", { manager: "n" }, ["n z"]],
    ["project", { project: "/elsewhere" }, []],
    ["labels", { labels: { team: "blue", tier: "1" } }, ["m b", "m c"]],
    ["owner", { owner: { kind: "sync", name: "main" } }, ["n z"]],
    ["readiness", { notReady: true }, ["m b", "n z"]],
  ])("can be narrowed by %s", async (_, query, expected) => {
    const driver = await listed();
    expect(await all(driver.store, { ...query, limit: 1 })).toEqual(expected);
  });

  it("G-10: counts a resource as ready only for the generation it was computed from", async () => {
    const driver = await listed();
    await driver.put("a", 2, { labels: {} });
    expect(await all(driver.store, { notReady: true })).toContain("m a");
  });

  it("G-10: takes only the condition Ready for readiness, and only where it is true", async () => {
    const driver = await listed();
    const [claimed] = await driver.claim(1, ["m"]);
    expect(claimed?.resource.metadata.key).toBe("b");
    const conditions = [
      { type: "Merged", status: true as const, reason: "Seen" },
      { type: "Ready", status: false as const, reason: "Waiting" },
    ];
    if (claimed) await driver.settle(claimed, { kind: "settled", conditions });
    expect(await all(driver.store, { notReady: true })).toContain("m b");
  });

  it("refuses a cursor that is not its own", async () => {
    const driver = await listed();
    await expect(driver.store.list({ after: "bm90IG91cnM" })).rejects.toMatchObject({
      code: "BAD_REQUEST",
    });
  });

  it("never gives more than a page", async () => {
    const { driver } = await start();
    const changes = Array.from({ length: LIMITS.page + 1 }, (_, index) => ({
      kind: "create" as const,
      manager: "m",
      key: `key ${index}`,
      write: specWrite(index),
      expected: 0 as const,
    }));
    await driver.store.applyBatch({ project: PROJECT, changes });
    expect((await driver.store.list({ limit: 10_000 })).items).toHaveLength(LIMITS.page);
  });

  it("shows the queue of a project, running keys first", async () => {
    const driver = await listed();
    await driver.pass(SETTLED);
    await driver.claimOne();
    await driver.store.enqueue([{ target: driver.ref("b"), cause: "schedule", delayMs: 9_000 }]);
    const entries = await driver.store.queue({ project: PROJECT });
    expect(entries.map(({ key, claimed }) => [key, claimed])).toEqual([
      ["z", true],
      ["b", false],
    ]);
    expect(await driver.store.queue({ uid: entries[1]?.uid ?? "" })).toHaveLength(1);
  });
});
