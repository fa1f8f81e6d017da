import type { PiWorkflowsError } from "../../model/errors.ts";
import type { Plan } from "../../model/plan.ts";
import type { SyncAttempt, SyncReport, SyncRevision } from "../../model/sync.ts";
import {
  failureConditions,
  mergeSyncConditions,
  renamed,
  troubleConditions,
} from "./conditions.ts";
import type { Trouble } from "./source.ts";

type OnlyReport = { report: SyncReport };

/** The source can't be read: nothing was looked at, so all but the conditions stays. */
export function afterTrouble(before: SyncReport, trouble: Trouble, now: number): OnlyReport {
  const conditions = mergeSyncConditions(before.conditions, troubleConditions(trouble), now);
  return { report: { ...before, conditions } };
}

/** A sync that ended before anything could be said of the revision. */
export function afterFailure(
  before: SyncReport,
  revision: SyncRevision,
  error: PiWorkflowsError,
  now: number,
): OnlyReport {
  const says = failureConditions(revision, error);
  return {
    report: {
      ...before,
      attempted: { revision, at: now, durationMs: 0, outcome: "failed", error: error.message },
      conditions: mergeSyncConditions(before.conditions, says, now),
    },
  };
}

/** A revision whose tree is that of the one applied before: there is nothing to do. */
export function underNewName(before: SyncReport, revision: SyncRevision, now: number): OnlyReport {
  const attempt: SyncAttempt = {
    revision,
    at: now,
    durationMs: 0,
    outcome: "applied",
    counts: allUnchanged(before.attempted?.counts),
  };
  return {
    report: {
      ...before,
      attempted: attempt,
      applied: attempt,
      conditions: renamed(before, revision),
    },
  };
}

function allUnchanged(counts: Plan["counts"] | undefined): Plan["counts"] {
  const { create = 0, update = 0, move = 0, unchanged = 0 } = counts ?? {};
  return {
    create: 0,
    update: 0,
    unchanged: create + update + move + unchanged,
    move: 0,
    prune: 0,
    conflict: 0,
    invalid: 0,
  };
}
