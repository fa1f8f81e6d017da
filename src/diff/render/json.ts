import type { ShownPlan } from "../schema.ts";

/** The plan as one JSON document, as schemas/plan.schema.json describes it. */
export function renderJson(plan: ShownPlan): string {
  return `${JSON.stringify(plan, null, 2)}\n`;
}
