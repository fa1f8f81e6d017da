import { describe, expect, it } from "vitest";
import { differing, hasChanges } from "../../src/diff/plan.ts";
import { otherReasons } from "../../src/diff/sentences.ts";
import type { SnapshotEntry } from "../../src/model/batch.ts";
import type { Desired } from "../../src/model/manifest.ts";
import type { Owner } from "../../src/model/resource.ts";
import { declared, EVERYTHING, loaded, manager, OTHER_SET, stored } from "./specs.ts";
import { plan, summary } from "./planning.ts";

describe("what a plan does to a resource", () => {
  it("creates what is not stored", () => {
    const made = plan(loaded([declared("a")]), []);
    expect(summary(made)).toEqual([["create", "a", "is new in specs/a.resource.json"]]);
    expect(made.actions[0]?.desired).toMatchObject({ prune: true, suspend: false });
  });

  it("updates a spec that differs, and says which fields", () => {
    const made = plan(
      loaded([declared("a", { size: 2, method: "squash" })]),
      [stored("a", { size: 1 })],
      {},
      new Map([["uid-a", '{"size":1}']]),
    );
    expect(summary(made)).toEqual([["update", "a", "spec.method was added", "spec.size changed"]]);
    expect(made.actions[0]?.changes).toEqual([
      { path: "spec.method", after: "squash" },
      { path: "spec.size", before: 1, after: 2 },
    ]);
  });

  it("counts the fields past the first few", () => {
    const spec = Object.fromEntries([..."abcdefg"].map((name) => [name, 2]));
    const made = plan(
      loaded([declared("a", spec)]),
      [stored("a", {})],
      {},
      new Map([["uid-a", "{}"]]),
    );
    expect(made.actions[0]?.reasons.slice(-2)).toEqual([
      "spec.e was added",
      "2 more fields changed",
    ]);
  });

  it("A-9: leaves alone a spec that differs only in how it is written", () => {
    const made = plan(loaded([declared("a", { b: 1.0, a: -0 })]), [stored("a", { a: 0, b: 1 })]);
    expect(summary(made)).toEqual([["unchanged", "a"]]);
    expect(hasChanges(made)).toBe(false);
  });

  it("updates metadata without raising the generation, and says so", () => {
    const desired = declared("a", undefined, {
      labels: { team: "x" },
      dependsOn: ["job/b"],
      prune: false,
      suspend: true,
    });
    const made = plan(loaded([desired]), [stored("a", undefined, { labels: {} }), stored("b")]);
    expect(summary(made)).toEqual([
      [
        "update",
        "a",
        "labels.team was added",
        "dependsOn changed",
        "prune changed",
        "suspend changed",
        "the spec is the same, so the generation stays",
      ],
    ]);
  });

  it("keeps protection and suspension that the manifest says nothing of", () => {
    const kept = { prunable: false, suspended: true };
    const unchanged = plan(loaded([declared("a")]), [stored("a", undefined, kept)]);
    expect(summary(unchanged)).toEqual([["unchanged", "a", "is suspended"]]);
    const moved = declared("a", undefined, { place: { file: "b", line: 1, column: 1 } });
    expect(plan(loaded([moved]), [stored("a", undefined, kept)]).actions[0]?.desired).toMatchObject(
      { prune: false, suspend: true },
    );
  });

  it("A-8: moves a resource whose file changed and nothing else", () => {
    const desired = declared("a", undefined, { place: { file: "b.json", line: 2, column: 1 } });
    expect(summary(plan(loaded([desired]), [stored("a")]))).toEqual([
      ["move", "a", "moved from specs/a.resource.json to b.json"],
    ]);
  });

  it("reports another owner as a conflict with the ways out", () => {
    const made = plan(loaded([declared("a")]), [stored("a", undefined, { owner: OTHER_SET })]);
    expect(summary(made)).toEqual([
      [
        "conflict",
        "a",
        "belongs to sync set main (specs/a.resource.json)",
        "change it there, take it over with --force, or delete it there first",
      ],
    ]);
    expect(made.actions[0]?.owner).toEqual(OTHER_SET);
  });

  it("lets a sync take over what `apply` had from the same file, and nothing else", () => {
    const owner = { kind: "sync", name: "default" } as const;
    const applied = { owner: { kind: "apply", name: "mine" } } as const;
    const elsewhere = { ...applied, file: "specs/b.resource.json" };
    const planned = (more: object) =>
      summary(plan(loaded([declared("a")]), [stored("a", undefined, more)], { owner }));
    expect(planned(applied)).toEqual([
      [
        "update",
        "a",
        "is taken over from apply set mine, as its file is synced",
        "the spec is the same, so the generation stays",
      ],
    ]);
    expect(planned(elsewhere)).toEqual([
      [
        "conflict",
        "a",
        "belongs to apply set mine (specs/b.resource.json)",
        "hand it to sync with `pi-workflows apply -f specs/a.resource.json --force`, or delete it first",
      ],
    ]);
  });

  it("takes over from another owner by force", () => {
    const theirs = stored("a", undefined, { owner: OTHER_SET });
    expect(summary(plan(loaded([declared("a")]), [theirs], { force: true }))).toEqual([
      [
        "update",
        "a",
        "is taken over by force from sync set main",
        "the spec is the same, so the generation stays",
      ],
    ]);
  });

  it("waits for a resource that is being deleted, even by force", () => {
    const deleting = stored("a", undefined, { deleting: true });
    expect(summary(plan(loaded([declared("a")]), [deleting], { force: true }))).toEqual([
      ["conflict", "a", "is being deleted; apply again when it is gone"],
    ]);
  });

  it("names items by no field that the schema marks secret", () => {
    const specs = loaded([declared("a", { users: [{ name: "s2" }] })], {
      managers: [manager("job", ["users[].name"])],
    });
    const made = plan(
      specs,
      [stored("a", {})],
      {},
      new Map([["uid-a", '{"users":[{"name":"s1"}]}']]),
    );
    expect(made.actions[0]?.reasons).toEqual(["spec.users[0].name changed"]);
  });
});

