import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { EMPTY_REPORT, SYNC_OWNER, type PruneRecord, type SyncSet } from "../../src/model/sync.ts";
import { LIMITS } from "../../src/model/limits.ts";
import { migrate, SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import { INIT } from "../../src/store/sqlite/migrations/0001-init.ts";
import { openReader } from "../../src/store/sqlite/reader.ts";
import {
  PROJECT,
  resolvedManager,
  specWrite,
  sqliteStore,
  temporaryFolder,
} from "../store/support.ts";

const SET: SyncSet = {
  project: PROJECT,
  commonDir: "/projects/widgets/.git",
  source: { kind: "committed", branch: "main" },
  roots: [".pi/resources"],
  prune: true,
  suspended: false,
  enabledAt: 1,
  enabledBy: "ada",
};

function prune(revision: string): PruneRecord {
  return { revision, items: [], at: 1, hash: "h", confirmedBy: "ada" };
}

describe("the tables of sync", () => {
  it("P-8: are added to a database of the version before, and its rows stay", async () => {
    const file = path.join(temporaryFolder(), "state.sqlite");
    const old = new Database(file);
    migrate(old, [INIT]);
    old.exec("INSERT INTO project (path) VALUES ('/kept')");
    old.close();
    const reader = openReader(file);
    expect(await reader.managers()).toEqual([]);
    expect(await reader.syncSets()).toEqual([]);
    reader.close();

    const { store, connection } = sqliteStore({ path: file });
    expect((await store.info()).schemaVersion).toBe(SCHEMA_VERSION);
    expect(connection.all("SELECT path FROM project")).toEqual([{ path: "/kept" }]);
    expect(await store.syncSets()).toEqual([]);
  });

  it("keep a set with its report when its settings change, until it is removed", async () => {
    const { store } = sqliteStore();
    await store.putSyncSet(SET);
    expect(await store.syncSets()).toEqual([{ set: SET, report: EMPTY_REPORT }]);
    const report = { ...EMPTY_REPORT, conflicts: ["widget a belongs to apply set x"] };
    await store.recordSync(PROJECT, { report, notSynced: [] });
    const paused = { ...SET, suspended: true };
    await store.putSyncSet(paused);
    expect(await store.syncSets(PROJECT)).toEqual([{ set: paused, report }]);
    expect(await store.removeSyncSet(PROJECT)).toBe(true);
    expect(await store.removeSyncSet(PROJECT)).toBe(false);
    await expect(store.recordSync(PROJECT, { report, notSynced: [] })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("keep who confirmed a prune, the latest ones only, also after the set is gone", async () => {
    const { store } = sqliteStore();
    await store.putSyncSet(SET);
    const count = LIMITS.prunesKept + 3;
    for (let number = 0; number < count; number += 1) {
      const prunes = [prune(`r${number}`)];
      await store.recordSync(PROJECT, { report: EMPTY_REPORT, notSynced: [], prunes });
    }
    await store.removeSyncSet(PROJECT);
    const kept = await store.prunes(PROJECT);
    expect(kept).toHaveLength(LIMITS.prunesKept);
    expect(kept[0]).toEqual(prune(`r${count - 1}`));
  });
});

describe("resources that are not as their source says", () => {
  it("get Synced=False once, and are synced again when they no longer are among them", async () => {
    const { store } = sqliteStore();
    await store.acceptManager(PROJECT, resolvedManager("widget"));
    const write = specWrite({ size: 1 }, { origin: { owner: SYNC_OWNER, file: "a" } });
    const { items } = await store.applyBatch({
      project: PROJECT,
      changes: [{ kind: "create", manager: "widget", key: "a", write, expected: 0 }],
    });
    const { uid } = items[0] as { uid: string };
    await store.putSyncSet(SET);
    const mark = { uid, reason: "SourceInvalid", message: "a:1:1: is no JSON" };
    const record = (notSynced: (typeof mark)[]) =>
      store.recordSync(PROJECT, { report: EMPTY_REPORT, notSynced });
    const ref = { project: PROJECT, resourceManager: "widget", key: "a" };

    expect(await record([mark])).toEqual([{ ...ref, uid }]);
    const marked = await store.get(ref);
    expect(marked?.resource.status.conditions).toMatchObject([
      { type: "Synced", status: false, reason: "SourceInvalid", message: "a:1:1: is no JSON" },
    ]);
    expect(await record([mark])).toEqual([]);
    expect(await store.get(ref)).toEqual(marked);

    expect(await record([])).toEqual([{ ...ref, uid }]);
    const synced = await store.get(ref);
    expect(synced?.resource.status.conditions).toMatchObject([{ type: "Synced", status: true }]);
    expect(synced?.resource.metadata.generation).toBe(1);
    expect(await record([])).toEqual([]);
  });
});

describe("a removed resource", () => {
  it("can be read for as long as history keeps it", async () => {
    const { store } = sqliteStore();
    await store.acceptManager(PROJECT, resolvedManager("widget"));
    const ref = { project: PROJECT, resourceManager: "widget", key: "a" };
    expect(await store.removed(ref)).toBeUndefined();
    const write = specWrite({ size: 1 }, { labels: { team: "x" } });
    await store.applyBatch({
      project: PROJECT,
      changes: [{ kind: "create", manager: "widget", key: "a", write, expected: 0 }],
    });
    expect(await store.removed(ref)).toBeUndefined();
    await store.delete({ ref, origin: write.origin });
    expect(await store.removed(ref)).toMatchObject({
      resource: { spec: { size: 1 } },
      labels: { team: "x" },
      owner: write.origin.owner,
    });
  });
});
