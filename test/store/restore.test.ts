import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { backup, restore } from "../../src/server/backup.ts";
import { homeAt } from "../../src/server/home.ts";
import { acquireLock } from "../../src/server/lock.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import type { Claim, Claimed } from "../../src/store/store.ts";
import {
  countedIds,
  Driver,
  EFFECT,
  ManualClock,
  SETTLED,
  sqliteStore,
  START,
  temporaryFolder,
} from "./support.ts";

/** A state folder with an open store. */
async function opened(home = path.join(temporaryFolder(), "home"), clock = new ManualClock()) {
  mkdirSync(home, { recursive: true });
  const { store } = sqliteStore({ path: homeAt(home).database, clock });
  const driver = await new Driver(store, clock).begin("m");
  await driver.accept();
  return { home, clock, driver };
}

type Opened = Awaited<ReturnType<typeof opened>>;

async function takeBackup({ home, clock }: Opened): Promise<string> {
  const file = path.join(path.dirname(home), `backup-${clock.now()}`);
  await backup(home, file, clock);
  return file;
}

/** Closes the store, restores the backup, and opens what is there then. */
async function restored({ home, clock, driver }: Opened, file: string): Promise<Opened> {
  await driver.store.close();
  await restore(home, file, { clock });
  return opened(home, clock);
}

async function apply(
  { driver }: Opened,
  claim: Claim,
  key: string,
  externalRef = "ref",
): Promise<string> {
  const { next, effect } = await driver.store.beginEffect(claim, { ...EFFECT, key });
  const { requestFingerprint } = effect;
  const outcome = { state: "applied" as const, externalRef };
  if (next === "call") await driver.store.settleEffect(claim, { key, requestFingerprint, outcome });
  return next;
}

async function claimed({ driver }: Opened, key = "a"): Promise<Claimed> {
  await driver.put(key, 1);
  return driver.claimOne();
}

