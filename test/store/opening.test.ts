import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import {
  openDatabase,
  refuseNetworkFolder,
  requireSqlite,
} from "../../src/store/sqlite/database.ts";
import { APPLICATION_ID, migrate, SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { INIT } from "../../src/store/sqlite/migrations/0001-init.ts";
import {
  countedIds,
  Driver,
  ManualClock,
  onTestEnd,
  sqliteStore,
  temporaryFolder,
} from "./support.ts";

function databaseFile(): string {
  return path.join(temporaryFolder(), "state.sqlite");
}

function open(file: string) {
  return openStore({ path: file, clock: new ManualClock(), ids: countedIds() });
}

describe("opening a store", () => {
  it("P-4: refuses a SQLite that can corrupt the database", () => {
    for (const version of ["3.51.2", "3.7.0", "2.99.99"]) {
      expect(() => requireSqlite(version)).toThrow(/is older than 3\.51\.3/);
    }
    for (const version of ["3.51.3", "3.52.0", "3.100.0", "4.0.0"]) {
      expect(() => requireSqlite(version)).not.toThrow();
    }
  });

  it.runIf(process.platform === "linux")("P-4: refuses a folder on a network filesystem", () => {
    expect(() => refuseNetworkFolder("/mnt/nfs", () => 0x6969)).toThrow(/NFS/);
    expect(() => refuseNetworkFolder("/mnt/c", () => 0x0102_1997)).toThrow(/9P/);
    expect(() => refuseNetworkFolder("/", () => 0xef53)).not.toThrow();
  });

  it("P-4: runs with synchronous=FULL, and still does after the first write", async () => {
    const { store, connection, clock } = sqliteStore();
    const synchronous = () => connection.database.pragma("synchronous", { simple: true });
    expect(synchronous()).toBe(2);
    await (await new Driver(store, clock).begin("m")).put("a", 1);
    expect(synchronous()).toBe(2);
  });

  it("P-4: refuses to run where commits would not be durable", async () => {
    const { assertDurable } = await import("../../src/store/sqlite/database.ts");
    const database = openDatabase(databaseFile());
    onTestEnd(() => void database.close());
    database.pragma("synchronous = NORMAL");
    expect(() => assertDurable(database)).toThrow(/synchronous=1/);
  });

  it("marks its file as its own", () => {
    const database = openDatabase(databaseFile());
    onTestEnd(() => void database.close());
    expect(database.pragma("application_id", { simple: true })).toBe(APPLICATION_ID);
    expect(database.pragma("user_version", { simple: true })).toBe(SCHEMA_VERSION);
    expect(database.pragma("journal_mode", { simple: true })).toBe("wal");
  });

  it("P-8: refuses a database of a newer version, and leaves it as it is", async () => {
    const file = databaseFile();
    await (await open(file)).close();
    const newer = new Database(file);
    newer.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
    newer.pragma("wal_checkpoint(TRUNCATE)");
    newer.close();
    const before = readFileSync(file);
    await expect(open(file)).rejects.toMatchObject({ code: "SCHEMA_TOO_NEW" });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("P-8: a migration that fails leaves the version before", () => {
    const database = new Database(databaseFile());
    onTestEnd(() => void database.close());
    migrate(database, [INIT]);
    const broken = "CREATE TABLE added (id INTEGER PRIMARY KEY) STRICT; SELECT nonsense;";
    expect(() => migrate(database, [INIT, broken])).toThrow(/nonsense/);
    expect(database.pragma("user_version", { simple: true })).toBe(1);
    expect(database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'added'").get()).toBe(
      undefined,
    );
    migrate(database, [INIT, "CREATE TABLE added (id INTEGER PRIMARY KEY) STRICT"]);
    expect(database.pragma("user_version", { simple: true })).toBe(2);
  });

  it("refuses another program's database", async () => {
    const file = databaseFile();
    const other = new Database(file);
    other.exec("CREATE TABLE theirs (id INTEGER)");
    other.close();
    await expect(open(file)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  });

  it("refuses a file that is no database", async () => {
    const file = databaseFile();
    writeFileSync(file, "not a database, but long enough to be looked at as one ".repeat(40));
    await expect(open(file)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  });

  it("P-7: after an unclean end, finds damage before anything builds on it", async () => {
    const file = databaseFile();
    const store = await open(file);
    const driver = await new Driver(store, new ManualClock()).begin("m");
    for (let index = 0; index < 50; index += 1) await driver.put(`key ${index}`, "x".repeat(3_000));
    await store.close();
    const bytes = readFileSync(file);
    bytes.fill(0xff, 4096 * 3, 4096 * 12);
    writeFileSync(file, bytes);
    writeFileSync(`${file}-wal`, "what a killed server leaves behind");
    await expect(open(file)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  });

  it("P-7: damage that is met is told once, and has every start refuse until the database is sound", async () => {
    const file = databaseFile();
    const store = await open(file);
    const driver = await new Driver(store, new ManualClock()).begin("m");
    for (let index = 0; index < 50; index += 1) await driver.put(`key ${index}`, "x".repeat(3_000));
    await store.close();
    const sound = readFileSync(file);
    const bytes = Buffer.from(sound);
    bytes.fill(0xff, bytes.length / 2);
    writeFileSync(file, bytes);
    const told: string[] = [];
    const options = { clock: new ManualClock(), ids: countedIds() };
    const damaged = await openStore({
      path: file,
      ...options,
      onDamage: ({ code }) => void told.push(code),
    });
    const codes: unknown[] = [];
    for (let index = 0; index < 50; index += 1) {
      const found = damaged.get(driver.ref(`key ${index}`));
      await found.catch(({ code }: { code: string }) => void codes.push(code));
    }
    await damaged.close().catch(() => undefined);
    expect(new Set(codes)).toEqual(new Set(["STORE_CORRUPT"]));
    expect(told).toEqual(["STORE_CORRUPT"]);
    await expect(open(file)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    writeFileSync(file, sound);
    await (await open(file)).close();
    expect(existsSync(`${file}-damaged`)).toBe(false);
  });

  it("keeps who it is over a restart", async () => {
    const file = databaseFile();
    const first = await open(file);
    const { storeId, epoch } = await first.info();
    await first.beginEpoch();
    await first.close();
    const second = await open(file);
    onTestEnd(() => second.close());
    expect(await second.info()).toMatchObject({ storeId, epoch: epoch + 1 });
  });

  it("refuses work after it was closed", async () => {
    const store = await open(databaseFile());
    await store.close();
    await expect(store.info()).rejects.toMatchObject({ code: "SERVER_STOPPING" });
    await expect(store.repair()).rejects.toMatchObject({ code: "SERVER_STOPPING" });
  });
});
