import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { backup, restore } from "../../src/server/backup.ts";
import { homeAt } from "../../src/server/home.ts";
import { openReader } from "../../src/store/sqlite/reader.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import { Driver, ManualClock, sqliteStore, temporaryFolder } from "./support.ts";

/** A store with something of everything, as each released version wrote it. */
const RELEASES = path.resolve(import.meta.dirname, "releases");
const VERSIONS = readdirSync(RELEASES).map((file) => Number(/\d+/.exec(file)?.[0]));

function written(version: number, file = path.join(temporaryFolder(), "state.sqlite")): string {
  const database = new Database(file);
  database.exec(readFileSync(path.join(RELEASES, `v${version}.sql`), "utf8"));
  expect(database.pragma("foreign_key_check")).toEqual([]);
  database.close();
  return file;
}

type Tables = Record<string, Record<string, unknown>[]>;

/** Every row of every table, by its columns. */
function rowsOf(database: Database.Database): Tables {
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all() as string[];
  return Object.fromEntries(
    tables.map((name) => [
      name,
      database.prepare(`SELECT * FROM "${name}"`).all() as Record<string, unknown>[],
    ]),
  );
}

function schemaOf(database: Database.Database): unknown {
  const columns = database.prepare(
    `SELECT t.name AS "table", c.name, c.type, c."notnull", c.dflt_value, c.pk
     FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'
     ORDER BY t.name, c.name`,
  );
  const indexes = database.prepare(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name",
  );
  return { columns: columns.all(), indexes: indexes.all() };
}

it("there is a store of every version before this one", () => {
  const before = Array.from({ length: SCHEMA_VERSION - 1 }, (_, index) => index + 1);
  expect(VERSIONS).toEqual(expect.arrayContaining(before));
});

describe.each(VERSIONS)("a store of schema version %i", (version) => {
  it("P-8: becomes one of this version, with every value that it held", async () => {
    const file = written(version);
    const old = new Database(file, { readonly: true });
    const before = rowsOf(old);
    old.close();

    const { connection } = sqliteStore({ path: file });
    const { database } = connection;
    expect(database.pragma("user_version", { simple: true })).toBe(SCHEMA_VERSION);
    expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
    expect(database.pragma("foreign_key_check")).toEqual([]);
    const after = rowsOf(database);
    for (const [table, rows] of Object.entries(before)) {
      const kept = rows.map((row) =>
        table === "store_state" ? { ...row, opened_at: expect.any(Number) as number } : row,
      );
      expect({ table, rows: after[table] }).toMatchObject({ table, rows: kept });
      expect(after[table]).toHaveLength(rows.length);
    }
    expect(schemaOf(database)).toEqual(schemaOf(sqliteStore().connection.database));
  });

  it("is worked on, read beside a server that is not upgraded yet, backed up and restored", async () => {
    const home = path.join(temporaryFolder(), "home");
    const { database: file } = homeAt(home);
    const clock = new ManualClock();
    mkdirSync(home);
    written(version, file);
    const reader = openReader(file);
    expect((await reader.list({})).items.map(({ metadata }) => metadata.key)).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(await reader.effects({ open: true })).toHaveLength(2);
    reader.close();
    const target = path.join(path.dirname(home), "backup");
    expect(await backup(home, target, clock)).toMatchObject({
      schemaVersion: version,
      resources: 3,
      openEffects: 2,
      openRuns: version < 4 ? 0 : 1,
    });
    await restore(home, target, { clock });

    const { store } = sqliteStore({ path: file, clock });
    const driver = await new Driver(store, clock).begin("m");
    clock.advance(3_600_000);
    const claimed = await driver.claim(10, ["m"]);
    // `b` is suspended, `d` removed.
    expect(claimed.map(({ resource }) => resource.metadata.key).toSorted()).toEqual(["a", "c"]);
    expect(claimed.find(({ resource }) => resource.metadata.key === "a")?.resource).toMatchObject({
      spec: { x: 2 },
      status: { resourceManagerStatus: { phase: "one" } },
    });
  });
});
