import { describe, expect, it } from "vitest";
import { RUN_ITEMS } from "../../src/apply/batches.ts";
import { apply } from "../../src/apply/apply.ts";
import { makePlan } from "../../src/apply/make-plan.ts";
import { pruneRefusal } from "../../src/apply/refusals.ts";
import { hasChanges } from "../../src/diff/plan.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import type { BatchReceipt } from "../../src/model/batch.ts";
import type { WorkflowProposal } from "../../src/model/graph.ts";
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
import { applyTo, caught, keys, many } from "./applying.ts";
import { MemoryTarget } from "./memory-target.ts";

function workflow(name: string): WorkflowProposal {
  const { maxConcurrent: _bound, sources: _sources, ...common } = manager(name);
  const graph = { workflow: name, startAt: "end:done", nodes: {}, edges: {} };
  return { ...common, scope: "project", path: `${PROJECT}/${name}.workflow.ts`, graph };
}

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
    expect(receipt.actions[0]).not.toHaveProperty("message");
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

  it("A-13: asks of each file where it came from, also of what is pruned", async () => {
    const target = new MemoryTarget();
    const origin = (file: string | undefined) => ({ blob: `blob of ${file}` });
    await applyTo(target, loaded([declared("a")]), {}, { origin });
    await applyTo(target, loaded([declared("b")]), { prune: EVERYTHING }, { origin });
    const changes = target.commits.flatMap((batch) => batch.changes);
    const origins = changes.map((change) =>
      "write" in change ? change.write.origin : change.origin,
    );
    expect(origins.map(({ blob }) => blob)).toEqual(
      ["a", "b", "a"].map((key) => `blob of specs/${key}.resource.json`),
    );
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

  it.each<[string, (items: BatchReceipt["items"]) => unknown[]]>([
    ["nothing", () => []],
    ["fewer", ([first]) => [first]],
    ["more", (items) => [...items, items[0]]],
    ["another key", ([first, second]) => [first, { ...second, key: "other" }]],
    ["another manager", ([first, second]) => [{ ...first, manager: "other" }, second]],
    ["another order", (items) => items.toReversed()],
  ])("refuses to take an answer about %s for success", async (_, change) => {
    const target = new MemoryTarget();
    const commit = target.commit.bind(target);
    target.commit = async (batch) => {
      const receipt = await commit(batch);
      return { ...receipt, items: change(receipt.items) as BatchReceipt["items"] };
    };
    const error = await caught(applyTo(target, loaded([declared("a"), declared("b")])));
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
    expect(error.details).toEqual({
      conflicts: [
        { resourceManager: "job", key: "a", reasons: expect.any(Array), owner: OTHER_SET },
      ],
    });
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
    await applyTo(target, loaded([declared("old")]));
    const specs = loaded(many(RUN_ITEMS + 5));
    let commits = 0;
    target.beforeCommit = () => {
      commits += 1;
      if (commits === 2) throw new PiWorkflowsError("STORE_FULL", "no space");
    };
    const error = await caught(applyTo(target, specs, { prune: EVERYTHING }));
    expect(error.code).toBe("STORE_FULL");
    expect(error.message).toBe("no space (500 of 506 changes were written before)");
    const { receipt } = error.details as { receipt: { actions: { outcome: string }[] } };
    expect(receipt.actions.filter(({ outcome }) => outcome === "done")).toHaveLength(RUN_ITEMS);
    expect(receipt.actions.at(-1)).toMatchObject({ kind: "prune", outcome: "skipped" });
    expect(receipt.actions.at(-1)).not.toHaveProperty("message");
    target.beforeCommit = () => undefined;
    await applyTo(target, specs);
    expect(await keys(target)).toHaveLength(RUN_ITEMS + 6);
  });

  it("does not count what was refused to what was written before", async () => {
    const target = new MemoryTarget();
    target.beforeCommit = ({ changes }) => {
      if (changes.some(({ key }) => key === "k1")) throw new PiWorkflowsError("STALE", "k1");
      if (changes.some(({ key }) => key === "z")) throw new PiWorkflowsError("STORE_FULL", "no");
    };
    const specs = loaded([...many(RUN_ITEMS), declared("z")]);
    const error = await caught(applyTo(target, specs, {}, { onError: "continue" }));
    expect(error.message).toBe("no (499 of 501 changes were written before)");
  });

  it("does not go on past a failure that is not about one resource", async () => {
    const target = new MemoryTarget();
    target.beforeCommit = () => {
      throw new PiWorkflowsError("SERVER_UNREACHABLE", "gone");
    };
    const error = await caught(applyTo(target, loaded(many(3)), {}, { onError: "continue" }));
    expect(error).toMatchObject({ code: "SERVER_UNREACHABLE", message: "gone" });
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
    expect(refusal).toMatchObject({
      code: "PRUNE_HELD",
      message: expect.stringMatching(/^5 resources were not pruned: 5 of 5/),
    });
    const confirm = refusal?.details?.["hash"] as string;
    expect(refusal?.hint).toContain(`--confirm-prune ${confirm}`);
    const second = await applyTo(target, specs, { prune: { ...EVERYTHING, confirm } });
    expect(pruneRefusal(second.plan)).toBeUndefined();
    expect(await keys(target)).toEqual(["keep"]);
  });

  it("A-5: is skipped while it is blocked", async () => {
    const target = new MemoryTarget();
    await applyTo(target, loaded(many(1)));
    const prune = { ...EVERYTHING, absentRoots: ["specs"] };
    const { plan, receipt } = await applyTo(target, specs, { prune });
    expect(pruneRefusal(plan)).toMatchObject({
      code: "PRUNE_BLOCKED",
      message: expect.stringMatching(/^1 resource was not pruned: specs is missing/),
      details: { reasons: [expect.stringContaining("specs is missing")] },
    });
    expect(receipt.actions.at(-1)?.message).toMatch(/^the prune is blocked; specs is missing/);
    expect(await keys(target)).toEqual(["k0", "keep"]);
  });
});
