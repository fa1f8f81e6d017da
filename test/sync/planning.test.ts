import { describe, expect, it } from "vitest";
import type { ApplyBatch, SnapshotEntry } from "../../src/model/batch.ts";
import { canonicalJson, fingerprintText } from "../../src/model/canonical.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import type { Owner } from "../../src/model/resource.ts";
import { SYNC_OWNER } from "../../src/model/sync.ts";
import { userName } from "../../src/server/sync/sync-once.ts";
import { conditionOf } from "./syncing.ts";
import { fileOf, PROJECT, widgets, World } from "./world.ts";

const ADA: Owner = { kind: "person", name: "ada" };
const SIX = { a: 1, b: 1, c: 1, d: 1, e: 1, f: 1 };
const ONLY_A = widgets({ a: { size: 1 } });

async function entryOf(world: World, key: string): Promise<SnapshotEntry> {
  const { resources } = await world.store.snapshot(PROJECT);
  const entry = resources.find((other) => other.key === key);
  if (!entry) throw new Error(`there is no widget ${key}`);
  return entry;
}

/** Writes a widget behind the back of the sync. */
async function write(world: World, key: string, size: number, owner = ADA): Promise<void> {
  const { resources } = await world.store.snapshot(PROJECT);
  const before = resources.find((entry) => entry.key === key);
  const spec = canonicalJson({ size });
  await world.store.applyBatch({
    project: PROJECT,
    changes: [
      {
        kind: before ? "update" : "create",
        manager: "widget",
        key,
        expected: before?.resourceVersion ?? 0,
        write: {
          spec,
          specHash: fingerprintText(spec),
          initialStatus: "{}",
          labels: {},
          dependsOn: [],
          prunable: true,
          suspended: false,
          origin: { owner, command: `apply widget ${key}` },
        },
      } as ApplyBatch["changes"][number],
    ],
  });
}

/** The condition that a widget's own status shows of the sync. */
async function markOf(world: World, key: string) {
  const stored = await world.store.get({ project: PROJECT, resourceManager: "widget", key });
  return stored?.resource.status.conditions.find(({ type }) => type === "Synced");
}

