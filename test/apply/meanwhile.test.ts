import { describe, expect, it } from "vitest";
import { apply } from "../../src/apply/apply.ts";
import { makePlan } from "../../src/apply/make-plan.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { LIMITS } from "../../src/model/limits.ts";
import { declared, EVERYTHING, loaded, OTHER_SET, request, SET } from "../diff/specs.ts";
import { applyTo, caught, keys, many } from "./applying.ts";
import { MemoryTarget } from "./memory-target.ts";

describe("applying to a store that changes meanwhile", () => {
  it("is not disturbed by a status written between plan and commit", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([...many(3), declared("old")]));
    const plan = await makePlan(target, loaded(many(3, 2)), request({ prune: EVERYTHING }));
    let writes = 3;
    target.beforeCommit = () => {
      writes -= 1;
      if (writes > 0) for (const key of ["k1", "old"]) target.writeStatus(key);
    };
    const receipt = await apply(plan, target, []);
    expect(receipt.actions.every(({ outcome }) => outcome === "done")).toBe(true);
    expect(await keys(target)).toEqual(["k0", "k1", "k2"]);
  });

  it.each<[string, Parameters<MemoryTarget["change"]>[1]]>([
    ["spec", { generation: 2, specHash: "other" }],
    ["generation, back and forth", { generation: 3 }],
    ["labels", { labels: { a: "b" } }],
    ["file", { file: "specs/elsewhere.resource.json" }],
    ["dependencies", { dependsOn: ["job/b"] }],
    ["owner", { owner: OTHER_SET }],
    ["owner's name", { owner: { ...SET, name: "other" } }],
    ["protection", { prunable: false }],
    ["suspension", { suspended: true }],
    ["life", { uid: "another" }],
  ])("G-3: is refused where somebody changed the %s", async (_, patch) => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([declared("a", 1)]));
    const plan = await makePlan(target, loaded([declared("a", 2)]), request());
    target.change("a", patch);
    const error = await caught(apply(plan, target, []));
    expect(error).toMatchObject({ code: "STALE", details: { key: "a" } });
  });

  it("G-3: does not prune what was given to another set or protected since", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([declared("a"), declared("b")]));
    const plan = await makePlan(target, loaded([declared("b")]), request({ prune: EVERYTHING }));
    target.change("a", { prunable: false });
    expect(await caught(apply(plan, target, []))).toMatchObject({ code: "STALE" });
    expect(await keys(target)).toEqual(["a", "b"]);
  });

  it("sends what it creates again too, beside what only had its status written", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([declared("a"), declared("b")]));
    const plan = await makePlan(
      target,
      loaded([declared("a", 2), declared("b", 2), declared("new")]),
      request(),
    );
    target.writeStatus("a");
    await apply(plan, target, []);
    expect(target.commits.at(-1)?.changes.map(({ kind, key }) => [kind, key])).toEqual([
      ["update", "a"],
      ["update", "b"],
      ["create", "new"],
    ]);
    expect(await keys(target)).toEqual(["a", "b", "new"]);
  });

  it("G-3: does not create what somebody created since, nor write what somebody deleted", async () => {
    const target = new MemoryTarget();
    const create = await makePlan(target, loaded([declared("a")]), request());
    await applyTo(target, loaded([declared("a", 9)]));
    expect(await caught(apply(create, target, []))).toMatchObject({
      code: "STALE",
      details: { key: "a" },
    });
    const update = await makePlan(target, loaded([declared("a", 2)]), request());
    const prune = { ...EVERYTHING, allowEmpty: true };
    await applyTo(target, loaded([]), { prune });
    expect(await caught(apply(update, target, []))).toMatchObject({
      code: "STALE",
      details: { key: "a" },
    });
    expect(await keys(target)).toEqual([]);
  });

  it("gives up at once on a store that is stale without reason", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([declared("a")]));
    let commits = 0;
    target.beforeCommit = () => {
      commits += 1;
      throw new PiWorkflowsError("STALE", "always");
    };
    const both = loaded([declared("a", 2), declared("b")]);
    expect(await caught(applyTo(target, both))).toMatchObject({ message: "always" });
    expect(commits).toBe(1);
  });

  it("gives up on a resource whose status is written each time that it is sent", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([declared("a")]));
    let commits = 0;
    target.beforeCommit = () => {
      commits += 1;
      if (commits > 20) throw new Error("it never gives up");
      target.writeStatus("a");
    };
    expect(await caught(applyTo(target, loaded([declared("a", 2)])))).toMatchObject({
      code: "STALE",
    });
    expect(commits).toBe(6);
  });

  it("plans from one consistent read", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([declared("a", 1)]));
    const specs = target.specs.bind(target);
    let reads = 0;
    target.specs = async (uids) => {
      reads += 1;
      if (reads === 1) await applyTo(target, loaded([declared("a", 3)]));
      return specs(uids);
    };
    const plan = await makePlan(target, loaded([declared("a", 2)]), request());
    expect(plan.actions[0]?.changes).toEqual([{ path: "spec", before: 3, after: 2 }]);
    expect(plan.actions[0]?.current?.generation).toBe(2);
  });

  it("plans again where one of several changed, or went, while they were read", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded(many(3)));
    const specs = target.specs.bind(target);
    let reads = 0;
    target.specs = async (uids) => {
      reads += 1;
      if (reads === 1) await applyTo(target, loaded([declared("k1", 3)]));
      if (reads === 2) {
        const prune = { covers: () => true, allowEmpty: true };
        await applyTo(target, loaded([declared("k0", 1), declared("k1", 3)]), { prune });
      }
      return specs(uids);
    };
    const plan = await makePlan(target, loaded(many(3, 2)), request());
    expect(plan.actions.map(({ kind, changes }) => [kind, changes?.[0]?.before])).toEqual([
      ["update", 1],
      ["update", 3],
      ["create", undefined],
    ]);
  });

  it("makes no plan of a store that changes each time that it is read", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([declared("a", 1)]));
    const specs = target.specs.bind(target);
    let reads = 0;
    target.specs = async (uids) => {
      reads += 1;
      if (reads > 20) throw new Error("it never gives up");
      target.change("a", { spec: `${reads + 1}`, specHash: `hash of ${reads}` });
      return specs(uids);
    };
    const error = await caught(makePlan(target, loaded([declared("a", 2)]), request()));
    expect(error).toMatchObject({ code: "STALE", hint: "Repeat in a moment." });
    expect(reads).toBe(5);
  });

  it("reads no more specs at once than a request may ask for", async () => {
    const target = new MemoryTarget();
    const count = LIMITS.page + 1;
    await applyTo(target, loaded(many(count)));
    const specs = target.specs.bind(target);
    const asked: number[] = [];
    target.specs = (uids) => {
      asked.push(uids.length);
      return specs(uids);
    };
    await makePlan(target, loaded(many(count, 2)), request());
    expect(asked).toEqual([LIMITS.page, 1]);
  });
});
