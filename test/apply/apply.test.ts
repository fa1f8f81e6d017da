import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { RUN_ITEMS } from "../../src/apply/batches.ts";
import { apply } from "../../src/apply/apply.ts";
import type { ApplyOptions } from "../../src/apply/apply.ts";
import { makePlan } from "../../src/apply/make-plan.ts";
import { expectPlan, pruneRefusal } from "../../src/apply/refusals.ts";
import { hasChanges } from "../../src/diff/plan.ts";
import type { PlanRequest } from "../../src/diff/plan.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import type { WorkflowProposal } from "../../src/model/graph.ts";
import type { LoadedSpecs } from "../../src/model/manifest.ts";
import type { Desired } from "../../src/model/manifest.ts";
import {
  declared,
  EVERYTHING,
  loaded,
  manager,
  OTHER_SET,
  problemIn,
  PROJECT,
  request,
  SET,
} from "../diff/specs.ts";
import { MemoryTarget } from "./memory-target.ts";

async function applyTo(
  target: MemoryTarget,
  specs: LoadedSpecs,
  more: Partial<PlanRequest> = {},
  options: ApplyOptions = {},
) {
  const plan = await makePlan(target, specs, request(more));
  return { plan, receipt: await apply(plan, target, [], options) };
}

function workflow(name: string): WorkflowProposal {
  const { maxConcurrent: _bound, sources: _sources, ...common } = manager(name);
  const graph = { workflow: name, startAt: "end:done", nodes: {}, edges: {} };
  return { ...common, scope: "project", path: `${PROJECT}/${name}.workflow.ts`, graph };
}

async function caught(promise: Promise<unknown>): Promise<PiWorkflowsError> {
  return promise.then(
    () => expect.unreachable("nothing was thrown"),
    (thrown: PiWorkflowsError) => thrown,
  );
}

const keys = async (target: MemoryTarget) =>
  (await target.snapshot(PROJECT)).resources.map(({ key }) => key).sort();

describe("applying a plan", () => {
  it("A-1: does what the plan shows, and then nothing is left", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([declared("a"), declared("b"), declared("c")]));
    const specs = loaded([declared("a"), declared("b", 2), declared("d")]);
    const { plan, receipt } = await applyTo(target, specs, { prune: EVERYTHING });
    expect(plan.counts).toMatchObject({ create: 1, update: 1, unchanged: 1, prune: 1 });
    expect(receipt).toMatchObject({
      planId: plan.id,
      storeRevision: target.revision,
      actions: [
        { kind: "unchanged", key: "a", outcome: "skipped", generation: 1 },
        { kind: "update", key: "b", outcome: "done", generation: 2 },
        { kind: "create", key: "d", outcome: "done", generation: 1 },
        { kind: "prune", key: "c", outcome: "done" },
      ],
    });
    expect(await keys(target)).toEqual(["a", "b", "d"]);
    expect(hasChanges(await makePlan(target, specs, request({ prune: EVERYTHING })))).toBe(false);
  });

  it("A-13: writes where each generation came from", async () => {
    const target = new MemoryTarget();
    const origin = { commit: "abc", dirty: true, command: "apply -f specs" };
    await applyTo(target, loaded([declared("a")]), {}, { origin });
    await applyTo(target, loaded([declared("b")]), { prune: EVERYTHING }, { origin });
    const changes = target.commits.flatMap((batch) => batch.changes);
    expect(
      changes.map((change) => ("write" in change ? change.write.origin : change.origin)),
    ).toEqual([
      { owner: SET, file: "specs/a.resource.json", line: 1, ...origin },
      { owner: SET, file: "specs/b.resource.json", line: 1, ...origin },
      { owner: SET, file: "specs/a.resource.json", ...origin },
    ]);
  });

  it("accepts the definitions before it writes", async () => {
    const target = new MemoryTarget();
    const plan = await makePlan(target, loaded([declared("a")]), request());
    target.beforeCommit = () => expect(target.accepted).toEqual(["job"]);
    await apply(plan, target, [manager()]);
    expect(target.commits).toHaveLength(1);
  });

  it("accepts workflows too, also where no spec changed", async () => {
    const target = new MemoryTarget();
    const specs = loaded([declared("a")]);
    const plan = await makePlan(target, specs, request());
    target.beforeCommit = () => expect(target.accepted).toEqual(["job", "workflow review"]);
    await apply(plan, target, [manager()], { workflows: [workflow("review")] });
    expect(target.commits).toHaveLength(1);
    await applyTo(target, specs, {}, { workflows: [workflow("repair")] });
    expect(target.accepted).toEqual(["job", "workflow review", "workflow repair"]);
  });

  it("sends no batch where nothing is to be written", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([declared("a")]));
    await applyTo(target, loaded([declared("a")]));
    expect(target.commits).toHaveLength(1);
  });

  it("sends batches of the largest size, dependencies first, and tells how far it is", async () => {
    const target = new MemoryTarget();
    const count = RUN_ITEMS + 1;
    const chain = Array.from({ length: count }, (_, index) =>
      declared(`k${index}`, 1, { dependsOn: index === 0 ? [] : [`job/k${index - 1}`] }),
    );
    const progress: string[] = [];
    await applyTo(
      target,
      loaded(chain.toReversed()),
      {},
      { onProgress: ({ done, total }) => progress.push(`${done}/${total}`) },
    );
    expect(target.commits.map(({ changes }) => changes.length)).toEqual([RUN_ITEMS, 1]);
    expect(target.commits.flatMap(({ changes }) => changes.map(({ key }) => key))).toEqual(
      chain.map(({ key }) => key),
    );
    expect(progress).toEqual([`0/${count}`, `${RUN_ITEMS}/${count}`, `${count}/${count}`]);
  });

  it("cuts batches so that each fits one request", async () => {
    const target = new MemoryTarget();
    // Quotation marks double when a canonical spec is sent as a string.
    const spec = { text: '"'.repeat(LIMITS.spec / 2 - 20) };
    const specs = loaded(Array.from({ length: 40 }, (_, index) => declared(`k${index}`, spec)));
    await applyTo(target, specs);
    expect(target.commits.length).toBeGreaterThan(1);
    for (const batch of target.commits) {
      expect(Buffer.byteLength(JSON.stringify(batch))).toBeLessThanOrEqual(LIMITS.requestBody);
    }
  });

  it("refuses to take an answer about other changes for success", async () => {
    const target = new MemoryTarget();
    const commit = target.commit.bind(target);
    target.commit = async (batch) => ({ ...(await commit(batch)), items: [] });
    const error = await caught(applyTo(target, loaded([declared("a")])));
    expect(error).toMatchObject({ code: "INTERNAL" });
  });
});

