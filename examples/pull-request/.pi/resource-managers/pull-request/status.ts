import type { MergeMethod } from "./spec.ts";

/** Why GitHub certainly did not carry out a merge that it was asked for. */
export type RefusalKind =
  | "head-moved"
  | "base-modified"
  | "queue-required"
  | "limited"
  | "no-access"
  | "refused"
  | "withdrawn";

/** What GitHub is asked for. Kept whole, because the spec may change while it is under way. */
export type MergeRequest = {
  apiUrl: string;
  repository: string;
  number: number;
  baseRef: string;
  headSha: string;
  method: MergeMethod;
  title?: string;
  body?: string;
};

/** What became of a merge. `open`: it is in the base, and GitHub shows the pull request as open. */
export type MergeResult = { sha: string; by?: string; ours: boolean; open: boolean };

/** One decision to merge one head, recorded before the effect begins. */
export type MergeIntent = {
  /** The key of the effect. */
  key: string;
  headSha: string;
  generation: number;
  /** 1 for the first; a refusal ends a turn, so that the next call is a new effect. */
  turn: number;
  state: "intended" | "applied" | "refused";
  request: MergeRequest;
  /** What became of it, and when this was known, ISO 8601. */
  result?: MergeResult;
  appliedAt?: string;
  refusal?: { kind: RefusalKind; message: string; retryAt: string };
};

/** One decision to push one repair, recorded before the effect begins; its content is not kept. */
export type PushIntent = {
  generation: number;
  request: {
    apiUrl: string;
    repository: string;
    branch: string;
    headSha: string;
    changes: { path: string; sha256: string | null }[];
  };
};

/** What the manager remembers of its pull request between passes. */
export type PullRequestStatus = {
  phase: "observing" | "waiting" | "merging" | "held" | "merged";
  headSha?: string;
  /** When this head was first seen, ISO 8601: GitHub does not say when it was pushed. */
  headSeenAt?: string;
  /** What stands between the pull request and its merge, in words. */
  waitingFor?: string[];
  /** Observations in a row in which GitHub had not computed the mergeability. */
  mergeabilityPolls?: number;
  merge?: MergeIntent;
  merged?: Merged;
  /** Request keys of the child runs that were started last. */
  runs?: { review?: string; repair?: string };
  /** The push that was decided last, until its outcome is known. */
  push?: PushIntent;
  /** Repairs that were pushed, the latest last. */
  repairs?: { generation: number; headSha: string; sha: string }[];
  /** The latest report that was written: the turn names its effect, the digest its content. */
  report?: { turn: number; digest: string };
};

/** How it ended. `branch` tells what became of the head's branch, and that nothing is left to do. */
export type Merged = {
  generation: number;
  headSha: string;
  sha: string;
  at: string;
  by: string;
  branch?: string;
};

export function initialStatus(): PullRequestStatus {
  return { phase: "observing" };
}