describe("a prune that is held", () => {
  it("A-6: waits with its reasons and dependents, since the moment when that very set was first seen", async () => {
    const world = new World();
    await world.start(widgets({ ...SIX, a: { size: 1, dependsOn: ["widget/b"] } }));
    const seen = world.clock.now();
    const held = await world.sync({});
    expect(held.report.pendingPrune?.state).toBe("blocked");
    await world.clock.advance(1_000);
    // Nothing in it depends on b any more.
    const { report } = await world.sync(ONLY_A);
    const pending = report.pendingPrune;
    expect(pending).toMatchObject({
      state: "held",
      since: seen + 1_000,
      revision: "r3",
      reasons: [expect.stringContaining("5 of 6")],
    });
    expect(pending?.items.map(({ key }) => key)).toEqual(["f", "e", "d", "c", "b"]);
    expect(pending?.items[0]).toMatchObject({
      file: fileOf("f"),
      generation: 1,
      reason: `${fileOf("f")} was removed by r3 (Ada: tidy)`,
      removedBy: { id: "r3" },
      dependents: [],
    });
    expect(await markOf(world, "f")).toMatchObject({ status: false, reason: "PruneHeld" });

    await world.clock.advance(1_000);
    const same = await world.sync(widgets({ a: 2 }));
    expect(same.report.pendingPrune).toMatchObject({ since: seen + 1_000, revision: "r4" });
    const larger = await world.sync(widgets({ a: 2, b: 1 }));
    expect(larger.report.pendingPrune).toMatchObject({ since: seen + 2_000 });
    expect(Object.keys(await world.sizes())).toEqual(Object.keys(SIX));
  });

  it("A-6: names what stays and depends on what would go, but not what goes too", async () => {
    const world = new World();
    const needsB = { size: 1, dependsOn: ["widget/b"] };
    await world.start(widgets({ ...SIX, c: needsB, d: needsB }));
    await world.store.applyBatch({
      project: PROJECT,
      changes: [await protectedAgain(world, "c")],
    });
    const { report } = await world.sync(ONLY_A);
    const b = report.pendingPrune?.items.find(({ key }) => key === "b");
    expect(b?.dependents).toEqual(["widget/c"]);
  });

  it("A-6: once confirmed deletes exactly that set, and keeps who confirmed it", async () => {
    const world = new World();
    await world.start(widgets(SIX));
    const held = await world.sync(widgets({ a: 2 }));
    const hash = held.report.pendingPrune?.hash as string;
    const uid = (await entryOf(world, "f")).uid;

    const other = await world.now({ confirm: "0".repeat(64) });
    expect(other.report.pendingPrune?.reasons).toHaveLength(2);
    expect(Object.keys(await world.sizes())).toEqual(Object.keys(SIX));

    const { report } = await world.now({ confirm: hash });
    expect(report.pendingPrune).toBeUndefined();
    expect(report.attempted).toMatchObject({ outcome: "applied", counts: { prune: 5 } });
    expect(await world.sizes()).toEqual({ a: 2 });
    const [record, ...older] = await world.store.prunes(PROJECT);
    expect(older).toEqual([]);
    expect(record).toMatchObject({ revision: "r2", hash, confirmedBy: userName() });
    expect(record?.items.map(({ key }) => key)).toEqual(["f", "e", "d", "c", "b"]);
    expect(record?.items[0]?.uid).toBe(uid);
    const [deletion] = await world.store.history({
      project: PROJECT,
      resourceManager: "widget",
      key: "f",
    });
    expect(deletion?.origin.command).toBe(
      `sync confirm-prune ${hash.slice(0, 12)} by ${userName()}`,
    );
  });

  it("A-13: blames no confirmation for what the files say in the same sync", async () => {
    const world = new World();
    await world.start(widgets(SIX));
    const held = await world.sync(ONLY_A);
    world.commit(widgets({ a: 2 }));
    await world.now({ confirm: held.report.pendingPrune?.hash as string });
    expect(await world.sizes()).toEqual({ a: 2 });
    const ref = { project: PROJECT, resourceManager: "widget", key: "a" };
    expect((await world.store.get(ref))?.origin).toEqual({
      owner: SYNC_OWNER,
      file: fileOf("a"),
      line: 1,
      commit: "r3",
    });
  });

  it("takes the guard of its set", async () => {
    const world = new World({ guard: { count: 0, fraction: 0 } });
    await world.start(widgets({ a: 1, b: 1 }));
    expect((await world.sync(ONLY_A)).report.pendingPrune?.state).toBe("held");
  });
});

