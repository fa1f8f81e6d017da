import { describe, expect, it } from "vitest";
import { planChanges } from "../../src/diff/plan.ts";
import type { PruneRequest } from "../../src/diff/guard.ts";
import type { SnapshotEntry } from "../../src/model/batch.ts";
import { LIMITS } from "../../src/model/limits.ts";
import type { LoadedSpecs } from "../../src/model/manifest.ts";
import type { Plan } from "../../src/model/plan.ts";
import {
  declared,
  EVERYTHING,
  loaded,
  OTHER_SET,
  problemIn,
  request,
  SET,
  stored,
} from "./specs.ts";

function plan(
  specs: LoadedSpecs,
  resources: SnapshotEntry[],
  prune: Partial<PruneRequest> | undefined = {},
): Plan {
  return planChanges({
    request: request(prune === undefined ? {} : { prune: { ...EVERYTHING, ...prune } }),
    loaded: specs,
    snapshot: { revision: 1, resources },
    specs: new Map(),
  });
}

const keep = declared("keep");
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => stored(`k${String(index).padStart(3, "0")}`));
const pruned = ({ actions }: Plan) =>
  actions.filter(({ kind }) => kind === "prune").map(({ key }) => key);

describe("what is pruned", () => {
  it("is what the set applied before and no file declares any more", () => {
    const made = plan(loaded([keep]), [stored("keep"), stored("gone")]);
    expect(pruned(made)).toEqual(["gone"]);
    expect(made.prune).toEqual({ state: "clear" });
    expect(made.actions.at(-1)?.reasons).toEqual(["specs/gone.resource.json is gone"]);
  });

  it("tells a file that is gone from one that no longer declares it", () => {
    const file = keep.place.file;
    const made = plan(loaded([keep]), [stored("gone", undefined, { file })]);
    expect(made.actions.at(-1)?.reasons).toEqual([`${file} no longer declares it`]);
  });

  it("is nothing where pruning was not asked for", () => {
    const made = planChanges({
      request: request(),
      loaded: loaded([keep]),
      snapshot: { revision: 1, resources: [stored("gone")] },
      specs: new Map(),
    });
    expect(pruned(made)).toEqual([]);
  });

  it("A-4: is nothing of another set or of a person, and nothing outside the scope", () => {
    const resources = [
      stored("other-set", undefined, { owner: OTHER_SET }),
      stored("person", undefined, { owner: { kind: "person", name: "main" } }),
      stored("outside", undefined, { file: "elsewhere/x.json" }),
      stored("deleting", undefined, { deleting: true }),
    ];
    const { file: _file, ...withoutFile } = stored("no-file");
    const covers = (file: string) => file.startsWith("specs/");
    expect(plan(loaded([keep]), [...resources, withoutFile], { covers }).actions).toHaveLength(1);
  });

  it("A-4: is nothing of a set of another name", () => {
    const other = stored("a", undefined, { owner: { ...SET, name: "other" } });
    expect(plan(loaded([keep]), [other]).actions).toHaveLength(1);
  });

  it("A-2: is told after what stays, which is told by name, whatever the order of rows", () => {
    const names = ["c", "a", "b"];
    const protectedOnes = names.map((key) => stored(key, undefined, { prunable: false }));
    const failed = names.map((key) => stored(`in-bad-${key}`, undefined, { file: "bad.json" }));
    const specs = loaded([], { problems: [problemIn("bad.json")] });
    const made = plan(specs, [...protectedOnes, ...failed, stored("gone")]);
    expect(made.actions.map(({ key }) => key)).toEqual([
      "in-bad-a",
      "in-bad-b",
      "in-bad-c",
      "a",
      "b",
      "c",
      "gone",
    ]);
  });

  it("is nothing that the store protects, whatever became of its file", () => {
    const made = plan(loaded([keep]), [stored("safe", undefined, { prunable: false })]);
    expect(made.counts).toMatchObject({ prune: 0, unchanged: 1 });
    expect(made.actions.at(-1)?.reasons).toEqual([
      "specs/safe.resource.json is gone",
      "it is protected (prune: false), so it stays; delete it by hand, " +
        "or declare it with prune: true first",
    ]);
  });
});