describe("applying where something is wrong", () => {
  const broken = loaded([declared("a"), declared("b")], { problems: [problemIn("bad.json")] });

  it("stops before anything is written, and names every place", async () => {
    const target = new MemoryTarget();
    const error = await caught(applyTo(target, broken));
    expect(error).toMatchObject({ code: "INVALID_SPECS", details: { problems: broken.problems } });
    expect(error.message).toContain("bad.json:1:1: is not JSON");
    expect(target.commits).toEqual([]);
    expect(target.accepted).toEqual([]);
  });

  it("stops for a conflict, naming the owner", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([declared("a")]), { owner: OTHER_SET });
    const error = await caught(applyTo(target, loaded([declared("a"), declared("b")])));
    expect(error.code).toBe("CONFLICT");
    expect(error.message).toContain("job a belongs to sync set main");
    expect(await keys(target)).toEqual(["a"]);
  });

  it("applies the rest where it is told to continue, and reports what failed", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([declared("a")]), { owner: OTHER_SET });
    const file = "bad.json";
    const specs = loaded(
      [declared("a"), declared("b"), declared("c", 1, { place: { file, line: 1, column: 1 } })],
      { problems: [problemIn(file)] },
    );
    const { receipt } = await applyTo(target, specs, {}, { onError: "continue" });
    expect(receipt.actions.map(({ key, outcome }) => [key, outcome])).toEqual([
      ["a", "failed"],
      ["b", "done"],
      ["c", "failed"],
    ]);
    expect(receipt.actions[2]?.message).toBe("bad.json has problems, so nothing of it is applied");
  });

  it("leaves out of a refused batch only what is at fault, and then prunes nothing", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded([...many(20), declared("old")]));
    const changed = loaded(many(20, 2));
    const plan = await makePlan(target, changed, request({ prune: EVERYTHING }));
    target.change("k7", { labels: { by: "somebody" } });
    const receipt = await apply(plan, target, [], { onError: "continue" });
    const failed = receipt.actions.filter(({ outcome }) => outcome === "failed");
    expect(failed.map(({ key, message }) => [key, message])).toEqual([
      ["k7", "job k7 changed since it was planned"],
    ]);
    expect(receipt.actions.filter(({ outcome }) => outcome === "done")).toHaveLength(19);
    expect(receipt.actions.at(-1)).toMatchObject({
      kind: "prune",
      outcome: "skipped",
      message: "not pruned, because other changes failed",
    });
  });

  it("ends at the first refused batch otherwise, and says what was written before", async () => {
    const target = new MemoryTarget();
    const specs = loaded(many(RUN_ITEMS + 5));
    let commits = 0;
    target.beforeCommit = () => {
      commits += 1;
      if (commits === 2) throw new PiWorkflowsError("STORE_FULL", "no space");
    };
    const error = await caught(applyTo(target, specs));
    expect(error.code).toBe("STORE_FULL");
    expect(error.message).toBe("no space (500 of 505 changes were written before)");
    const { receipt } = error.details as { receipt: { actions: { outcome: string }[] } };
    expect(receipt.actions.filter(({ outcome }) => outcome === "done")).toHaveLength(RUN_ITEMS);
    target.beforeCommit = () => undefined;
    await applyTo(target, specs);
    expect(await keys(target)).toHaveLength(RUN_ITEMS + 5);
  });

  it("does not go on past a failure that is not about one resource", async () => {
    const target = new MemoryTarget();
    target.beforeCommit = () => {
      throw new PiWorkflowsError("SERVER_UNREACHABLE", "gone");
    };
    const error = await caught(applyTo(target, loaded(many(3)), {}, { onError: "continue" }));
    expect(error.code).toBe("SERVER_UNREACHABLE");
  });
});

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
    ["owner", { owner: OTHER_SET }],
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

  it("gives up on a store that is stale without reason", async () => {
    const target = new MemoryTarget();
    target.beforeCommit = () => {
      throw new PiWorkflowsError("STALE", "always");
    };
    expect(await caught(applyTo(target, loaded([declared("a")])))).toMatchObject({ code: "STALE" });
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
});

