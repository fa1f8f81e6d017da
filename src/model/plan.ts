import type { SnapshotEntry } from "./batch.ts";
import type { Json } from "./canonical.ts";
import type { Desired, Problem } from "./manifest.ts";
import type { Owner } from "./resource.ts";

export const PLAN_VERSION = 1;

export type PlanActionKind =
  | "create"
  | "update"
  | "unchanged"
  | "move"
  | "prune"
  | "conflict"
  | "invalid";

/** One field that differs. `before` or `after` is absent where the field is. */
export type FieldChange = { path: string; before?: Json; after?: Json };

/** What a plan does to one resource, and why. */
export type PlanAction = {
  kind: PlanActionKind;
  resourceManager: string;
  key: string;
  /** Sentences for people: `spec.merge.method changed`, `specs/a.resource.json is gone`. */
  reasons: string[];
  /** The stored resource that the plan saw; absent for `create`. */
  current?: SnapshotEntry & {
    /** Canonical JSON; only for an `update` whose spec differs. */
    spec?: string;
  };
  /**
   * Absent for `prune`, for resources that no file declares, and where two places declare one.
   * Where the plan writes, `prune` and `suspend` say what the resource will have.
   */
  desired?: Desired;
  /**
   * For `update`: every field that differs, as paths of a manifest (`spec.merge.method`,
   * `labels.team`, `suspend`); secrets not masked, which is what maskPlan is for.
   */
  changes?: FieldChange[];
  /** For `update` and `conflict`. */
  owner?: Owner;
};

/** Why nothing is pruned although something would be. */
export type PruneGate =
  | { state: "clear" }
  /** Loading was not complete, so absence proves nothing. */
  | { state: "blocked"; reasons: string[] }
  /** Larger than the guard; `hash` confirms exactly this set. */
  | { state: "held"; reasons: string[]; hash: string };

/** What apply would do: the one value that diff shows and apply commits. */
export type Plan = {
  version: typeof PLAN_VERSION;
  /** Hash of all that it was made from and does; status written meanwhile does not change it. */
  id: string;
  project: string;
  owner: Owner;
  /** The store's revision when it was read. */
  storeRevision: number;
  actions: PlanAction[];
  problems: Problem[];
  prune: PruneGate;
  counts: Record<PlanActionKind, number>;
};

/** What applying one action came to. */
export type ActionReceipt = {
  kind: PlanActionKind;
  resourceManager: string;
  key: string;
  outcome: "done" | "skipped" | "failed";
  uid?: string;
  generation?: number;
  resourceVersion?: number;
  message?: string;
};

/** What applying a plan came to. */
export type ApplyReceipt = { planId: string; actions: ActionReceipt[]; storeRevision: number };
