import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, vi } from "vitest";
import { backup } from "../../src/server/backup.ts";
import { readBackup } from "../../src/store/sqlite/backup.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import { creation, host, PROJECT } from "../server/hosting.ts";
import { dumpOf } from "../store/dump.ts";
import { Driver, ManualClock, sqliteStore } from "../store/support.ts";
import { count } from "../support/figures.ts";
import {
  distinct,
  failingAt,
  killedAtEach,
  makeFolder,
  REFUSAL,
  sampled,
  STEP,
  usePoints,
} from "./points.ts";

usePoints();
// The soak takes its time.
vi.setConfig({ testTimeout: 3_600_000 });

const DISKS = ["ENOSPC", "EIO"] as const;

describe("a backup", () => {
  const PARTIAL = /\.partial(?:-\w+)?$/;

  /** A folder with `home` and nothing else yet, of a server that works. */
  async function madeHome(): Promise<string> {
    const folder = makeFolder("under");
    const { server } = await host({ home: path.join(folder, "home") });
    const changes = Array.from({ length: 30 }, (_, index) => creation(`k${index}`));
    await server.client.commit({ project: PROJECT, changes });
    return folder;
  }

  /** Nothing or all of it is there, and the next one is made, and leaves nothing else. */
  async function nextOne(place: string): Promise<boolean> {
    const file = path.join(place, "backup");
    const isThere = existsSync(file);
    if (isThere) expect(readBackup(file).facts.resources).toBe(30);
    else expect(await backup(path.join(place, "home"), file)).toMatchObject({ resources: 30 });
    return isThere;
  }

  it("P-7: killed before any change of a file is there whole or not at all, and the next one clears up", async () => {
    const places = await killedAtEach("backup", await madeHome());
    count("kills within a backup", places.length);
    const isThere: boolean[] = [];
    for (const place of sampled(distinct(places, PARTIAL))) {
      isThere.push(await nextOne(place));
      if (!isThere.at(-1)) expect(readdirSync(place).toSorted()).toEqual(["backup", "home"]);
    }
    expect(isThere[0]).toBe(false);
    expect(isThere.lastIndexOf(false)).toBe(isThere.indexOf(true) - 1);
  });

  it.each(DISKS)("P-5: with %s from any change on says so, and leaves nothing", async (error) => {
    const ends = await failingAt("backup", await madeHome(), { error, step: STEP });
    count("backups on a disk that fails", ends.length);
    for (const { place, left, code } of ends.slice(0, -1)) {
      expect({ left, code }).toEqual({ left, code: expect.stringMatching(REFUSAL) as string });
      if (error === "ENOSPC") expect(readdirSync(place)).toEqual(["home"]);
      await nextOne(place);
    }
    expect(ends.at(-1)?.code).toBe(undefined);
    expect(await nextOne(ends.at(-1)?.place as string)).toBe(true);
  });
});

describe("a migration", () => {
  function old(): string {
    const folder = makeFolder("under");
    const database = new Database(path.join(folder, "state.sqlite"));
    database.exec(readFileSync(path.resolve("test/store/releases/v1.sql"), "utf8"));
    database.close();
    return folder;
  }

  /** The version that is there, and what the next start makes of it. */
  function next(place: string): { version: number; dump: string } {
    const file = path.join(place, "state.sqlite");
    const database = new Database(file);
    const version = database.pragma("user_version", { simple: true }) as number;
    expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
    database.close();
    openDatabase(file).close();
    return { version, dump: dumpOf(file) };
  }

  it("P-8: killed before any change of a file leaves one version, whole, which the next start brings to this one", async () => {
    const places = await killedAtEach("migrate", old());
    count("kills within a migration", places.length);
    const ends = sampled(distinct(places, /^$/)).map(next);
    const versions = ends.map(({ version }) => version);
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    expect(new Set(versions)).toEqual(new Set([1, 2, 3, 4, SCHEMA_VERSION]));
    expect(new Set(ends.map(({ dump }) => dump))).toEqual(new Set([ends.at(-1)?.dump]));
  });

  it.each(DISKS)(
    "P-8, P-5: with %s from any change on says so, and leaves a version",
    async (error) => {
      const ends = await failingAt("migrate", old(), { error, step: STEP });
      count("migrations on a disk that fails", ends.length);
      const reference = next(ends.at(-1)?.place as string);
      expect(reference.version).toBe(SCHEMA_VERSION);
      for (const { place, left, code } of ends.slice(0, -1)) {
        expect({ left, code }).toEqual({ left, code: expect.stringMatching(REFUSAL) as string });
        expect(next(place).dump).toBe(reference.dump);
      }
    },
  );
});

describe("writes and the checkpoints between them", () => {
  it.each(DISKS)(
    "P-5: with %s from any change on, what was acknowledged is there, and nothing that was refused",
    async (error) => {
      const folder = makeFolder("under");
      const ends = await failingAt("work", folder, { error, step: STEP * 8 });
      count("stores on a disk that fails", ends.length);
      let refused = 0;
      for (const { place, told = [] } of ends) {
        const codes = told.flatMap(({ code }) => code ?? []);
        refused += codes.length;
        const { store, connection } = sqliteStore({ path: path.join(place, "state.sqlite") });
        expect(connection.database.pragma("integrity_check", { simple: true })).toBe("ok");
        const { items } = await store.list({ limit: 100 });
        const there = new Set(items.map(({ metadata }) => metadata.key));
        const acknowledged = told.filter(({ code }) => code === undefined).map(({ key }) => key);
        expect(acknowledged.filter((key) => !there.has(key))).toEqual([]);
        // Whether what could not be synced survives a crash right after it, nobody can tell.
        const unsynced = told.filter(({ code }) => code?.includes("FSYNC")).map(({ key }) => key);
        const others = new Set([...acknowledged, ...unsynced]);
        expect([...there].filter((key) => !others.has(key))).toEqual([]);
        await new Driver(store, new ManualClock()).begin("m");
      }
      expect(refused).toBeGreaterThan(ends.length);
    },
  );
});
