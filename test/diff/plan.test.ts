import { describe, expect, it } from "vitest";
import { differing, hasChanges, planChanges } from "../../src/diff/plan.ts";
import type { PlanRequest } from "../../src/diff/plan.ts";
import type { SnapshotEntry } from "../../src/model/batch.ts";
import type { LoadedSpecs } from "../../src/model/manifest.ts";
import type { Plan } from "../../src/model/plan.ts";
import {
  declared,
  EVERYTHING,
  loaded,
  manager,
  OTHER_SET,
  problemIn,
  request,
  stored,
} from "./specs.ts";

const NO_SPECS = new Map<string, string>();

function plan(
  specs: LoadedSpecs,
  resources: SnapshotEntry[],
  more: Partial<PlanRequest> = {},
  bodies: ReadonlyMap<string, string> = NO_SPECS,
): Plan {
  return planChanges({
    request: request(more),
    loaded: specs,
    snapshot: { revision: 9, resources },
    specs: bodies,
  });
}

function summary({ actions }: Plan): [string, string, ...string[]][] {
  return actions.map(({ kind, key, reasons }) => [kind, key, ...reasons]);
}

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

describe("what a plan rejects", () => {
  it("A-3: leaves every resource of a file that failed to load as it is", () => {
    const file = "specs/all.resource.json";
    const place = { file, line: 1, column: 1 };
    const specs = loaded([declared("a", { size: 2 }, { place })], { problems: [problemIn(file)] });
    const made = plan(specs, [stored("a"), stored("b", undefined, { file })], {
      prune: EVERYTHING,
    });
    expect(summary(made)).toEqual([
      ["invalid", "a", `${file} has problems, so nothing of it is applied`],
      ["invalid", "b", `${file} has problems, so the last good spec stays in force`],
    ]);
  });

  it("A-3: does not take a resource out of a file that failed to load", () => {
    const specs = loaded([declared("a")], { problems: [problemIn("old.json")] });
    const [action] = plan(specs, [stored("a", undefined, { file: "old.json" })]).actions;
    expect(action?.kind).toBe("invalid");
    expect(action?.reasons).toEqual([
      "old.json, which declared it until now, has problems, so it can't be told which counts",
    ]);
  });

  it("A-7: rejects both of two manifests for one resource, naming both places", () => {
    const at = (file: string) => ({ place: { file, line: 3, column: 5 } });
    const specs = loaded([declared("a", 1, at("y.json")), declared("a", 1, at("x.json"))]);
    const made = plan(specs, [stored("a")], { prune: EVERYTHING });
    expect(summary(made)).toEqual([
      ["invalid", "a", "is declared more than once: x.json:3:5 and y.json:3:5"],
    ]);
    expect(made.problems.map(({ file, message }) => [file, message])).toEqual([
      ["x.json", "job a is also declared at y.json:3:5; declare it once"],
      ["y.json", "job a is also declared at x.json:3:5; declare it once"],
    ]);
    expect(made.prune.state).toBe("clear");
  });

  it("rejects a dependency on what is neither declared nor stored", () => {
    const made = plan(loaded([declared("a", 1, { dependsOn: ["job/stored", "job/nobody"] })]), [
      stored("stored", undefined, { owner: OTHER_SET }),
    ]);
    expect(made.counts).toMatchObject({ invalid: 1, create: 0 });
    expect(made.problems).toMatchObject([
      {
        file: "specs/a.resource.json",
        path: "dependsOn[1]",
        message:
          'no resource "job/nobody" is declared or in the store; write MANAGER/KEY of one that is',
      },
    ]);
  });

  it("rejects a dependency on what would be pruned, which blocks the prune", () => {
    const specs = loaded([declared("a", 1, { dependsOn: ["job/leaving"] })]);
    const made = plan(specs, [stored("leaving")], { prune: EVERYTHING });
    expect(made.counts).toMatchObject({ invalid: 1, prune: 1 });
    expect(made.prune.state).toBe("blocked");
  });

  it("rejects every member of a circle, and what waits for one that does not exist", () => {
    const needs = (key: string, ...dependsOn: string[]) => declared(key, 1, { dependsOn });
    const made = plan(
      loaded([needs("a", "job/b"), needs("b", "job/a"), needs("c", "job/a"), needs("d", "job/d")]),
      [],
    );
    expect(summary(made)).toEqual([
      ["invalid", "a", "dependsOn: these depend on each other in a circle: job/a, job/b"],
      [
        "invalid",
        "b",
        "dependsOn: these depend on each other in a circle: job/a, job/b",
        expect.anything(),
      ],
      ["invalid", "c", "depends on job a, which is not valid and not in the store"],
      ["invalid", "d", "dependsOn: these depend on each other in a circle: job/d"],
    ]);
    expect(made.problems).toHaveLength(3);
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

describe("the id of a plan", () => {
  const specs = loaded([declared("a"), declared("b")]);
  const resources = [stored("a"), stored("c")];
  const made = plan(specs, resources, { prune: EVERYTHING });

  it("A-2: does not depend on the order of files and rows", () => {
    const again = plan(
      { ...specs, desired: specs.desired.toReversed(), files: specs.files.toReversed() },
      resources.toReversed(),
      { prune: EVERYTHING },
    );
    expect(again).toEqual(made);
  });

  it.each<[string, () => Plan]>([
    [
      "a file's content",
      () => {
        const [first, ...rest] = specs.files;
        const files = [{ file: first?.file as string, sha256: "other" }, ...rest];
        return plan({ ...specs, files }, resources, { prune: EVERYTHING });
      },
    ],
    [
      "a definition",
      () => plan({ ...specs, managers: [manager()] }, resources, { prune: EVERYTHING }),
    ],
    ...(
      [
        ["generation", { generation: 2 }],
        ["label", { labels: { team: "web" } }],
        ["protection", { prunable: false }],
        ["uid", { uid: "uid-of-another" }],
      ] as const
    ).map(([name, more]): [string, () => Plan] => [
      `a stored ${name}`,
      () => plan(specs, [stored("a", undefined, more), stored("c")], { prune: EVERYTHING }),
    ]),
    ["what is pruned", () => plan(specs, resources)],
    ["the owner", () => plan(specs, [], { owner: OTHER_SET })],
  ])("changes with %s", (_, other) => {
    expect(other().id).not.toBe(made.id);
  });

  it("A-1: does not change when a pass writes a status, so that an approved plan can be applied", () => {
    const later = [stored("a", undefined, { resourceVersion: 8 }), stored("c")];
    const input = { request: request({ prune: EVERYTHING }), loaded: specs, specs: NO_SPECS };
    const again = planChanges({ ...input, snapshot: { revision: 10, resources: later } });
    expect(again.id).toBe(made.id);
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
