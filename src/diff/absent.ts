import type { SnapshotEntry } from "../model/batch.ts";
import type { Owner } from "../model/resource.ts";
import type { PruneRequest } from "./guard.ts";
import { identityOf } from "./identity.ts";
import { dependencyOrder } from "./order.ts";

/** Live resources of the set that no file declares any more. */
export type Absent = {
  /** In the order of pruning: what depends on others goes first. */
  pruned: SnapshotEntry[];
  /** Protected in the store by `prune: false`. */
  kept: SnapshotEntry[];
  /** Their file is there but failed to load. */
  failed: SnapshotEntry[];
  /** Live resources of the set within the scope, declared or not. */
  owned: number;
};

/** What decides whether a live resource belongs to the set that was loaded. */
export type AbsentScope = {
  owner: Owner;
  prune?: PruneRequest;
  declares(identity: string): boolean;
  failedFiles: ReadonlySet<string>;
};

/**
 * Finds what is absent among a project's live resources, given by identity. Only resources of the same owner whose
 * recorded file lies in the scope can be pruned; what is already deleting is left alone.
 */
export function findAbsent(stored: ReadonlyMap<string, SnapshotEntry>, scope: AbsentScope): Absent {
  const absent: Absent = { pruned: [], kept: [], failed: [], owned: 0 };
  const pruned: SnapshotEntry[] = [];
  for (const [identity, entry] of stored) {
    if (entry.deleting || entry.file === undefined || !sameOwner(entry.owner, scope.owner))
      continue;
    const covered = scope.prune?.covers(entry.file) === true;
    if (covered) absent.owned += 1;
    if (scope.declares(identity)) continue;
    if (scope.failedFiles.has(entry.file)) absent.failed.push(entry);
    else if (covered) (entry.prunable ? pruned : absent.kept).push(entry);
  }
  absent.pruned = inReverse(pruned);
  absent.kept.sort(byIdentity);
  absent.failed.sort(byIdentity);
  return absent;
}

/** True where both names stand for the same set or person. */
export function sameOwner(a: Owner, b: Owner): boolean {
  return a.kind === b.kind && a.name === b.name;
}

function inReverse(entries: readonly SnapshotEntry[]): SnapshotEntry[] {
  const nodes = entries.map((entry) => ({
    identity: identityOf(entry.manager, entry.key),
    dependsOn: entry.dependsOn,
    entry,
  }));
  return dependencyOrder(nodes)
    .order.map((node) => node.entry)
    .reverse();
}

function byIdentity(a: SnapshotEntry, b: SnapshotEntry): number {
  return identityOf(a.manager, a.key) < identityOf(b.manager, b.key) ? -1 : 1;
}
