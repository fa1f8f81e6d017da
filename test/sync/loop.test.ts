import { describe, expect, it } from "vitest";
import { canonicalJson, fingerprintText } from "../../src/model/canonical.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { EMPTY_REPORT, type SyncRevision, type SyncSet } from "../../src/model/sync.ts";
import { nothingResolved, type Resolution } from "../../src/runner/resolver.ts";
import type { WarmResolver } from "../../src/runner/warm-resolver.ts";
import { createChanges } from "../../src/server/changes.ts";
import { SyncLoop } from "../../src/server/sync/loop.ts";
import type { Look, Source } from "../../src/server/sync/source.ts";
import { VirtualClock } from "../server/virtual-clock.ts";
import { PROJECT, resolvedManager, sqliteStore } from "../store/support.ts";

const SET: SyncSet = {
  project: PROJECT,
  source: { kind: "committed", branch: "main" },
  roots: ["specs"],
  prune: true,
  suspended: false,
  enabledAt: 0,
  enabledBy: "ada",
};
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** A source whose revisions are the sizes of one widget, and loads that a test can hold up. */
class World {
  readonly clock = new VirtualClock();
  readonly store = sqliteStore().store;
  readonly loads: string[] = [];
  loading = 0;
  atOnce = 0;
  size = 1;
  trouble: Look | undefined;
  fault: PiWorkflowsError | undefined;
  hold: Promise<void> | undefined;
  hint = (): void => {};
  readonly loop: SyncLoop;

  constructor() {
    const { store, clock } = this;
    this.loop = new SyncLoop(
      {
        store,
        clock,
        log: SILENT,
        changes: createChanges(),
        resolver: { prepare: () => undefined, resolve: this.#resolve },
        globalFolder: "/none",
        random: () => 0,
        onChange: () => undefined,
        target: {
          snapshot: (project) => store.snapshot(project),
          specs: (uids) => store.specs(uids),
          acceptManagers: () => Promise.resolve([]),
          acceptWorkflows: () => Promise.resolve([]),
          commit: (batch) => store.applyBatch(batch),
        },
      },
      { set: SET, report: EMPTY_REPORT },
      (_set, { onHint }) => {
        this.hint = onHint;
        return this.#source;
      },
    );
  }

  /** Begins; what the test does from here on is driven by the clock. */
  async start(): Promise<void> {
    await this.store.acceptManager(PROJECT, resolvedManager("widget"));
    await this.store.putSyncSet(SET);
    this.loop.start();
    await this.clock.advance(0);
  }

  revision(): string | undefined {
    return this.loop.status().report.attempted?.revision.id;
  }

  readonly #source: Source = {
    look: () => Promise.resolve(this.trouble ?? { revision: revisionOf(this.size) }),
    list: (revision) =>
      Promise.resolve({
        specs: new Map([["specs/a.resource.json", revision.id]]),
        problems: [],
        hasWorkflows: false,
        absentRoots: [],
        changed: undefined,
        isOfDisk: false,
      }),
    reading: (revision) => ({ revision: { gitDir: "/none", commit: revision.id } }),
    originsOf: (_files, { revision }) => Promise.resolve(() => ({ commit: revision.id })),
    include: () => undefined,
    removals: () => Promise.resolve(new Map()),
    deaf: undefined,
    close: () => Promise.resolve(),
  };

  readonly #resolve: WarmResolver["resolve"] = async ({ revision, signal }) => {
    const id = revision?.commit ?? "";
    this.loads.push(id);
    this.loading += 1;
    this.atOnce = Math.max(this.atOnce, this.loading);
    try {
      const aborted = new Promise<void>((done) => signal?.addEventListener("abort", () => done()));
      await Promise.race([this.hold, aborted]);
      if (signal?.aborted === true) throw new PiWorkflowsError("RESOLVE_FAILED", "stopped");
      if (this.fault) throw this.fault;
      return resolutionOf(Number(id.slice(1)));
    } finally {
      this.loading -= 1;
    }
  };
}

function revisionOf(size: number): SyncRevision {
  return { id: `r${size}`, kind: "commit", tree: `t${size}` };
}

function resolutionOf(size: number): Resolution {
  const spec = canonicalJson({ size });
  const desired = {
    resourceManager: "widget",
    key: "a",
    spec,
    specHash: fingerprintText(spec),
    initialStatus: "{}",
    labels: {},
    dependsOn: [],
    place: { file: "specs/a.resource.json", line: 1, column: 1 },
  };
  const files = [{ file: "specs/a.resource.json", sha256: `r${size}` }];
  return { ...nothingResolved(), desired: [desired], files };
}