describe("the prune gate", () => {
  it("A-5: is blocked by any problem in the set", () => {
    const specs = loaded([keep], { problems: [problemIn("specs/bad.json")] });
    expect(plan(specs, [stored("gone")]).prune).toEqual({
      state: "blocked",
      reasons: ["the specs have 1 problem, so what is absent may only have failed to load"],
    });
  });

  it("A-5: is blocked by a root that is missing, even one of several", () => {
    expect(plan(loaded([keep]), [stored("gone")], { absentRoots: ["specs/b"] }).prune).toEqual({
      state: "blocked",
      reasons: ["specs/b is missing or can't be read, so what it declared can't be told"],
    });
  });

  it("A-5: is blocked by a set that is suddenly empty, until that is said to be meant", () => {
    const resources = [stored("gone")];
    expect(plan(loaded([]), resources).prune).toEqual({
      state: "blocked",
      reasons: [
        "no resource is declared any more where there were 1; --allow-empty says that it is meant",
      ],
    });
    expect(plan(loaded([]), resources, { allowEmpty: true }).prune).toEqual({ state: "clear" });
  });

  it("is clear where nothing would be pruned", () => {
    const specs = loaded([keep], { problems: [problemIn("specs/bad.json")] });
    expect(plan(specs, [stored("keep")]).prune).toEqual({ state: "clear" });
  });

  it("A-6: is clear at the limit of count, and held one past it", () => {
    const { pruneCount } = LIMITS;
    expect(plan(loaded([keep]), many(pruneCount)).prune.state).toBe("clear");
    expect(plan(loaded([keep]), many(pruneCount + 1)).prune).toMatchObject({
      state: "held",
      reasons: [
        "4 of 4 resources would be pruned; more than 3 and more than 10 % need a confirmation",
      ],
    });
  });

  it("A-6: is clear at the limit of the fraction, and held one past it", () => {
    const kept = Array.from({ length: 90 }, (_, index) => `kept${index}`);
    const specs = loaded(kept.map((key) => declared(key)));
    const resources = (count: number) => [...kept.map((key) => stored(key)), ...many(count)];
    expect(plan(specs, resources(10)).prune.state).toBe("clear");
    expect(plan(specs, resources(11)).prune.state).toBe("held");
  });

  it("A-6: takes the fraction of what is in the scope, and of nothing outside it", () => {
    const outside = Array.from({ length: 90 }, (_, index) =>
      stored(`far${index}`, undefined, { file: `elsewhere/${index}.json` }),
    );
    const covers = (file: string) => file.startsWith("specs/");
    expect(plan(loaded([keep]), [...many(4), ...outside], { covers }).prune).toMatchObject({
      state: "held",
      reasons: [expect.stringContaining("4 of 4 resources")],
    });
  });

  it("A-5: counts the problems, and blames no emptiness that they may have caused", () => {
    const problems = [problemIn("x.json"), problemIn("y.json")];
    expect(plan(loaded([], { problems }), [stored("gone")]).prune).toEqual({
      state: "blocked",
      reasons: ["the specs have 2 problems, so what is absent may only have failed to load"],
    });
  });

  it("takes another guard", () => {
    const guard = { count: 0, fraction: 0 };
    expect(plan(loaded([keep]), many(1), { guard }).prune.state).toBe("held");
    expect(plan(loaded([keep]), many(9), { guard: { count: 9, fraction: 0 } }).prune.state).toBe(
      "clear",
    );
  });

  it("A-6: is cleared by the hash of exactly the set that was shown", () => {
    const resources = many(5);
    const { prune } = plan(loaded([keep]), resources);
    if (prune.state !== "held") throw new Error("not held");
    const confirm = prune.hash;
    expect(plan(loaded([keep]), resources, { confirm }).prune).toEqual({ state: "clear" });
    const larger = plan(loaded([keep]), many(6), { confirm }).prune;
    expect(larger).toMatchObject({
      state: "held",
      reasons: [expect.anything(), "the confirmation given is for another set of resources"],
    });
    const changed = [...many(4), stored("k004", undefined, { generation: 2 })];
    expect(plan(loaded([keep]), changed, { confirm }).prune.state).toBe("held");
  });

  it("A-6: keeps a confirmation while only statuses are written", () => {
    const { prune } = plan(loaded([keep]), many(5));
    const later = many(5).map((entry) => ({ ...entry, resourceVersion: 99 }));
    const confirm = prune.state === "held" ? prune.hash : "";
    expect(plan(loaded([keep]), later, { confirm }).prune.state).toBe("clear");
  });

  it("A-5: is not opened by a confirmation where it is blocked", () => {
    const { prune } = plan(loaded([keep]), many(5));
    const confirm = prune.state === "held" ? prune.hash : "";
    const specs = loaded([keep], { problems: [problemIn("x.json")] });
    expect(plan(specs, many(5), { confirm, allowEmpty: true }).prune.state).toBe("blocked");
  });
});
