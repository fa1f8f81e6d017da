import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { EMPTY_REPORT } from "../../src/model/sync.ts";
import { examine, type Diagnosis } from "../../src/server/doctor.ts";
import { judge, type Facts } from "../../src/server/doctor-checks.ts";
import { homeAt } from "../../src/server/home.ts";
import { creation, host, PROJECT } from "./hosting.ts";
import { tempFolder } from "./temp.ts";

/** An installation in which all is well. */
const WELL: Facts = {
  now: Date.UTC(2026, 5, 1),
  node: "22.20.0",
  sqlite: { version: "3.53.2" },
  folder: { path: "/h", exists: true, isFolder: true, isOwn: true, mode: 0o700, freeBytes: 1e12 },
  config: {},
  server: { state: "absent" },
  git: { program: "git", version: "2.45.0" },
  pi: { program: "pi", version: "0.85.0" },
  store: {
    bytes: 4096,
    walBytes: 0,
    isOurs: true,
    schemaVersion: 5,
    knownSchema: 5,
    integrity: "ok",
    latestAt: Date.UTC(2026, 4, 31),
    digests: [],
    workflows: 1,
    parkedEffects: { count: 0, first: [] },
    stalledResources: { count: 0, first: [] },
    interruptedRuns: { count: 0, first: [] },
    undefinedManagers: { count: 0, first: [] },
    syncs: [],
  },
  missingCode: [],
  restoring: false,
  orphans: [],
};

const store = (changed: Partial<NonNullable<Facts["store"]>>): Partial<Facts> => ({
  store: { ...(WELL.store as NonNullable<Facts["store"]>), ...changed },
});
const folder = (changed: Partial<Extract<Facts["folder"], { exists: true }>>): Partial<Facts> => ({
  folder: { ...(WELL.folder as Extract<Facts["folder"], { exists: true }>), ...changed },
});
const one = { count: 7, first: ["m a", "m b"] };
const failingSync = {
  set: { project: "/p" },
  report: {
    ...EMPTY_REPORT,
    conditions: [
      {
        type: "Synced",
        status: false,
        reason: "Invalid",
        message: "a.json can't be read",
        lastTransitionTime: "",
      },
    ],
  },
} as unknown as NonNullable<Facts["store"]>["syncs"][number];

