import { describe, expect, it } from "vitest";
import { makePlan } from "../../src/apply/make-plan.ts";
import { expectPlan } from "../../src/apply/refusals.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { declared, loaded, request } from "../diff/specs.ts";
import { applyTo, caught, many } from "./applying.ts";
import { MemoryTarget } from "./memory-target.ts";

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

  it("is told to do nothing any more once somebody else applied it", async () => {
    const target = new MemoryTarget();
    const specs = loaded([declared("a")]);
    const { id } = await makePlan(target, specs, request());
    await applyTo(target, specs);
    const now = await makePlan(target, specs, request());
    const error = await caught(Promise.resolve().then(() => expectPlan(now, id)));
    expect(error.message).toMatch(/no longer holds; nothing is left to do$/);
    expect(error.details).toMatchObject({ expected: id, id: now.id, actions: [] });
  });

  it("names at most twenty of the things that it would do now, and all of them in its details", async () => {
    const planned = async (count: number) => {
      const plan = await makePlan(new MemoryTarget(), loaded(many(count)), request());
      return caught(Promise.resolve().then(() => expectPlan(plan, "of another")));
    };
    const error = await planned(23);
    const lines = error.message.split("\n").slice(1);
    expect(lines).toHaveLength(21);
    expect(lines[0]).toBe("  create job k0: is new in specs/k0.resource.json");
    expect(lines.at(-1)).toBe("  and 3 more");
    const { actions } = error.details as { actions: unknown[] };
    expect(actions).toHaveLength(23);
    expect(actions[0]).toEqual({
      kind: "create",
      resourceManager: "job",
      key: "k0",
      reasons: ["is new in specs/k0.resource.json"],
    });
    expect((await planned(20)).message.split("\n")).toHaveLength(21);
  });
});
