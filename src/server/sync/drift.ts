import type { SnapshotEntry } from "../../model/batch.ts";
import type { Plan, PlanAction } from "../../model/plan.ts";
import type { Origin, Owner, ResourceRef } from "../../model/resource.ts";
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
    if (wasTaken(set, await store.history(refOf(set, action)))) uids.add(current.uid);
  }
  return uids;
}

/** By a history, newest first: the set applied it, and what came after came since it was enabled. */
function wasTaken({ enabledAt }: SyncSet, history: readonly GenerationRecord[]): boolean {
  const last = history.findIndex(({ origin }) => isOwn(origin.owner));
  if (last < 0) return false;
  const taking = history[last - 1];
  // Without a generation of its own, taking it over changed nothing but the owner.
  return taking === undefined || taking.at >= enabledAt;
}

/** What a plan sets right: resources taken over, and those that somebody deleted. */
export async function describeDrift(
  store: StoreReader,
  set: SyncSet,
  plan: Plan,
  isSameRevision: boolean,
): Promise<Drift[]> {
  const drift: Drift[] = [];
  for (const action of plan.actions) {
    const { kind, resourceManager, key, desired, changes = [] } = action;
    if (!desired) continue;
    const by = await changedBy(store, set, action, isSameRevision);
    if (by === undefined) continue;
    const fields = kind === "create" ? [] : changes.map(({ path }) => path);
    drift.push({ resourceManager, key, by, fields, place: desired.place });
  }
  return drift;
}

async function changedBy(
  store: StoreReader,
  set: SyncSet,
  action: PlanAction,
  isSameRevision: boolean,
): Promise<string | undefined> {
  if (action.kind === "update" && action.owner && !isOwn(action.owner)) {
    const stored = await store.get(refOf(set, action));
    return describe(stored?.origin ?? { owner: action.owner });
  }
  // With another revision, what is created may be what was not there before.
  if (action.kind !== "create" || !isSameRevision) return undefined;
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
