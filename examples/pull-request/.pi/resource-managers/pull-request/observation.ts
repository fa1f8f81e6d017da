import type { MergeMethod } from "./spec.ts";

/** What one look at GitHub found. Plain data: everything after it is computed from it. */
export type Observation = {
  source: "graphql" | "rest";
  repository: { id: number; name: string; methods: Record<MergeMethod, boolean> };
  pull: Pull;
  /** The latest opinion of each reviewer; only of writers where the spec says so. */
  reviews: Review[];
  /** GitHub's own word on reviews; null where no rule asks for any. */
  reviewDecision: "APPROVED" | "CHANGES_REQUESTED" | "REVIEW_REQUIRED" | null | "unreadable";
  /** Code owners whose review is asked for and not given. */
  codeOwnersAsked: string[];
  /** Every check run and commit status of the head, unless `gaps` says otherwise. */
  checks: Check[];
  /** Checks that branch protection and rulesets require. */
  required: RequiredCheck[];
  /** The base takes merges from its queue only. */
  queueRequired: boolean;
  unresolvedThreads: number | "unreadable";
  /** What could not be read whole: while there is any, nothing is merged. */
  gaps: string[];
};

export type Pull = {
  /** GraphQL's id. */
  id: string;
  number: number;
  url: string;
  state: "open" | "closed" | "merged";
  title: string;
  body: string;
  author: string;
  draft: boolean;
  headSha: string;
  headRef: string;
  /** Undefined where the fork is gone. */
  headRepository?: string;
  fork: boolean;
  maintainerCanModify: boolean;
  baseRef: string;
  labels: string[];
  /** Three-valued: GitHub computes it after it was first asked. */
  mergeable: "yes" | "no" | "unknown";
  mergeState: MergeState;
  /** Native auto-merge, which may merge it without us. */
  autoMergeBy?: string;
  merged?: { at: string; by: string; sha: string };
};

/** GitHub's `mergeStateStatus`, and REST's `mergeable_state` in capitals. */
export type MergeState =
  | "CLEAN"
  | "HAS_HOOKS"
  | "UNSTABLE"
  | "BLOCKED"
  | "BEHIND"
  | "DIRTY"
  | "DRAFT"
  | "UNKNOWN";

export type Review = {
  author: string;
  state: "APPROVED" | "CHANGES_REQUESTED" | "DISMISSED";
  /** The head that it judged. */
  sha: string;
};

export type Check = {
  kind: "run" | "status";
  name: string;
  appId?: number;
  /** Of two runs of one check the larger is the later. */
  id: number;
  /** GitHub's status until it is completed, then its conclusion; a commit status's state. Capitals. */
  state: string;
  /** GitHub says that a rule of the base requires it. */
  required: boolean;
};

export type RequiredCheck = { name: string; appId?: number; kind?: "run" | "status" };

/** The first seven digits, as people write commits. */
export function short(sha: string): string {
  return sha.slice(0, 7);
}