describe("E-12: a restored store", () => {
  it("observes what happened after the backup, of which it knows nothing, before it calls", async () => {
    const before = await opened();
    const pass = await claimed(before);
    const file = await takeBackup(before);
    expect(await apply(before, pass.claim, "merge")).toBe("call");

    const after = await restored(before, file);
    after.clock.advance(LIMITS.backoffCapMs);
    const { claim } = await after.driver.claimOne();
    const decision = await after.driver.store.beginEffect(claim, { ...EFFECT, key: "merge" });
    expect(decision).toMatchObject({ next: "observe", effect: { state: "indeterminate" } });
    // What was called was called before the restore: its window counts from there.
    expect(decision.effect.startedAt).toBe(new Date(START).toISOString());
    const proven = { ...EFFECT, key: "merge", provenAbsent: true };
    expect((await after.driver.store.beginEffect(claim, proven)).next).toBe("call");
  });

  it("observes what was under way at the backup", async () => {
    const before = await opened();
    const pass = await claimed(before);
    await before.driver.store.beginEffect(pass.claim, EFFECT);
    const file = await takeBackup(before);

    const after = await restored(before, file);
    after.clock.advance(LIMITS.backoffCapMs);
    const { claim } = await after.driver.claimOne();
    expect((await after.driver.store.beginEffect(claim, EFFECT)).next).toBe("observe");
  });

  it("looks once more at what ended shortly before, keeps it, and says what it saw", async () => {
    const before = await opened();
    const pass = await claimed(before);
    await apply(before, pass.claim, "old");
    before.clock.advance(LIMITS.restoredDoubtMs + 1);
    await apply(before, pass.claim, "recent", "r1");
    const file = await takeBackup(before);

    const after = await restored(before, file);
    after.clock.advance(LIMITS.backoffCapMs);
    const { claim } = await after.driver.claimOne();
    const { store } = after.driver;
    const begin = (key: string) => store.beginEffect(claim, { ...EFFECT, key });
    expect((await begin("old")).next).toBe("done");
    const { next, effect } = await begin("recent");
    expect(next).toBe("observe");
    const { requestFingerprint } = effect;
    const outcome = { state: "indeterminate" as const, reason: "absent", park: false };
    const kept = await store.settleEffect(claim, { key: "recent", requestFingerprint, outcome });
    expect(kept).toMatchObject({ state: "applied", externalRef: "r1" });
    expect((await begin("recent")).next).toBe("done");
    const uid = claim.uid;
    const reasons = (await store.events({ uid })).map(({ reason }) => reason);
    expect(reasons).toContain("EffectNotConfirmed");
  });

  it("is in doubt of resources made anew after it, as long as they can be lost ones", async () => {
    const before = await opened();
    const file = await takeBackup(before);
    const after = await restored(before, file);
    after.clock.advance(LIMITS.restoredDoubtMs);
    const recreated = await claimed(after, "lost");
    expect(await apply(after, recreated.claim, "merge")).toBe("observe");
    await after.driver.settle(recreated, SETTLED);
    after.clock.advance(1);
    const fresh = await claimed(after, "new");
    expect(await apply(after, fresh.claim, "merge")).toBe("call");
  });

  it("has another identity, and numbers that the lost store can't have given", async () => {
    const before = await opened();
    await before.driver.put("a", 1);
    const { storeId } = await before.driver.store.info();
    const file = await takeBackup(before);
    for (let size = 2; size < 30; size += 1) await before.driver.put("a", size);
    const lost = await before.driver.version("a");

    const after = await restored(before, file);
    const info = await after.driver.store.info();
    expect(info.storeId).not.toBe(storeId);
    await after.driver.put("a", 2);
    expect(await after.driver.version("a")).toBeGreaterThan(lost);
  });

  it("looks at every resource again, but starts nothing that was given up or suspended", async () => {
    const before = await opened();
    await before.driver.put("a", 1);
    await before.driver.settle(await before.driver.claimOne(), SETTLED);
    await before.driver.put("b", 1);
    await before.driver.store.suspend(before.driver.ref("b"), true);
    const file = await takeBackup(before);
    const after = await restored(before, file);
    const causes = (await after.driver.store.queue({})).map(({ key, cause }) => ({ key, cause }));
    expect(causes).toEqual([{ key: "a", cause: "recovery" }]);
  });

  it("says from which pass on a run may have done more than its journal says", async () => {
    const before = await opened();
    await before.driver.start({}, { requestKey: "one" });
    await before.driver.claimRun();
    const file = await takeBackup(before);
    const after = await restored(before, file);
    after.clock.advance(LIMITS.backoffCapMs);
    expect(await after.driver.claimRun()).toMatchObject({ run: { epochs: 2 }, doubtedFrom: 2 });
    // Asked for by its name, as it may have been before; one without a name is another run.
    await after.driver.start({}, { requestKey: "two" });
    expect(await after.driver.claimRun()).toMatchObject({ doubtedFrom: 1 });
    await after.driver.start();
    expect(await after.driver.claimRun()).not.toHaveProperty("doubtedFrom");
  });
});

describe("a backup", () => {
  it("holds the code that the store names, and restores it", async () => {
    const home = path.join(temporaryFolder(), "home");
    const digest = "a".repeat(64);
    const before = await opened(home);
    const { store } = before.driver;
    await store.acceptManager("/p", { ...(await managerOf(before)), name: "n", digest });
    mkdirSync(homeAt(home).bundles, { recursive: true });
    writeFileSync(homeAt(home).bundle(digest), "export default 1;");
    const file = await takeBackup(before);
    writeFileSync(homeAt(home).bundle(digest), "damaged");
    await restored(before, file);
    expect(readFileSync(homeAt(home).bundle(digest), "utf8")).toBe("export default 1;");
  });

  it("is this user's alone, complete in one file, and never written over another", async () => {
    const before = await opened();
    await before.driver.put("a", 1);
    const file = await takeBackup(before);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.dirname(file)).toSorted()).toEqual(
      [path.basename(file), "home"].toSorted(),
    );
    await expect(takeBackup(before)).rejects.toMatchObject({ code: "USAGE" });
  });

  it("is whole though the store is written meanwhile", async () => {
    const before = await opened();
    for (let n = 0; n < 200; n += 1) await before.driver.put(`k${n}`, { n });
    const writing = (async () => {
      for (let n = 0; n < 200; n += 1) await before.driver.put(`k${n}`, { n: -n });
    })();
    const file = path.join(path.dirname(before.home), "busy");
    const facts = await backup(before.home, file, before.clock);
    await writing;
    expect(facts).toMatchObject({ resources: 200, schemaVersion: SCHEMA_VERSION });
    const after = await restored(before, file);
    expect((await after.driver.store.list({ limit: 500 })).items).toHaveLength(200);
  });
});