describe("where a resource comes from", () => {
  const owned = (kind: Owner["kind"], name: string) => ({ owner: { kind, name } });

  it("A-4: takes nothing over from another apply, nor a sync from a person, though the file is the same", () => {
    const theirs = [stored("a", undefined, owned("apply", "other"))];
    expect(plan(loaded([declared("a")]), theirs).counts.conflict).toBe(1);
    const mine = [stored("a", undefined, owned("person", "ada"))];
    const owner = { kind: "sync", name: "default" } as const;
    expect(plan(loaded([declared("a")]), mine, { owner }).counts.conflict).toBe(1);
  });

  it("names a person, who has no file, and is named by the new file once taken over", () => {
    const { file: _file, ...made } = stored("a", undefined, owned("person", "ada"));
    const [conflict] = plan(loaded([declared("a")]), [made]).actions;
    expect(conflict?.reasons[0]).toBe("belongs to ada, a person");
    const [taken] = plan(loaded([declared("a")]), [made], { force: true }).actions;
    expect(taken?.reasons).toEqual([
      "is taken over by force from ada, a person",
      "the spec is the same, so the generation stays",
      "is now declared in specs/a.resource.json",
    ]);
  });

  it("takes over by force only those that it is said of", () => {
    const theirs = ["a", "b"].map((key) => stored(key, undefined, { owner: OTHER_SET }));
    const force = ({ key }: SnapshotEntry) => key === "b";
    const made = plan(loaded([declared("a"), declared("b")]), theirs, { force });
    expect(made.actions.map(({ kind }) => kind)).toEqual(["conflict", "update"]);
  });

  it("tells a move beside what else changed", () => {
    const place = { file: "b.json", line: 1, column: 1 };
    const made = plan(
      loaded([declared("a", 2, { place })]),
      [stored("a", 1)],
      {},
      new Map([["uid-a", "1"]]),
    );
    expect(summary(made)).toEqual([
      ["update", "a", "spec changed", "moved from specs/a.resource.json to b.json"],
    ]);
    expect(made.actions[0]?.current).toMatchObject({ uid: "uid-a", spec: "1" });
  });
});

