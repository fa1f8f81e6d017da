import { fingerprint } from "../model/canonical.ts";
import type { SnapshotEntry } from "../model/batch.ts";
import { LIMITS } from "../model/limits.ts";
import type { PruneGate } from "../model/plan.ts";

/** What the caller asks of pruning; without it nothing is pruned. */
export type PruneRequest = {
  /** True for the recorded file of a resource that was in the scope of what was loaded. */
  covers(file: string): boolean;
  /** Roots that were to be loaded but are missing or unreadable. */
  absentRoots?: readonly string[];
  /** True where a set that is suddenly empty is meant. */
  allowEmpty?: boolean;
  /** More than `count` and more than `fraction` of the set is held; default LIMITS. */
  guard?: { count: number; fraction: number };
  /** The hash of a held set that a person has confirmed. */
  confirm?: string;
};

/** What the gate judges. */
export type PruneState = {
  request: PruneRequest;
  /** What would be pruned. */
  pruned: readonly SnapshotEntry[];
  /** How many live resources the set has within the scope. */
  owned: number;
  /** How many resources the files declare. */
  declared: number;
  problems: number;
};

/** Whether what would be pruned may be. */
export function judgePrune(state: PruneState): PruneGate {
  if (state.pruned.length === 0) return { state: "clear" };
  const reasons = blockers(state);
  if (reasons.length > 0) return { state: "blocked", reasons };
  const { count, fraction } = state.request.guard ?? {
    count: LIMITS.pruneCount,
    fraction: LIMITS.pruneFraction,
  };
  const size = state.pruned.length;
  if (size <= count || size <= fraction * state.owned) return { state: "clear" };
  const hash = pruneHash(state.pruned);
  if (state.request.confirm === hash) return { state: "clear" };
  const reason =
    `${size} of ${state.owned} resources would be pruned; ` +
    `more than ${count} and more than ${percent(fraction)} need a confirmation`;
  const stale = "the confirmation given is for another set of resources";
  const confirmed = state.request.confirm === undefined ? [] : [stale];
  return { state: "held", reasons: [reason, ...confirmed], hash };
}

function blockers({ request, owned, declared, problems }: PruneState): string[] {
  const reasons = (request.absentRoots ?? []).map(
    (root) => `${root} is missing or can't be read, so what it declared can't be told`,
  );
  if (problems > 0) {
    const what = problems === 1 ? "1 problem" : `${problems} problems`;
    reasons.push(`the specs have ${what}, so what is absent may only have failed to load`);
  }
  if (declared === 0 && reasons.length === 0 && request.allowEmpty !== true) {
    reasons.push(
      `no resource is declared any more where there were ${owned}; --allow-empty says that it is meant`,
    );
  }
  return reasons;
}

/**
 * Confirms exactly one set. Over uid and generation, not resource version: a status written between
 * being shown and being confirmed must not undo the confirmation of a running system.
 */
function pruneHash(pruned: readonly SnapshotEntry[]): string {
  return fingerprint(pruned.map(({ uid, generation }) => `${uid}@${generation}`).sort());
}

function percent(fraction: number): string {
  return `${Math.round(fraction * 1000) / 10} %`;
}