describe("the loop of a sync", () => {
  it("looks at hints once it is quiet, and by itself where they were lost", async () => {
    const world = new World();
    await world.start();
    expect(world.revision()).toBe("r1");
    world.size = 2;
    world.hint();
    world.hint();
    await world.clock.advance(10);
    expect(world.revision()).toBe("r1");
    await world.clock.advance(10);
    expect(world.revision()).toBe("r2");
    world.size = 3;
    await world.clock.advance(5_000);
    expect(world.revision()).toBe("r3");
    expect(world.loads).toEqual(["r1", "r2", "r3"]);
    await world.loop.stop();
    expect(world.clock.pending()).toBe(0);
  });

  it("is not put off for ever by hints that never stop", async () => {
    const world = new World();
    await world.start();
    world.size = 2;
    for (let time = 0; time < 200; time += 10) {
      world.hint();
      await world.clock.advance(10);
    }
    expect(world.revision()).toBe("r2");
    await world.loop.stop();
  });

  it("loads one revision at a time, and calls off one that a newer one supersedes", async () => {
    const world = new World();
    await world.start();
    let release = (): void => {};
    world.hold = new Promise((done) => (release = done));
    world.size = 2;
    world.hint();
    await world.clock.advance(20);
    expect(world.loop.status().activity).toMatchObject({ state: "loading", revision: "r2" });
    world.size = 3;
    world.hint();
    await world.clock.advance(20);
    expect(world.loads).toEqual(["r1", "r2", "r3"]);
    release();
    await world.clock.advance(0);
    expect(world.revision()).toBe("r3");
    expect(world.atOnce).toBe(1);
    await world.loop.stop();
  });

  it("answers who asked for a sync with the revision that superseded it", async () => {
    const world = new World();
    await world.start();
    let release = (): void => {};
    world.hold = new Promise((done) => (release = done));
    world.size = 2;
    const answer = world.loop.now();
    await world.clock.advance(0);
    world.size = 3;
    world.hint();
    await world.clock.advance(20);
    release();
    await world.clock.advance(0);
    expect((await answer).report.attempted?.revision.id).toBe("r3");
    await world.loop.stop();
  });

  it("tries again after a failure, later each time, and at once with a new revision", async () => {
    const world = new World();
    world.fault = new PiWorkflowsError("RESOLVE_FAILED", "no memory");
    await world.start();
    expect(world.loop.status()).toMatchObject({
      report: {
        attempted: { outcome: "failed", error: "no memory" },
        conditions: [{ type: "Synced", status: false, reason: "RESOLVE_FAILED" }],
      },
      activity: { state: "retrying", retryAt: world.clock.now() + 1_000 },
    });
    await world.clock.advance(999);
    expect(world.loads).toHaveLength(1);
    await world.clock.advance(1);
    expect(world.loads).toHaveLength(2);
    await world.clock.advance(60_000);
    const before = world.loads.length;
    expect(before).toBeLessThan(9);
    world.fault = undefined;
    world.size = 2;
    world.hint();
    await world.clock.advance(20);
    expect(world.loads).toHaveLength(before + 1);
    expect(world.loop.status().activity.state).toBe("waiting");
    await world.loop.stop();
  });

  it("keeps what is applied while its source can't be read, and goes on when it can", async () => {
    const world = new World();
    await world.start();
    world.trouble = { trouble: { reason: "BranchMissing", message: "the branch main is gone" } };
    await world.clock.advance(5_000);
    expect(world.loop.status().report).toMatchObject({
      applied: { revision: { id: "r1" } },
      conditions: [
        { type: "Synced", status: false, reason: "BranchMissing" },
        { type: "SourceValid", status: false, message: "the branch main is gone" },
      ]
        .map((condition) => expect.objectContaining(condition) as unknown)
        .concat(Array(4).fill(expect.anything())),
    });
    expect((await world.store.snapshot(PROJECT)).resources).toHaveLength(1);
    world.trouble = undefined;
    await world.clock.advance(5_000);
    expect(world.loop.status().report.conditions[0]).toMatchObject({
      type: "Synced",
      status: true,
    });
    await world.loop.stop();
  });

  it("ends in the middle of a load, and refuses who waits", async () => {
    const world = new World();
    await world.start();
    world.hold = new Promise(() => undefined);
    world.size = 2;
    const refused = world.loop.now().catch((thrown: unknown) => thrown);
    await world.clock.advance(0);
    await world.loop.stop();
    expect(await refused).toMatchObject({ code: "SERVER_STOPPING" });
    await expect(world.loop.now()).rejects.toMatchObject({ code: "SERVER_STOPPING" });
    expect(world.clock.pending()).toBe(0);
  });
});