describe("what counts as a change of metadata", () => {
  const changesOf = (desired: Partial<Desired>, entry: Partial<SnapshotEntry>) =>
    plan(loaded([declared("a", 1, desired), declared("b"), declared("c")]), [
      stored("a", 1, entry),
    ]).actions.find(({ key }) => key === "a")?.changes;

  it("is a label that goes, and a dependency that goes, comes or changes", () => {
    expect(changesOf({}, { labels: { team: "x" } })).toEqual([
      { path: "labels.team", before: "x" },
    ]);
    const b = { dependsOn: ["job/b"] };
    const c = { dependsOn: ["job/c"] };
    const both = { dependsOn: ["job/b", "job/c"] };
    expect(changesOf(b, both)).toHaveLength(1);
    expect(changesOf(both, b)).toHaveLength(1);
    expect(changesOf(b, c)).toEqual([{ path: "dependsOn", before: ["job/c"], after: ["job/b"] }]);
    expect(changesOf(both, both)).toBeUndefined();
  });

  it("is protection and suspension that are lifted, and not those said again", () => {
    const set = { prunable: false, suspended: true };
    expect(changesOf({ prune: true, suspend: false }, set)).toEqual([
      { path: "prune", before: false, after: true },
      { path: "suspend", before: true, after: false },
    ]);
    expect(changesOf({ prune: false, suspend: true }, set)).toBeUndefined();
  });

  it("is told by name up to five fields, and by number past them", () => {
    const reasons = (count: number) => {
      const labels = Object.fromEntries([..."abcdefg"].slice(0, count).map((name) => [name, "x"]));
      const [action] = plan(loaded([declared("a", 1, { labels })]), [stored("a", 1)]).actions;
      return action?.reasons;
    };
    const same = "the spec is the same, so the generation stays";
    expect(reasons(5)?.slice(4)).toEqual(["labels.e was added", same]);
    expect(reasons(6)?.slice(5)).toEqual(["1 more field changed", same]);
    expect(reasons(7)?.slice(5)).toEqual(["2 more fields changed", same]);
  });
});

describe("the order of a plan", () => {
  it("puts dependencies first and prunes dependents first", () => {
    const needs = (...dependsOn: string[]) => ({ dependsOn });
    const made = plan(
      loaded([
        declared("a", 1, needs("job/c")),
        declared("b", 1),
        declared("c", 1, needs("job/b")),
      ]),
      [stored("x", 1, needs("job/z")), stored("y", 1, needs("job/x")), stored("z")],
      { prune: EVERYTHING },
    );
    expect(made.actions.map(({ key }) => key)).toEqual(["b", "c", "a", "y", "x", "z"]);
  });

  it("orders a chain of ten thousand without reaching the stack's limit", () => {
    const chain = Array.from({ length: 10_000 }, (_, index) =>
      declared(`k${index}`, 1, { dependsOn: index === 0 ? [] : [`job/k${index - 1}`] }),
    );
    const made = plan(loaded(chain.toReversed()), []);
    expect(made.actions.map(({ key }) => key)).toEqual(chain.map(({ key }) => key));
    expect(made.problems).toEqual([]);
  });
});

describe("what a plan shows to change", () => {
  const counts = plan(loaded([]), []).counts;

  it.each(["create", "update", "move", "prune"] as const)("is a %s", (kind) => {
    expect(hasChanges({ counts: { ...counts, [kind]: 1 } })).toBe(true);
  });

  it.each(["unchanged", "conflict", "invalid"] as const)("is nothing %s", (kind) => {
    expect(hasChanges({ counts: { ...counts, [kind]: 1 } })).toBe(false);
  });

  it("is told apart from the other reasons where the fields are listed", () => {
    const changes = (count: number) => Array.from({ length: count }, () => ({ path: "x" }));
    expect(otherReasons(["a changed", "is taken over"], changes(1))).toEqual(["is taken over"]);
    const many = [..."abcde", "2 more fields changed", "is taken over"];
    expect(otherReasons(many, changes(7))).toEqual(["is taken over"]);
  });

  it("is told as an order, an addition, a removal or a change", () => {
    const specs = {
      before: { steps: [{ name: "a" }, { name: "b" }], gone: 1, same: 1, other: 1 },
      after: { steps: [{ name: "b" }, { name: "a" }], added: 1, same: 1, other: 2 },
    };
    const [action] = plan(
      loaded([declared("a", specs.after)]),
      [stored("a", specs.before)],
      {},
      new Map([["uid-a", JSON.stringify(specs.before)]]),
    ).actions;
    expect(action?.reasons).toEqual([
      "spec.added was added",
      "spec.gone was removed",
      "spec.other changed",
      "spec.steps is in another order",
    ]);
  });
});

describe("which specs a plan reads", () => {
  it("are those whose hash differs, and no others", () => {
    const uids = differing(
      [declared("same"), declared("other", 2), declared("new"), declared("deleting", 2)],
      {
        revision: 1,
        resources: [
          stored("same"),
          stored("other", 1),
          stored("foreign", 2),
          stored("deleting", 1, { deleting: true }),
        ],
      },
    );
    expect(uids).toEqual(["uid-other"]);
  });

  it("must be there", () => {
    expect(() => plan(loaded([declared("a", 2)]), [stored("a", 1)])).toThrow(
      expect.objectContaining({ code: "STALE" }),
    );
  });
});
