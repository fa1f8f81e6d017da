import type { Snapshot } from "../model/batch.ts";
import { fingerprintText } from "../model/canonical.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import { LIMITS } from "../model/limits.ts";
import type { LoadedSpecs } from "../model/manifest.ts";
import type { Plan } from "../model/plan.ts";
import { differing, planChanges } from "../diff/plan.ts";
import type { PlanRequest } from "../diff/plan.ts";
import type { PlanSource } from "./target.ts";

// The store may change between its snapshot and its specs; each try is one consistent read.
const TRIES = 5;

/**
 * Reads the store and says what applying `loaded` would do: the one way to a plan, for diff, apply
 * and sync. Writes nothing.
 * @throws STALE when the store keeps changing while it is read.
 */
export async function makePlan(
  source: PlanSource,
  loaded: LoadedSpecs,
  request: PlanRequest,
): Promise<Plan> {
  for (let left = TRIES; left > 0; left -= 1) {
    const snapshot = await source.snapshot(request.project);
    const uids = differing(loaded.desired, snapshot);
    const specs = await readSpecs(source, uids);
    if (isConsistent(snapshot, uids, specs)) {
      return planChanges({ request, loaded, snapshot, specs });
    }
  }
  throw new PiWorkflowsError("STALE", "the store changed each time that it was read", {
    hint: "Repeat in a moment.",
  });
}

async function readSpecs(source: PlanSource, uids: string[]): Promise<Map<string, string>> {
  const specs = new Map<string, string>();
  for (let start = 0; start < uids.length; start += LIMITS.page) {
    const page = await source.specs(uids.slice(start, start + LIMITS.page));
    for (const [uid, spec] of page) specs.set(uid, spec);
  }
  return specs;
}

function isConsistent(
  snapshot: Snapshot,
  uids: readonly string[],
  specs: ReadonlyMap<string, string>,
): boolean {
  if (uids.length === 0) return true;
  const hashes = new Map(snapshot.resources.map(({ uid, specHash }) => [uid, specHash]));
  return uids.every((uid) => {
    const spec = specs.get(uid);
    return spec !== undefined && fingerprintText(spec) === hashes.get(uid);
  });
}