describe("a prune that is not held", () => {
  it("is recorded without anybody's name", async () => {
    const world = new World();
    await world.start(widgets({ a: 1, b: 1 }));
    await world.sync(ONLY_A);
    expect(await world.sizes()).toEqual({ a: 1 });
    const [record] = await world.store.prunes(PROJECT);
    expect(record).toEqual({
      revision: "r2",
      at: world.clock.now(),
      items: [expect.objectContaining({ key: "b" })],
    });
  });

  it("is not recorded, nor done, where it is not asked for", async () => {
    const world = new World({ prune: false });
    await world.start(widgets({ a: 1, b: 1 }));
    const { report } = await world.sync(ONLY_A);
    expect(report.attempted?.outcome).toBe("applied");
    expect(await world.sizes()).toEqual({ a: 1, b: 1 });
    expect(await world.store.prunes(PROJECT)).toEqual([]);
  });

  it("A-5: waits while a file has a problem, is unread, or all are gone", async () => {
    const world = new World();
    await world.start(widgets({ a: 1, b: 1, c: 1 }));
    const broken = await world.sync({ [fileOf("a")]: "is not JSON", ...widgets({ b: 1 }) });
    expect(broken).toMatchObject({
      report: { attempted: { outcome: "incomplete" }, pendingPrune: { state: "blocked" } },
      activity: { state: "retrying" },
    });
    world.unread.add(fileOf("a"));
    const unread = await world.sync(widgets({ a: 2, b: 1 }));
    expect(unread.report.problems).toMatchObject([
      { file: fileOf("a"), message: "was not loaded" },
    ]);
    expect(unread.report.pendingPrune?.state).toBe("blocked");
    const empty = await world.sync({});
    expect(empty.report.pendingPrune?.state).toBe("blocked");
    expect(conditionOf(empty, "SourceValid").message).toBe(
      "there is no spec file in specs (at r4)",
    );
    expect(await world.sizes()).toEqual({ a: 1, b: 1, c: 1 });
    await world.now({ allowEmpty: true });
    expect(await world.sizes()).toEqual({});
  });

  it("does not happen where another change of the sync is refused, which is tried again", async () => {
    const world = new World();
    await world.start(widgets({ a: 1, b: 1, c: 1 }));
    world.commitBatch = (batch) => {
      const isRefused = batch.changes.some(({ key }) => key === "a");
      if (isRefused) throw new PiWorkflowsError("TOO_LARGE", "no room for a");
      return world.store.applyBatch(batch);
    };
    const status = await world.sync(widgets({ a: 2, b: 2 }));
    expect(await world.sizes()).toEqual({ a: 1, b: 2, c: 1 });
    expect(status.report.attempted?.outcome).toBe("incomplete");
    expect(conditionOf(status, "Synced")).toMatchObject({
      reason: "ApplyFailed",
      message: "widget a: no room for a (at r2)",
    });
    expect(await markOf(world, "a")).toMatchObject({ reason: "ApplyFailed" });
    expect(await world.store.prunes(PROJECT)).toEqual([]);
    expect(status.activity.state).toBe("retrying");
    world.commitBatch = (batch) => world.store.applyBatch(batch);
    await world.clock.advance(1_000);
    expect(await world.sizes()).toEqual({ a: 2, b: 2 });
  });
});

describe("a suspended sync", () => {
  it("says what it would do, and does nothing, not even a prune", async () => {
    const world = new World();
    await world.start(widgets({ a: 1, b: 1 }));
    world.loop.configure({ ...world.set, suspended: true });
    const status = await world.sync(widgets({ a: 2, c: 1 }));
    expect(status.report).toMatchObject({
      attempted: { revision: { id: "r2" }, outcome: "planned", counts: { create: 1, prune: 1 } },
      applied: { revision: { id: "r1" } },
    });
    expect(status.activity.state).toBe("waiting");
    expect(await world.sizes()).toEqual({ a: 1, b: 1 });
    expect(await markOf(world, "b")).toMatchObject({ reason: "SyncSuspended" });
    world.loop.configure(world.set);
    await world.now();
    expect(await world.sizes()).toEqual({ a: 2, c: 1 });
  });
});

