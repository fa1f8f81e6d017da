import { fingerprint } from "../../model/canonical.ts";
import type { SnapshotEntry } from "../../model/batch.ts";
import type { Plan, PlanAction } from "../../model/plan.ts";
import type { PendingPrune, PruneItem, SyncRevision } from "../../model/sync.ts";
import { identityOf } from "../../diff/identity.ts";
import type { Source } from "./source.ts";

/** What a plan would prune, each with the commit that removed its file and what depends on it. */
export async function pruneItems(
  plan: Plan,
  source: Source,
  revision: SyncRevision,
  stored: readonly SnapshotEntry[],
): Promise<PruneItem[]> {
  const actions = plan.actions.filter(({ kind }) => kind === "prune");
  if (actions.length === 0) return [];
  const files = [...new Set(actions.map(({ current }) => current?.file ?? ""))];
  const removals = await source.removals(files, revision);
  const leaving = new Set(actions.map(({ current }) => current?.uid));
  const dependents = dependentsOf(stored.filter(({ uid }) => !leaving.has(uid)));
  return actions.map((action) => {
    const removedBy = removals.get(action.current?.file ?? "");
    return itemOf(action, removedBy, dependents);
  });
}

function itemOf(
  { resourceManager, key, current, reasons }: PlanAction,
  removedBy: SyncRevision | undefined,
  dependents: ReadonlyMap<string, string[]>,
): PruneItem {
  const { uid, generation, file = "" } = current as SnapshotEntry;
  return {
    resourceManager,
    key,
    uid,
    generation,
    file,
    reason: removedBy ? describeRemoval(file, removedBy) : reasons.join("; "),
    ...(removedBy ? { removedBy } : {}),
    dependents: dependents.get(identityOf(resourceManager, key)) ?? [],
  };
}

function describeRemoval(file: string, { id, author, subject }: SyncRevision): string {
  const name = author?.replace(/ <[^<>]*>$/, "") ?? "someone";
  return `${file} was removed by ${id.slice(0, 7)} (${name}: ${subject ?? ""})`;
}

/** By identity, which of the resources that stay depend on it. */
function dependentsOf(staying: readonly SnapshotEntry[]): Map<string, string[]> {
  const dependents = new Map<string, string[]>();
  for (const { manager, key, dependsOn } of staying) {
    for (const identity of dependsOn) {
      const names = dependents.get(identity) ?? [];
      names.push(identityOf(manager, key));
      dependents.set(identity, names);
    }
  }
  return dependents;
}

/** What waits, or undefined where nothing does. `since` is kept while the very same set waits. */
export function pendingPrune(
  { prune }: Plan,
  items: PruneItem[],
  before: PendingPrune | undefined,
  at: { now: number; revision: SyncRevision },
): PendingPrune | undefined {
  if (prune.state === "clear") return undefined;
  const isSame =
    before !== undefined && before.state === prune.state && setOf(before.items) === setOf(items);
  return {
    state: prune.state,
    reasons: prune.reasons,
    ...(prune.state === "held" ? { hash: prune.hash } : {}),
    items,
    since: isSame ? before.since : at.now,
    revision: at.revision.id,
  };
}

function setOf(items: readonly PruneItem[]): string {
  return fingerprint(items.map(({ uid }) => uid).sort());
}