describe("what doctor says of facts", () => {
  it("is that all is well, where it is", () => {
    expect(judge(WELL).filter(({ level }) => level !== "ok")).toEqual([]);
    const { store: _store, ...none } = WELL;
    expect(
      judge({ ...none, folder: { path: "/h", exists: false } }).map(({ level }) => level),
    ).not.toContain("problem");
  });

  const faults: [what: string, Partial<Facts>, level: string, message: RegExp, hint: RegExp][] = [
    ["node", { node: "20.18.3" }, "problem", /20\.18\.3 is too old/, /Install Node/],
    [
      "sqlite",
      { sqlite: { version: "3.50.0", fault: "old", hint: "Install" } },
      "problem",
      /old/,
      /Install/,
    ],
    ["state folder", folder({ isOwn: false }), "problem", /another user/, /PI_WORKFLOWS_HOME/],
    ["state folder", folder({ isFolder: false }), "problem", /not a folder/, /PI_WORKFLOWS_HOME/],
    ["state folder", folder({ mode: 0o755 }), "problem", /mode 755/, /chmod 700/],
    ["state folder", folder({ fault: "it is on NFS", hint: "local" }), "problem", /NFS/, /local/],
    ["disk", folder({ freeBytes: 1e8 }), "warning", /95 MiB free/, /Free some space/],
    ["disk", folder({ freeBytes: 1e6 }), "problem", /0 MiB free/, /Free some space/],
    ["config.json", { config: { fault: "no JSON", hint: "Mend" } }, "problem", /no JSON/, /Mend/],
    ["server", { server: { state: "silent", pid: 7 } }, "problem", /does not answer/, /kill 7/],
    ["server", { server: { state: "died" } }, "warning", /without cleaning up/, /Nothing to do/],
    [
      "server",
      { server: { state: "other", message: "version 9" } },
      "problem",
      /version 9/,
      /server stop/,
    ],
    ["restore", { restoring: true }, "warning", /cut short/, /server start/],
    ["database", store({ unreadable: "not a database" }), "problem", /not a database/, /restore/],
    ["database", store({ isOurs: false }), "problem", /another program's/, /Move it/],
    ["database", store({ schemaVersion: 6 }), "problem", /newer than 5/, /Upgrade/],
    ["database", store({ integrity: "page 3" }), "problem", /damaged: page 3/, /restore/],
    ["write-ahead log", store({ walBytes: 2e9 }), "warning", /1908 MiB/, /lsof/],
    [
      "clock",
      store({ latestAt: WELL.now + 3_600_000 }),
      "warning",
      /60 minutes ahead/,
      /Set the clock/,
    ],
    ["definitions", { missingCode: ["abcdef0123456789"] }, "problem", /abcdef012345$/, /Apply/],
    ["definitions", store({ undefinedManagers: one }), "problem", /m a, m b and 5 more/, /Apply/],
    ["effects", store({ parkedEffects: one }), "problem", /m a/, /effect resolve/],
    ["resources", store({ stalledResources: one }), "problem", /given up/, /why MANAGER KEY/],
    ["runs", store({ interruptedRuns: one }), "problem", /waits for a person/, /run show/],
    [
      "sync",
      store({ syncs: [failingSync] }),
      "problem",
      /\/p: a\.json can't be read/,
      /sync status/,
    ],
    [
      "git",
      { git: { program: "git", fault: "it is not installed" } },
      "warning",
      /not installed/,
      /git 2\.31/,
    ],
    ["git", { git: { program: "git", version: "2.20.1" } }, "warning", /too old/, /git 2\.31/],
    [
      "pi",
      { pi: { program: "pi", fault: "it is not installed" } },
      "warning",
      /not installed/,
      /pi\.command/,
    ],
    ["runners", { orphans: [4, 5] }, "warning", /4, 5 run without a server/, /server start/],
  ];

  it.each(faults)("%s: %j", (check, changed, ...[level, message, hint]) => {
    const found = judge({ ...WELL, ...changed }).filter((finding) => finding.level !== "ok");
    expect(found).toEqual([
      {
        check,
        level,
        message: expect.stringMatching(message) as string,
        hint: expect.stringMatching(hint) as string,
      },
    ]);
  });

  it("is nothing of what a database that can't be read may hold", () => {
    const checks = judge({ ...WELL, ...store({ unreadable: "x" }) }).map(({ check }) => check);
    expect(checks).not.toContain("effects");
  });
});

describe("doctor", () => {
  const notWell = ({ findings }: Diagnosis) =>
    findings.filter(({ level, check }) => level !== "ok" && check !== "pi" && check !== "disk");

  it("of a folder that is not there is well, and makes none", async () => {
    const home = path.join(tempFolder(), "home");
    expect(notWell(await examine(home))).toEqual([]);
    expect(() => readFileSync(home)).toThrow("ENOENT");
  });

  it("sees a server, and afterwards that it is gone", async () => {
    const { server, home } = await host();
    await server.client.commit({ project: PROJECT, changes: [creation("a")] });
    const running = await examine(home);
    expect(notWell(running)).toEqual([]);
    expect(running.findings).toContainEqual({
      check: "server",
      level: "ok",
      message: expect.stringContaining(`pid ${process.pid}`) as string,
    });
    await server.stop();
    expect(notWell(await examine(home))).toEqual([]);
  });

  it("finds a parked effect, a stalled resource, damage, and a folder open to others; changes nothing", async () => {
    const { server, home } = await host();
    await server.client.commit({ project: PROJECT, changes: [creation("a"), creation("b")] });
    await server.stop();
    const { database: file, config } = homeAt(home);
    const database = new Database(file);
    database.exec(`UPDATE resource SET held_generation = generation WHERE key = 'a';
      INSERT INTO effect (resource_id, key, kind, generation, fingerprint, request, state, attempts,
        parked, claim_token, started_at, sequence)
      SELECT id, 'k', 'k', 1, 'f', '{}', 'indeterminate', 1, 1, 't', 1, 1 FROM resource WHERE key = 'b'`);
    database.close();
    writeFileSync(config, "{");
    chmodSync(home, 0o755);
    const found = await examine(home);
    expect(found.ok).toBe(false);
    expect(notWell(found).map(({ check, message }) => [check, message])).toEqual([
      ["state folder", expect.stringContaining("mode 755")],
      ["config.json", expect.stringContaining(config)],
      ["effects", "quiet b: nobody can tell whether an effect happened"],
      ["resources", "quiet a: given up until the spec changes"],
    ]);
    const bytes = readFileSync(file);
    bytes.fill(0xff, 8_192, 12_288);
    writeFileSync(file, bytes);
    expect((await examine(home)).findings).toContainEqual(
      expect.objectContaining({ check: "database", level: "problem" }),
    );
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });

  it("says so where the database is no database", async () => {
    const home = tempFolder();
    mkdirSync(home, { recursive: true });
    writeFileSync(homeAt(home).database, "hello, this is no database at all, only some text");
    const { findings } = await examine(home);
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: "database",
        level: "problem",
        hint: expect.stringContaining("restore") as string,
      }),
    );
  });
});
