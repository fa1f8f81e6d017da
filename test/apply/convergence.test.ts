import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apply } from "../../src/apply/apply.ts";
import { makePlan } from "../../src/apply/make-plan.ts";
import { hasChanges } from "../../src/diff/plan.ts";
import type { PlanRequest } from "../../src/diff/plan.ts";
import type { Desired } from "../../src/model/manifest.ts";
import type { Plan } from "../../src/model/plan.ts";
import type { Owner } from "../../src/model/resource.ts";
import { declared, loaded, OTHER_SET, PROJECT, request, SET } from "../diff/specs.ts";
import { MemoryTarget } from "./memory-target.ts";

const KEYS = ["a", "b", "c", "d", "e", "f"] as const;
const FILES = ["one.json", "two.json", "sub/three.json"] as const;

/** A set of declarations; a resource depends only on earlier keys, so that there are no circles. */
const declarations: fc.Arbitrary<Desired[]> = fc
  .uniqueArray(
    fc.record({
      index: fc.nat(KEYS.length - 1),
      size: fc.nat(3),
      file: fc.constantFrom(...FILES),
      label: fc.option(fc.constantFrom("x", "y"), { nil: undefined }),
      needsFirst: fc.boolean(),
      prune: fc.constantFrom(undefined, true, false),
      suspend: fc.constantFrom(undefined, true, false),
    }),
    { selector: ({ index }) => index, maxLength: KEYS.length },
  )
  .map((items) => {
    const present = new Set(items.map(({ index }) => index));
    return items.map(({ index, size, file, label, needsFirst, prune, suspend }) =>
      declared(
        KEYS[index] as string,
        { size },
        {
          place: { file, line: index + 1, column: 1 },
          labels: label === undefined ? {} : { label },
          dependsOn: needsFirst && index > 0 && present.has(0) ? ["job/a"] : [],
          ...(prune === undefined ? {} : { prune }),
          ...(suspend === undefined ? {} : { suspend }),
        },
      ),
    );
  });

const noGuard = { covers: () => true, allowEmpty: true, guard: { count: 1_000, fraction: 1 } };

async function applyAll(
  target: MemoryTarget,
  desired: Desired[],
  more: Partial<PlanRequest> = {},
): Promise<Plan> {
  const plan = await makePlan(target, loaded(desired), request({ prune: noGuard, ...more }));
  await apply(plan, target, [], { onError: "continue" });
  return plan;
}

describe("apply", () => {
  it("A-1: does exactly what the plan shows, and leaves nothing to do", async () => {
    await fc.assert(
      fc.asyncProperty(declarations, declarations, async (first, second) => {
        const target = new MemoryTarget();
        await applyAll(target, first);
        const before = new Map(
          (await target.snapshot(PROJECT)).resources.map((entry) => [entry.key, entry]),
        );
        const plan = await applyAll(target, second);
        const after = new Map(
          (await target.snapshot(PROJECT)).resources.map((entry) => [entry.key, entry]),
        );
        for (const { kind, key } of plan.actions) {
          expect([kind, before.has(key), after.has(key)]).toEqual([
            kind,
            kind !== "create",
            kind !== "prune",
          ]);
          const raised = (after.get(key)?.generation ?? 0) - (before.get(key)?.generation ?? 0);
          if (kind === "move" || kind === "unchanged") expect(raised).toBe(0);
          if (kind === "unchanged") expect(after.get(key)).toEqual(before.get(key));
        }
        expect(plan.counts.conflict + plan.counts.invalid).toBe(0);
        const commits = target.commits.length;
        expect(hasChanges(await applyAll(target, second))).toBe(false);
        expect(target.commits).toHaveLength(commits);
      }),
      { numRuns: 150 },
    );
  });

  it("A-2: ends in the same store for any order and any division into applies", async () => {
    await fc.assert(
      fc.asyncProperty(declarations, fc.infiniteStream(fc.nat(2)), async (desired, stream) => {
        const whole = new MemoryTarget();
        await applyAll(whole, desired);
        const parts: Desired[][] = [[], [], []];
        for (const item of desired) parts[stream.next().value as number]?.push(item);
        const divided = new MemoryTarget();
        // What others depend on must be there; that part goes first.
        parts.sort((a, b) => Number(has(b, "a")) - Number(has(a, "a")));
        for (const part of parts) {
          const plan = await makePlan(divided, loaded(part.toReversed()), request());
          await apply(plan, divided, []);
        }
        expect(divided.contents()).toEqual(whole.contents());
      }),
      { numRuns: 150 },
    );
  });

  it("A-4: never changes or prunes what another set owns", async () => {
    await fc.assert(
      fc.asyncProperty(declarations, declarations, declarations, async (theirs, first, second) => {
        const target = new MemoryTarget();
        await applyAll(target, theirs, { owner: OTHER_SET });
        const before = await ownedBy(target, OTHER_SET);
        await applyAll(target, first);
        await applyAll(target, second);
        await applyAll(target, []);
        expect(await ownedBy(target, OTHER_SET)).toEqual(before);
        const left = await ownedBy(target, SET);
        expect(left.every(({ prunable }) => !prunable)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it("A-7: leaves a resource that two manifests claim as it is stored", async () => {
    await fc.assert(
      fc.asyncProperty(declarations, declarations, async (first, second) => {
        fc.pre(second.length > 0);
        const target = new MemoryTarget();
        await applyAll(target, first);
        const stored = (await target.snapshot(PROJECT)).resources;
        const twice = second.flatMap((item) => [item, { ...item, spec: "0", specHash: "other" }]);
        await applyAll(target, twice);
        expect((await target.snapshot(PROJECT)).resources).toEqual(stored);
      }),
      { numRuns: 50 },
    );
  });
});

function has(desired: Desired[], key: string): boolean {
  return desired.some((item) => item.key === key);
}

async function ownedBy(target: MemoryTarget, owner: Owner) {
  const { resources } = await target.snapshot(PROJECT);
  return resources.filter((entry) => entry.owner.kind === owner.kind);
}
