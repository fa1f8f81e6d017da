import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  conditionFalse,
  conditionTrue,
  defineResourceManager,
} from "../../src/resource-managers/index.ts";
import { testManager } from "../../src/testing/index.ts";

const doors = new Set<string>();
let calls = 0;

const door = defineResourceManager<{ name: string; shut: boolean }, { opened: number }>({
  name: "door",
  spec: z.object({ name: z.string().min(1), shut: z.boolean().default(false) }),
  initialStatus: () => ({ opened: 0 }),
  async reconcile(ctx, { spec, metadata, status }) {
    if (metadata.deletionTimestamp !== undefined) {
      doors.delete(spec.name);
      await ctx.finalizers.remove("door");
      return ctx.settled();
    }
    if (spec.shut) {
      return ctx.requeueAfter(60_000, { conditions: [conditionFalse("Ready", "Shut")] });
    }
    await ctx.finalizers.add("door");
    const inspection = await ctx.workflows.ensure({
      requestKey: `inspect:${metadata.generation}`,
      workflow: "inspect",
      input: { name: spec.name },
    });
    if (inspection.state !== "succeeded") return ctx.settled();
    await ctx.effects.ensure({
      key: `open:${metadata.generation}`,
      kind: "open",
      request: { name: spec.name },
      observe: async () =>
        doors.has(spec.name) ? { state: "applied" as const } : { state: "absent" as const },
      apply: async () => {
        calls += 1;
        doors.add(spec.name);
      },
    });
    return ctx.settled({
      resourceManagerStatus: { opened: status.resourceManagerStatus.opened + 1 },
      conditions: [conditionTrue("Ready", "Open")],
    });
  },
});

describe("testManager", () => {
  it("goes pass by pass, with child runs and a clock that the test holds", async () => {
    const test = testManager(door, { spec: { name: "front", shut: true } });
    const began = test.clock.now();
    await test.pass();
    expect(test.ready).toBe("false/Shut");
    await test.pass();
    expect(test.clock.now() - began).toBe(60_000);
    test.change({ name: "front", shut: false });
    await test.pass("spec");
    expect(test.requests.get("inspect:2")?.input).toEqual({ name: "front" });
    test.endRun("inspect:2", "succeeded");
    await test.pass("child");
    expect(test.ready).toBe("true/Open");
    expect(test.effects).toMatchObject([{ key: "open:2", state: "applied", attempts: 1 }]);
    test.delete();
    await test.pass("delete");
    expect(test.isRemoved).toBe(true);
    expect(doors).not.toContain("front");
  });

  it.each([
    ["effect-pending", 1],
    ["provider-answered", 1],
    ["effect-settled", 1],
  ] as const)("a process that dies at %s leaves one call of the provider", async (point, once) => {
    calls = 0;
    doors.clear();
    const test = testManager(door, { spec: { name: "back", shut: false } });
    await test.pass();
    test.endRun("inspect:1", "succeeded");
    test.crashAt = point;
    expect(await test.pass()).toEqual({ kind: "crashed" });
    await test.until(() => test.ready === "true/Open");
    expect(calls).toBe(once);
  });

  it("refuses a spec that does not fit the manager's schema", () => {
    expect(() => testManager(door, { spec: { name: "", shut: false } })).toThrow(/name/);
  });

  it("D-1: a deleted resource without a finalizer is gone at once", () => {
    const test = testManager(door, { spec: { name: "side", shut: true } });
    test.delete();
    expect(test.isRemoved).toBe(true);
  });
});
