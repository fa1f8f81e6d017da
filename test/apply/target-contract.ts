import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { apply } from "../../src/apply/apply.ts";
import { makePlan } from "../../src/apply/make-plan.ts";
import type { Target } from "../../src/apply/target.ts";
import { hasChanges } from "../../src/diff/plan.ts";
import type { ApplyChange, ManagerProposal, SnapshotEntry } from "../../src/model/batch.ts";
import { canonicalJson, fingerprintText } from "../../src/model/canonical.ts";
import { LIMITS } from "../../src/model/limits.ts";
import type { Desired } from "../../src/model/manifest.ts";
import type { Owner } from "../../src/model/resource.ts";

/** One target over an empty store, with what a suite needs to use it. */
export type TargetUnderTest = {
  target: Target;
  project: string;
  /** Another project in the same store. */
  otherProject: string;
  /** A definition that the target accepts for both projects, with specs of any form. */
  manager: ManagerProposal;
  close(): Promise<void>;
};

/**
 * What every Target must do, in the server's process or over the socket: the one suite that all of
 * them run through.
 */
export function describeTarget(name: string, make: () => Promise<TargetUnderTest>): void {
  describe(`${name} as a target`, () => {
    let made: TargetUnderTest;
    beforeEach(async () => {
      made = await make();
      await made.target.acceptManagers(made.project, [made.manager]);
      await made.target.acceptManagers(made.otherProject, [made.manager]);
    });
    afterEach(() => made.close());

    const commit = (...changes: ApplyChange[]) =>
      made.target.commit({ project: made.project, changes });
    const snapshot = async () => {
      const { revision, resources } = await made.target.snapshot(made.project);
      return { revision, byKey: new Map(resources.map((entry) => [entry.key, entry])) };
    };
    const entryOf = async (key: string) => (await snapshot()).byKey.get(key) as SnapshotEntry;
    const create = (key: string, spec: unknown = { size: 1 }, more: Partial<Desired> = {}) =>
      creation(made.manager.name, key, spec, more);
    const update = (entry: SnapshotEntry, spec: unknown, more: Partial<Desired> = {}) => ({
      ...creation(made.manager.name, entry.key, spec, more),
      kind: "update" as const,
      expected: entry.resourceVersion,
    });

    it("has nothing of a project that nothing was applied to", async () => {
      expect((await made.target.snapshot(made.project)).resources).toEqual([]);
    });

    it("returns the definitions that it accepted", async () => {
      const records = await made.target.acceptManagers(made.project, [made.manager]);
      expect(records.map(({ name, digest }) => [name, digest])).toEqual([
        [made.manager.name, made.manager.digest],
      ]);
    });

    it("creates resources and shows them in its snapshot", async () => {
      const change = create("a", { size: 1 }, { labels: { team: "x" }, dependsOn: ["job/b"] });
      change.write.prunable = false;
      const receipt = await commit(change, create("b"));
      expect(
        receipt.items.map(({ key, generation, removed }) => [key, generation, removed]),
      ).toEqual([
        ["a", 1, false],
        ["b", 1, false],
      ]);
      const { revision, byKey } = await snapshot();
      expect(revision).toBe(receipt.revision);
      expect(byKey.size).toBe(2);
      expect(byKey.get("a")).toEqual({
        uid: receipt.items[0]?.uid,
        manager: made.manager.name,
        key: "a",
        resourceVersion: receipt.items[0]?.resourceVersion,
        generation: 1,
        specHash: change.write.specHash,
        labels: { team: "x" },
        dependsOn: ["job/b"],
        owner: OWNER,
        file: "specs/a.resource.json",
        prunable: false,
        suspended: false,
        deleting: false,
      });
    });

    it("gives the canonical specs of the uids asked for, and none of unknown ones", async () => {
      const { items } = await commit(create("a", { z: 1, a: [1, "ü"] }), create("b"));
      const uid = items[0]?.uid as string;
      expect(await made.target.specs([uid, "unknown"])).toEqual(
        new Map([[uid, canonicalJson({ z: 1, a: [1, "ü"] })]]),
      );
      expect(await made.target.specs([])).toEqual(new Map());
    });

    it("G-1: raises the generation where the spec changes, and only there", async () => {
      await commit(create("a"));
      await commit(update(await entryOf("a"), { size: 2 }));
      expect(await entryOf("a")).toMatchObject({ generation: 2 });
      await commit(update(await entryOf("a"), { size: 2 }, { labels: { team: "x" } }));
      expect(await entryOf("a")).toMatchObject({ generation: 2, labels: { team: "x" } });
    });

    it("A-8: a move keeps uid and generation and takes the new file", async () => {
      await commit(create("a"));
      const before = await entryOf("a");
      const place = { file: "specs/moved.resource.json", line: 3, column: 1 };
      await commit({ ...update(before, { size: 1 }, { place }), kind: "move" });
      expect(await entryOf("a")).toMatchObject({
        uid: before.uid,
        generation: before.generation,
        specHash: before.specHash,
        file: "specs/moved.resource.json",
      });
    });

    it("prunes a resource without finalizers at once", async () => {
      await commit(create("a"), create("b"));
      const { resourceVersion: expected } = await entryOf("a");
      const { items } = await commit({
        kind: "prune",
        manager: made.manager.name,
        key: "a",
        expected,
        origin: { owner: OWNER },
      });
      expect(items).toMatchObject([{ key: "a", removed: true }]);
      expect([...(await snapshot()).byKey.keys()]).toEqual(["b"]);
    });

    it("D-5: gives a resource created again another uid and generation 1", async () => {
      await commit(create("a"));
      const first = await entryOf("a");
      const { key, manager, resourceVersion: expected } = first;
      await commit({ kind: "prune", manager, key, expected, origin: { owner: OWNER } });
      await commit(create("a"));
      const second = await entryOf("a");
      expect(second.uid).not.toBe(first.uid);
      expect(second.generation).toBe(1);
    });

    it("G-3, A-10: refuses a whole batch for one stale change, and changes nothing", async () => {
      await commit(create("a"), create("b"));
      const before = await made.target.snapshot(made.project);
      const a = await entryOf("a");
      const stale = { ...update(a, { size: 2 }), expected: a.resourceVersion + 1_000 };
      const good = update(await entryOf("b"), { size: 2 });
      await expect(commit(create("c"), good, stale)).rejects.toMatchObject({ code: "STALE" });
      expect(await made.target.snapshot(made.project)).toEqual(before);
    });

    it("G-3: refuses to create what exists, and to change what does not", async () => {
      await commit(create("a"));
      await expect(commit(create("a"))).rejects.toMatchObject({ code: "STALE" });
      const missing = { ...(await entryOf("a")), key: "missing" };
      await expect(commit(update(missing, { size: 2 }))).rejects.toMatchObject({ code: "STALE" });
    });

    it("takes a batch of the largest size, and refuses one more", async () => {
      const changes = Array.from({ length: LIMITS.batch + 1 }, (_, index) => create(`k${index}`));
      await expect(commit(...changes)).rejects.toMatchObject({ code: "TOO_LARGE" });
      const { items } = await commit(...changes.slice(1));
      expect(items.map(({ key }) => key)).toEqual(changes.slice(1).map(({ key }) => key));
    });

    it("keeps projects apart", async () => {
      await commit(create("a"));
      expect((await made.target.snapshot(made.otherProject)).resources).toEqual([]);
      await made.target.commit({ project: made.otherProject, changes: [create("a", { size: 5 })] });
      const [other] = (await made.target.snapshot(made.otherProject)).resources;
      expect(other?.uid).not.toBe((await entryOf("a")).uid);
    });

    it("A-1: has nothing left to do after a plan was applied", async () => {
      const { project, target, manager } = made;
      const desired = ["a", "b"].map((key) => {
        const { spec, specHash } = creation(manager.name, key, { size: 1 }, {}).write;
        return { ...DESIRED, resourceManager: manager.name, key, spec, specHash };
      });
      const specs = { desired, managers: [manager], problems: [], files: [] };
      const plan = await makePlan(target, specs, { project, owner: OWNER });
      const receipt = await apply(plan, target, [manager]);
      expect(receipt.actions.map(({ outcome }) => outcome)).toEqual(["done", "done"]);
      const after = await makePlan(target, specs, { project, owner: OWNER });
      expect(hasChanges(after)).toBe(false);
      expect(after.storeRevision).toBe(receipt.storeRevision);
    });
  });
}

const OWNER: Owner = { kind: "apply", name: "contract" };

const DESIRED = {
  initialStatus: "{}",
  labels: {},
  dependsOn: [],
  place: { file: "specs/all.resource.json", line: 1, column: 1 },
};

function creation(
  manager: string,
  key: string,
  spec: unknown,
  { labels = {}, dependsOn = [], place }: Partial<Desired>,
): Extract<ApplyChange, { kind: "create" }> {
  const text = canonicalJson(spec);
  const { file, line } = place ?? { file: `specs/${key}.resource.json`, line: 1 };
  return {
    kind: "create",
    manager,
    key,
    expected: 0,
    write: {
      spec: text,
      specHash: fingerprintText(text),
      initialStatus: "{}",
      labels,
      dependsOn,
      prunable: true,
      suspended: false,
      origin: { owner: OWNER, file, line },
    },
  };
}