describe("a prune that may not happen", () => {
  const specs = loaded([declared("keep")]);

  it("A-6: is skipped while it is held, the rest being applied, and then confirmed", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded(many(5)));
    const { plan, receipt } = await applyTo(target, specs, { prune: EVERYTHING });
    expect(receipt.actions[0]).toMatchObject({ key: "keep", outcome: "done" });
    expect(receipt.actions.slice(1).map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual(
      Array.from({ length: 5 }, () => "prune skipped"),
    );
    const refusal = pruneRefusal(plan);
    expect(refusal).toMatchObject({ code: "PRUNE_HELD" });
    const confirm = refusal?.details?.["hash"] as string;
    expect(refusal?.hint).toContain(`--confirm-prune ${confirm}`);
    const second = await applyTo(target, specs, { prune: { ...EVERYTHING, confirm } });
    expect(pruneRefusal(second.plan)).toBeUndefined();
    expect(await keys(target)).toEqual(["keep"]);
  });

  it("A-5: is skipped while it is blocked", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded(many(2)));
    const prune = { ...EVERYTHING, absentRoots: ["specs"] };
    const { plan, receipt } = await applyTo(target, specs, { prune });
    expect(pruneRefusal(plan)).toMatchObject({ code: "PRUNE_BLOCKED" });
    expect(receipt.actions.at(-1)?.message).toMatch(/^the prune is blocked; specs is missing/);
    expect(await keys(target)).toEqual(["k0", "k1", "keep"]);
  });
});

describe("a plan that was shown before", () => {
  it("is held to by its id, or the beginning of it that is printed", async () => {
    const plan = await makePlan(new MemoryTarget(), loaded([declared("a")]), request());
    expect(() => expectPlan(plan, plan.id)).not.toThrow();
    expect(() => expectPlan(plan, plan.id.slice(0, 12))).not.toThrow();
    expect(() => expectPlan(plan, plan.id.slice(0, 11))).toThrow(PiWorkflowsError);
  });

  it("is stale once the store has moved, and the error shows what is new", async () => {
    const target = new MemoryTarget();
    const specs = loaded([declared("a")]);
    const { id } = await makePlan(target, specs, request());
    await applyTo(target, loaded([declared("a", 5)]));
    const now = await makePlan(target, specs, request());
    const error = await caught(Promise.resolve().then(() => expectPlan(now, id)));
    expect(error.code).toBe("PLAN_STALE");
    expect(error.message).toContain("it would now do this:\n  update job a: spec changed");
  });
});

function many(count: number, spec: unknown = 1): Desired[] {
  return Array.from({ length: count }, (_, index) => declared(`k${index}`, spec));
}
