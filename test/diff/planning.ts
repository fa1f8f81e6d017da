import { planChanges } from "../../src/diff/plan.ts";
import type { PlanRequest } from "../../src/diff/plan.ts";
import type { SnapshotEntry } from "../../src/model/batch.ts";
import type { LoadedSpecs } from "../../src/model/manifest.ts";
import type { Plan } from "../../src/model/plan.ts";
import { request } from "./specs.ts";

export const NO_SPECS = new Map<string, string>();

/** Plans what is loaded against what is stored. */
export function plan(
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

/** Kind, key and reasons of each action. */
export function summary({ actions }: Plan): [string, string, ...string[]][] {
  return actions.map(({ kind, key, reasons }) => [kind, key, ...reasons]);
}
