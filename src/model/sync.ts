import type { Place, Problem } from "./manifest.ts";
import type { Plan } from "./plan.ts";
import type { Owner, ResourceRef } from "./resource.ts";

/** The one sync set of a project, as owner of the resources that it applied. */
export const SYNC_OWNER: Owner = { kind: "sync", name: "default" };

/** Where a sync set reads its specs. */
export type SyncSource =
  /** The tree of the branch's newest commit; `branch` without `refs/heads/`. */
  | { kind: "committed"; branch: string }
  /** The files of the work tree as they are saved. */
  | { kind: "working-tree" };

/** What a person enabled for one project: their consent that its specs and definitions run here. */
export type SyncSet = {
  /** Canonical path of the work tree, or of the folder where there is no git. */
  project: string;
  /** The repository's common folder, which every work tree of it shares; absent without git. */
  commonDir?: string;
  source: SyncSource;
  /** Folders that hold spec files, relative to the project, with forward slashes; sorted. */
  roots: string[];
  /** False never deletes what is no longer declared. */
  prune: boolean;
  /** More than `count` and more than `fraction` of the set at once is held; default LIMITS. */
  guard?: PruneGuard;
  /** True plans and reports, and applies nothing. */
  suspended: boolean;
  /** Epoch milliseconds, UTC. */
  enabledAt: number;
  /** User name of the person. */
  enabledBy: string;
};

/** The size from which a prune needs a confirmation: past both. */
export type PruneGuard = { count: number; fraction: number };

/** One state of a source, as conditions and reports name it. */
export type SyncRevision = {
  /** A commit, or for a work tree the hash of what a scan found. */
  id: string;
  kind: "commit" | "scan";
  /** Of a commit. Times are epoch milliseconds, UTC. */
  tree?: string;
  author?: string;
  committedAt?: number;
  subject?: string;
};

/** Condition types of a sync set. */
export const SYNC_CONDITIONS = {
  /** True where the store is as the newest revision says. */
  synced: "Synced",
  /** False where the source or a file of it can't be read, built or validated. */
  sourceValid: "SourceValid",
  /** True while nothing is pruned because absence proves nothing. */
  pruneBlocked: "PruneBlocked",
  /** True while a prune waits for its confirmation. */
  pruneHeld: "PruneHeld",
  suspended: "Suspended",
  /** False where events of the source do not arrive, so that only sweeps notice. */
  watching: "Watching",
} as const;
export type SyncConditionType = (typeof SYNC_CONDITIONS)[keyof typeof SYNC_CONDITIONS];

/** One condition of a sync set. */
export type SyncCondition = {
  type: SyncConditionType;
  status: boolean;
  /** CamelCase, stable, for programs. */
  reason: string;
  /** A sentence for people; it names the revision where it is about one. */
  message?: string;
  /** Id of the revision that the condition speaks of; absent where it speaks of none. */
  revision?: string;
  /** ISO 8601; moves only when `status` changes. */
  lastTransitionTime: string;
};

/** One sync of one revision, whether it was applied or not. */
export type SyncAttempt = {
  revision: SyncRevision;
  /** When it began, epoch milliseconds. */
  at: number;
  durationMs: number;
  /**
   * `applied`: all that may be done was done. `incomplete`: something is invalid or in conflict, or
   * could not be pruned. `planned`: the set is suspended. `failed`: nothing was done; `error` says why.
   */
  outcome: "applied" | "incomplete" | "planned" | "failed";
  /** What the plan held; absent where there was none. */
  counts?: Plan["counts"];
  error?: string;
};

/** One resource that a prune would delete or has deleted, and why. */
export type PruneItem = Omit<ResourceRef, "project"> & {
  uid: string;
  generation: number;
  /** The file that declared it. */
  file: string;
  /** A sentence: `specs/a.resource.json was removed by 1a2b3c4 (Ada: remove a)`. */
  reason: string;
  removedBy?: SyncRevision;
  /** Resources that stay and depend on it, `MANAGER/KEY`. */
  dependents: string[];
};

/** A prune that does not happen by itself. */
export type PendingPrune = {
  state: "blocked" | "held";
  reasons: string[];
  /** Confirms exactly this set; absent while it is blocked. */
  hash?: string;
  items: PruneItem[];
  /** Since when this very set waits, epoch milliseconds. */
  since: number;
  revision: string;
};

/** A prune that happened: what, when, and who confirmed it where that was asked for. */
export type PruneRecord = {
  revision: string;
  items: PruneItem[];
  at: number;
  hash?: string;
  confirmedBy?: string;
};

/** A resource of the set that was changed or deleted by hand since the set applied it. */
export type Drift = Omit<ResourceRef, "project"> & {
  /** Who changed it and how: `onur: apply widget a`. */
  by: string;
  /** Field paths that differ from what the source says. */
  fields: string[];
  /** Where the source declares it. */
  place: Place;
  /** When it was seen, epoch milliseconds. */
  at: number;
  /** True where a sync has set it right since; such ones are shown until the next revision. */
  setRight: boolean;
};

/** What is known of a sync set. */
export type SyncReport = {
  /** The latest revision that was looked at. */
  attempted?: SyncAttempt;
  /** The latest one that the store is as, but for what the conditions name. */
  applied?: SyncAttempt;
  conditions: SyncCondition[];
  /** What is wrong with the files of `attempted`, at most 500 places. */
  problems: Problem[];
  /** What is wrong with workflows: those can't be started, and nothing else waits for them. */
  workflowProblems?: Problem[];
  /** Resources that another owner has, one sentence each. */
  conflicts: string[];
  drift: Drift[];
  pendingPrune?: PendingPrune;
};

/** A report before anything was looked at. */
export const EMPTY_REPORT: SyncReport = {
  conditions: [],
  problems: [],
  conflicts: [],
  drift: [],
};

/** A sync set with its latest report, as the store keeps them. */
export type StoredSyncSet = { set: SyncSet; report: SyncReport };
