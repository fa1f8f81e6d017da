import { formatProblem, type Problem } from "../../model/manifest.ts";
import type { Plan } from "../../model/plan.ts";
import {
  SYNC_CONDITIONS,
  type SyncCondition,
  type SyncConditionType,
  type SyncReport,
  type SyncRevision,
} from "../../model/sync.ts";
import type { Trouble } from "./source.ts";

const { synced, sourceValid, pruneBlocked, pruneHeld, suspended, watching } = SYNC_CONDITIONS;

/** A condition before it is compared with the one that was there. */
export type ConditionSay = Omit<SyncCondition, "lastTransitionTime">;

/** Merges what is said now into what was said before; types not named stay as they are. */
export function mergeSyncConditions(
  before: readonly SyncCondition[],
  says: readonly ConditionSay[],
  now: number,
): SyncCondition[] {
  const merged = new Map(before.map((condition) => [condition.type, condition]));
  for (const say of says) {
    const old = merged.get(say.type);
    const at = old?.status === say.status ? old.lastTransitionTime : new Date(now).toISOString();
    merged.set(say.type, { ...say, lastTransitionTime: at });
  }
  const order = Object.values(SYNC_CONDITIONS);
  return [...merged.values()].sort((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
}

/** Short enough to read, long enough to name a commit. */
export function shortRevision(id: string): string {
  return id.slice(0, 7);
}

/** While the source can't be read: nothing is known of what it holds. */
export function troubleConditions({ reason, message }: Trouble): ConditionSay[] {
  return [
    { type: synced, status: false, reason, message },
    { type: sourceValid, status: false, reason, message },
  ];
}

/** What a sync that was planned, and applied where it may be, leaves to say. */
export type Outcome = {
  revision: SyncRevision;
  plan: Plan;
  conflicts: readonly string[];
  /** Sentences about changes that the store refused. */
  failures: readonly string[];
  /** Roots without any spec file: meant, or misspelt. */
  emptyRoots: readonly string[];
  isSuspended: boolean;
};

export function outcomeConditions(outcome: Outcome): ConditionSay[] {
  const { revision, plan, emptyRoots, isSuspended } = outcome;
  const { prune, problems } = plan;
  const nothing =
    emptyRoots.length > 0 ? `there is no spec file in ${emptyRoots.join(", ")}` : undefined;
  const about = (type: SyncConditionType, status: boolean, reason: string, message?: string) => ({
    type,
    status,
    reason,
    ...(message === undefined ? {} : { message: `${message} (at ${shortRevision(revision.id)})` }),
    revision: revision.id,
  });
  const why = "reasons" in prune ? prune.reasons.join("; ") : undefined;
  return [
    syncedCondition(outcome, about),
    problems.length === 0
      ? about(sourceValid, true, "Loaded", nothing)
      : about(sourceValid, false, "InvalidFiles", describeProblems(problems)),
    prune.state === "blocked"
      ? about(pruneBlocked, true, "AbsenceProvesNothing", why)
      : about(pruneBlocked, false, "Clear"),
    prune.state === "held"
      ? about(
          pruneHeld,
          true,
          "NeedsConfirmation",
          `${why}; sync confirm-prune ${prune.hash.slice(0, 12)}`,
        )
      : about(pruneHeld, false, "Clear"),
    {
      type: suspended,
      status: isSuspended,
      reason: isSuspended ? "ByRequest" : "Active",
    },
  ];
}

type About = (
  type: SyncConditionType,
  status: boolean,
  reason: string,
  message?: string,
) => ConditionSay;

function syncedCondition(
  { plan, conflicts, failures, isSuspended }: Outcome,
  about: About,
): ConditionSay {
  const { counts, problems, prune } = plan;
  const changes = counts.create + counts.update + counts.move + counts.prune;
  const [conflict] = conflicts;
  const [failure] = failures;
  if (problems.length > 0) return about(synced, false, "SourceInvalid", describeProblems(problems));
  if (failure !== undefined) return about(synced, false, "ApplyFailed", failure);
  if (conflict !== undefined) return about(synced, false, "Conflict", conflict);
  if (isSuspended && changes > 0) {
    return about(synced, false, "Suspended", `${changes} changes wait until sync is resumed`);
  }
  if (prune.state !== "clear") {
    const reason = prune.state === "held" ? "PruneHeld" : "PruneBlocked";
    return about(synced, false, reason, `${counts.prune} resources are not pruned`);
  }
  return about(synced, true, "Synced");
}

export function describeProblems(problems: readonly Problem[]): string {
  const [first] = problems;
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : "";
  return first ? `${formatProblem(first)}${more}` : "";
}

/** Whether events of the source arrive. */
export function watchingCondition(deaf: string | undefined): ConditionSay {
  return deaf === undefined
    ? { type: watching, status: true, reason: "EventsArrive" }
    : { type: watching, status: false, reason: "SweepsOnly", message: deaf };
}

/** What a sync that failed says; the rest stays as it was. */
export function failureConditions(
  revision: SyncRevision,
  error: { code: string; message: string },
): ConditionSay[] {
  const { code: reason, message } = error;
  return [{ type: synced, status: false, reason, message, revision: revision.id }];
}

/** A report with conditions of the same revision under another name: its tree is equal. */
export function renamed(report: SyncReport, revision: SyncRevision): SyncCondition[] {
  const before = report.attempted?.revision.id;
  return report.conditions.map((condition) =>
    condition.revision === before && before !== undefined
      ? { ...condition, revision: revision.id }
      : condition,
  );
}
