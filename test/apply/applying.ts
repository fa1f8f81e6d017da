import { expect } from "vitest";
import { apply } from "../../src/apply/apply.ts";
import type { ApplyOptions } from "../../src/apply/apply.ts";
import { makePlan } from "../../src/apply/make-plan.ts";
import type { PlanRequest } from "../../src/diff/plan.ts";
import type { PiWorkflowsError } from "../../src/model/errors.ts";
import type { Desired, LoadedSpecs } from "../../src/model/manifest.ts";
import { declared, PROJECT, request } from "../diff/specs.ts";
import type { MemoryTarget } from "./memory-target.ts";

/** Plans and applies. */
export async function applyTo(
  target: MemoryTarget,
  specs: LoadedSpecs,
  more: Partial<PlanRequest> = {},
  options: ApplyOptions = {},
) {
  const plan = await makePlan(target, specs, request(more));
  return { plan, receipt: await apply(plan, target, [], options) };
}

/** What a promise is rejected with. */
export async function caught(promise: Promise<unknown>): Promise<PiWorkflowsError> {
  return promise.then(
    () => expect.unreachable("nothing was thrown"),
    (thrown: PiWorkflowsError) => thrown,
  );
}

/** Keys of all that is stored. */
export const keys = async (target: MemoryTarget) =>
  (await target.snapshot(PROJECT)).resources.map(({ key }) => key).sort();

/** Jobs `k0`, `k1` and so on. */
export function many(count: number, spec: unknown = 1): Desired[] {
  return Array.from({ length: count }, (_, index) => declared(`k${index}`, spec));
}
