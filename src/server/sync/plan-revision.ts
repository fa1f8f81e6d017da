import { makePlan } from "../../apply/make-plan.ts";
import type { PlanSource } from "../../apply/target.ts";
import type { PlanRequest } from "../../diff/plan.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import type { Plan } from "../../model/plan.ts";
import { SYNC_OWNER, type SyncSet } from "../../model/sync.ts";
import type { StoreReader } from "../../store/store.ts";
import { findTakenOver } from "./drift.ts";
import { loadMore, type LoadContext, type Loaded } from "./load.ts";
import { isBodiless, type Memory } from "./memory.ts";

/** What a person allowed for one sync. */
export type Consent = {
  /** The hash of a prune that was confirmed. */
  confirm?: string;
  /** That nothing is declared any more is meant. */
  allowEmpty?: boolean;
};

export type Planning = {
  context: LoadContext;
  set: SyncSet;
  source: PlanSource;
  store: StoreReader;
  memory: Memory | undefined;
  consent: Consent;
};

/** A plan, and all that it was made from. */
export type Planned = { plan: Plan; loaded: Loaded };

// One round finds what was taken over, one loads bodies; the store may change in between.
const ROUNDS = 6;

/**
 * Plans a loaded revision against the store. Where the plan writes something whose spec was not kept
 * in memory, because somebody changed the store, its file is loaded too, and it is planned again.
 * @throws STALE when the store keeps changing meanwhile
 */
export async function planRevision(planning: Planning, first: Loaded): Promise<Planned> {
  const { context, set, source, store, memory } = planning;
  const taken = new Set<string>();
  let loaded = first;
  for (let round = 0; round < ROUNDS; round += 1) {
    const request = requestOf(planning, loaded, taken);
    const plan = await makePlan(source, loaded.specs, request);
    const missing = filesWithoutBodies(plan);
    const more = await findTakenOver(store, set, plan);
    if (missing.length === 0 && more.size === 0) return { plan, loaded };
    for (const uid of more) taken.add(uid);
    if (missing.length > 0) loaded = await loadMore(context, loaded, missing, memory);
  }
  throw new PiWorkflowsError("STALE", "the store changed each time that it was planned against");
}

function requestOf(
  { set, consent }: Planning,
  { listing }: Loaded,
  taken: ReadonlySet<string>,
): PlanRequest {
  return {
    project: set.project,
    owner: SYNC_OWNER,
    force: ({ uid }) => taken.has(uid),
    ...(set.prune
      ? {
          prune: {
            // A sync loads its whole set each time, so whatever it owns is in its scope.
            covers: () => true,
            absentRoots: listing.absentRoots,
            ...(set.guard === undefined ? {} : { guard: set.guard }),
            ...consent,
          },
        }
      : {}),
  };
}

function filesWithoutBodies({ actions }: Plan): string[] {
  const files = new Set<string>();
  for (const { kind, desired } of actions) {
    const writes = kind === "create" || kind === "update" || kind === "move";
    if (writes && desired && isBodiless(desired)) files.add(desired.place.file);
  }
  return [...files];
}