describe("a restore", () => {
  it("keeps the database that it replaces, with what its log held", async () => {
    const before = await opened();
    const file = await takeBackup(before);
    await before.driver.put("after", 1);
    await before.driver.store.close();
    const { kept } = await restore(before.home, file, { clock: before.clock, ids: countedIds() });
    const old = new Database(kept, { readonly: true });
    expect(old.prepare("SELECT key FROM resource").pluck().all()).toEqual(["after"]);
    old.close();
    const after = await opened(before.home, before.clock);
    expect((await after.driver.store.list({})).items).toEqual([]);
  });

  it("works where the database is damaged, and keeps that with its log", async () => {
    const before = await opened();
    await before.driver.put("a", 1);
    const file = await takeBackup(before);
    await before.driver.store.close();
    const { database } = homeAt(before.home);
    writeFileSync(database, "no database at all");
    writeFileSync(`${database}-wal`, "no log");
    const { kept } = await restore(before.home, file, { clock: before.clock, ids: countedIds() });
    expect(readFileSync(kept as string, "utf8")).toBe("no database at all");
    expect(existsSync(`${database}-wal`)).toBe(false);
    const after = await opened(before.home, before.clock);
    expect((await after.driver.store.list({})).items).toHaveLength(1);
  });

  it("is refused while a server runs", async () => {
    const before = await opened();
    const file = await takeBackup(before);
    const release = acquireLock(homeAt(before.home));
    await expect(restore(before.home, file)).rejects.toMatchObject({ code: "SERVER_RUNNING" });
    release();
  });

  const damages: [what: string, damage: (file: string) => void, code: string][] = [
    ["is another file", (file) => writeFileSync(file, "hello"), "INVALID_BACKUP"],
    [
      "is cut off",
      (file) => writeFileSync(file, readFileSync(file).subarray(0, 9_000)),
      "INVALID_BACKUP",
    ],
    [
      "has other code than was written",
      (file) => change(file, "UPDATE backup_file SET body = x'00'"),
      "INVALID_BACKUP",
    ],
    [
      "names a file elsewhere",
      (file) => change(file, "UPDATE backup_file SET name = '../evil.mjs'"),
      "INVALID_BACKUP",
    ],
    ["was not finished", (file) => change(file, "DELETE FROM backup"), "INVALID_BACKUP"],
    [
      "comes from a newer version",
      (file) => change(file, `PRAGMA user_version = ${SCHEMA_VERSION + 1}`),
      "SCHEMA_TOO_NEW",
    ],
  ];

  it.each(damages)("of a file that %s changes nothing", async (_, damage, code) => {
    const home = path.join(temporaryFolder(), "home");
    const digest = "b".repeat(64);
    const before = await opened(home);
    await before.driver.store.acceptManager("/p", { ...(await managerOf(before)), digest });
    mkdirSync(homeAt(home).bundles, { recursive: true });
    writeFileSync(homeAt(home).bundle(digest), "export default 1;");
    const file = await takeBackup(before);
    await before.driver.put("a", 1);
    await before.driver.store.close();
    const was = readFileSync(homeAt(home).database);
    damage(file);
    await expect(restore(home, file)).rejects.toMatchObject({ code });
    expect(readFileSync(homeAt(home).database).equals(was)).toBe(true);
    expect(readdirSync(home).filter((name) => name.includes("restor"))).toEqual([]);
  });

  it("of a database of another program, or of a store itself, is refused", async () => {
    const before = await opened();
    await before.driver.store.close();
    const file = path.join(temporaryFolder(), "copy");
    copyFileSync(homeAt(before.home).database, file);
    await expect(restore(before.home, file)).rejects.toMatchObject({ code: "INVALID_BACKUP" });
  });
});

async function managerOf({ driver }: Opened) {
  const [record] = await driver.store.managers();
  if (!record) throw new Error("no manager");
  const { lane: _lane, project: _project, acceptedAt: _acceptedAt, ...manager } = record;
  return manager;
}

function change(file: string, sql: string): void {
  const database = new Database(file);
  database.exec(sql);
  database.close();
}