describe("a resource that is not the set's", () => {
  it("A-4: is left alone and named, and the sync does not try again by itself", async () => {
    const world = new World();
    await world.start();
    await write(world, "b", 7);
    const status = await world.sync(widgets({ a: 1, b: 1 }));
    expect(await world.sizes()).toEqual({ a: 1, b: 7 });
    expect(status.report).toMatchObject({
      attempted: { outcome: "incomplete", counts: { conflict: 1 } },
      conflicts: [expect.stringMatching(/^widget b belongs to ada, a person;/)],
    });
    expect(conditionOf(status, "Synced").reason).toBe("Conflict");
    expect(status.activity.state).toBe("waiting");
  });

  it("is taken back where the set applied it before, told as drift until the source moves on", async () => {
    const world = new World();
    await world.start(widgets({ a: 1, b: 1 }));
    await write(world, "b", 7);
    const { report } = await world.now();
    expect(await world.sizes()).toEqual({ a: 1, b: 1 });
    expect((await entryOf(world, "b")).owner).toEqual(SYNC_OWNER);
    const drift = { key: "b", by: "ada: apply widget b", fields: ["spec.size"], setRight: true };
    expect(report.drift).toMatchObject([drift]);
    // Only its file is read again: the bodies of the others are not needed.
    expect(world.loads.at(-1)?.files).toEqual([fileOf("b")]);
    expect((await world.now()).report.drift).toMatchObject([drift]);
    expect((await world.sync(widgets({ a: 2, b: 1 }))).report.drift).toEqual([]);
  });

  it("gives up for a while where it is taken each time that it is looked at", async () => {
    const world = new World();
    await world.start(widgets({ a: 1, b: 1 }));
    const specs = world.store.specs.bind(world.store);
    let size = 7;
    world.store.specs = async (uids) => {
      size += 1;
      await write(world, "b", size);
      return specs(uids);
    };
    await write(world, "b", size);
    const status = await world.now();
    expect(status.report.attempted).toMatchObject({ outcome: "failed" });
    expect(conditionOf(status, "Synced").reason).toBe("STALE");
    expect(status.activity.state).toBe("retrying");
  });
});

describe("what a sync reads", () => {
  it("is what changed since the commit before, and all of it where a definition changed", async () => {
    const world = new World();
    await world.start(widgets({ a: 1, b: 1 }));
    await world.sync(widgets({ a: 1, b: 2, c: 1 }));
    expect(world.loads.at(-1)?.files).toEqual([fileOf("b"), fileOf("c")]);
    world.digest = "another";
    await world.sync(widgets({ a: 1, b: 3, c: 1 }));
    expect(world.loads.slice(-2).map(({ files }) => files)).toEqual([
      [fileOf("b")],
      [fileOf("a"), fileOf("b"), fileOf("c")],
    ]);
    expect(await world.sizes()).toEqual({ a: 1, b: 3, c: 1 });
  });

  it("A-8: is the file of what moved, whose body is written with it", async () => {
    const world = new World();
    await world.start(widgets({ a: 1, b: 1 }));
    const { uid, generation } = await entryOf(world, "b");
    await world.sync({ ...ONLY_A, "specs/moved.resource.json": { b: { size: 1 } } });
    expect(await entryOf(world, "b")).toMatchObject({
      uid,
      generation,
      file: "specs/moved.resource.json",
    });
  });

  it("includes the files of what somebody deleted, which is made again", async () => {
    const world = new World();
    await world.start(widgets({ a: 1, b: 1 }));
    const { resourceVersion: expected } = await entryOf(world, "b");
    const prune = { kind: "prune", manager: "widget", key: "b", expected } as const;
    await world.store.applyBatch({
      project: PROJECT,
      changes: [{ ...prune, origin: { owner: ADA, command: "delete widget b" } }],
    });
    const { report } = await world.now();
    expect(await world.sizes()).toEqual({ a: 1, b: 1 });
    expect(world.loads.at(-1)?.files).toEqual([fileOf("b")]);
    expect(report.drift).toMatchObject([{ key: "b", by: "ada: delete widget b", fields: [] }]);
  });
});

/** A change that protects a widget of the set, which stays as it is otherwise. */
async function protectedAgain(world: World, key: string): Promise<ApplyBatch["changes"][number]> {
  const entry = await entryOf(world, key);
  const spec = canonicalJson({ size: 1 });
  return {
    kind: "update",
    manager: "widget",
    key,
    expected: entry.resourceVersion,
    write: {
      spec,
      specHash: entry.specHash,
      initialStatus: "{}",
      labels: {},
      dependsOn: entry.dependsOn,
      prunable: false,
      suspended: false,
      origin: { owner: SYNC_OWNER, file: fileOf(key) },
    },
  };
}
