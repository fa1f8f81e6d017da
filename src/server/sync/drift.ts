import type { SnapshotEntry } from "../../model/batch.ts";
import type { ActionReceipt, Plan, PlanAction } from "../../model/plan.ts";
import { describeRef, type Origin, type Owner, type ResourceRef } from "../../model/resource.ts";
import { SYNC_OWNER, type Drift, type SyncSet } from "../../model/sync.ts";
import type { GenerationRecord, StoreReader } from "../../store/store.ts";

// Each is a read of a history; more conflicts than this mean that two sets share their resources.
const HISTORIES_READ = 200;

/**
 * Uids of resources that the set applied and someone took over by force since it was enabled. The
 * source says what they are to be, so the set takes them back; others that it does not own are in
 * conflict, and stay.
 */
export async function findTakenOver(
  store: StoreReader,
  set: SyncSet,
  plan: Plan,
): Promise<Set<string>> {
  const uids = new Set<string>();
  const conflicts = plan.actions.filter(({ kind, current }) => kind === "conflict" && current);
  for (const action of conflicts.slice(0, HISTORIES_READ)) {
    const current = action.current as SnapshotEntry;
    if (current.deleting || isOwn(current.owner)) continue;
    if (wasTaken(set, action, await store.history(refOf(set, action)))) uids.add(current.uid);
  }
  return uids;
}

/** By a history, newest first: the set applied it, and what came after came since it was enabled. */
function wasTaken(
  { enabledAt }: SyncSet,
  { desired }: PlanAction,
  history: readonly GenerationRecord[],
): boolean {
  // What `apply` had from the same file became the set's without a generation of its own.
  const last = history.findIndex(
    ({ origin: { owner, file } }) =>
      isOwn(owner) || (owner.kind === "apply" && file === desired?.place.file),
  );
  if (last < 0) return false;
  const taking = history[last - 1];
  // Without a generation of its own, taking it over changed nothing but the owner.
  return taking === undefined || taking.at >= enabledAt;
}

/** Drift that a plan would set right. */
export type FoundDrift = Omit<Drift, "setRight">;

/** What a plan sets right: resources taken over, and those that somebody deleted. */
export async function describeDrift(
  store: StoreReader,
  set: SyncSet,
  plan: Plan,
  seen: { at: number; isSameTree: boolean },
): Promise<FoundDrift[]> {
  const drift: FoundDrift[] = [];
  for (const action of plan.actions) {
    const { kind, resourceManager, key, desired, changes = [] } = action;
    if (!desired || !mayBeDrift(action, seen.isSameTree)) continue;
    const by = await changedBy(store, set, action);
    if (by === undefined) continue;
    const fields = kind === "create" ? [] : changes.map(({ path }) => path);
    drift.push({ resourceManager, key, by, fields, place: desired.place, at: seen.at });
  }
  return drift;
}

// As many as a person may want to look through.
const DRIFT_KEPT = 100;

/** What was found now, and before it what was set right since the source last changed. */
export function mergeDrift(
  found: readonly FoundDrift[],
  receipts: readonly ActionReceipt[] | undefined,
  earlier: readonly Drift[],
): Drift[] {
  const done = new Set(
    receipts?.filter(({ outcome }) => outcome === "done").map((receipt) => describeRef(receipt)),
  );
  const now = found.map((drift) => ({ ...drift, setRight: done.has(describeRef(drift)) }));
  const names = new Set(now.map(describeRef));
  const kept = earlier.filter((drift) => drift.setRight && !names.has(describeRef(drift)));
  return [...kept, ...now].slice(-DRIFT_KEPT);
}

// With another tree, what is created may be what was not there before.
function mayBeDrift({ kind, owner }: PlanAction, isSameTree: boolean): boolean {
  return (
    (kind === "update" && owner !== undefined && !isOwn(owner)) || (kind === "create" && isSameTree)
  );
}

async function changedBy(
  store: StoreReader,
  set: SyncSet,
  action: PlanAction,
): Promise<string | undefined> {
  if (action.kind === "update") {
    const [latest] = await store.history(refOf(set, action));
    // Of before it was enabled: handed on by `apply`, not changed behind the back of the set.
    if (action.owner?.kind === "apply" && latest && latest.at < set.enabledAt) return undefined;
    const stored = await store.get(refOf(set, action));
    return stored && describe(stored.origin);
  }
  const [deletion] = await store.history(refOf(set, action));
  return deletion && !isOwn(deletion.origin.owner) ? describe(deletion.origin) : undefined;
}

function describe({ owner, command }: Origin): string {
  return command === undefined ? owner.name : `${owner.name}: ${command}`;
}

function isOwn(owner: Owner): boolean {
  return owner.kind === SYNC_OWNER.kind && owner.name === SYNC_OWNER.name;
}

function refOf({ project }: SyncSet, { resourceManager, key }: PlanAction): ResourceRef {
  return { project, resourceManager, key };
}
