import { judgeChecks, type CheckSummary } from "./checks.ts";
import { frozenBy, hasLabel } from "./freeze.ts";
import { short, type Observation } from "./observation.ts";
import { judgeReviews, type ReviewSummary } from "./reviews.ts";
import { milliseconds, type PullRequestSpec } from "./spec.ts";
import type { MergeIntent, RefusalKind } from "./status.ts";

/** What stands in the way, and which condition it is about. */
export type Finding = {
  about: "Observed" | "HeadMatches" | "ChecksPassing" | "Approved" | "Mergeable" | "Blocked";
  reason: Reason;
  /** Names exactly what is missing. */
  message: string;
  /** Milliseconds until it is worth looking again. */
  waitMs: number;
};

export type Reason =
  | "Closed"
  | "BaseChanged"
  | "HeadChanged"
  | "Draft"
  | "Frozen"
  | "MissingLabels"
  | "BlockingLabels"
  | "MethodNotAllowed"
  | "QueueRequired"
  | "Conflict"
  | "ChecksFailed"
  | "ChangesRequested"
  | "MissingApprovals"
  | "UnresolvedThreads"
  | "ChecksOverdue"
  | "WaitingForChecks"
  | "Behind"
  | "Incomplete"
  | "BlockedByGitHub"
  | "MergeabilityUnknown"
  | "BaseModified"
  | "NoAccess"
  | "RateLimited"
  | "MergeRefused"
  | "WaitingForReview"
  | "ReviewFindings"
  | "ReviewFailed"
  | "Repairing"
  | "RepairFailed"
  | "RepairRefused";

/** What earlier passes saw that this one can't see again. */
export type Memory = {
  /** Epoch milliseconds. */
  headSeenAt: number;
  mergeabilityPolls: number;
  /** The latest refusal of a merge of this head. */
  refusal?: MergeIntent["refusal"];
};

/** The step that this pass takes, and everything that stands in the way of a merge. */
export type Decision = {
  step: "merge" | "update" | "wait";
  /** In order of weight: the first is why the pull request is not ready. */
  findings: Finding[];
};

type Situation = {
  seen: Observation;
  spec: PullRequestSpec;
  memory: Memory;
  now: number;
  checks: CheckSummary;
  reviews: ReviewSummary;
};
type Rule = (situation: Situation) => Finding | undefined;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Judges an open or closed pull request; a merged one needs no decision. */
export function decide(
  seen: Observation,
  spec: PullRequestSpec,
  memory: Memory,
  now: number,
): Decision {
  const checks = judgeChecks(seen, spec.require.checks);
  const reviews = judgeReviews(seen, spec.require.approvals);
  const situation = { seen, spec, memory, now, checks, reviews };
  const findings = RULES.map((rule) => rule(situation)).filter((found) => found !== undefined);
  if (findings.length === 0) return { step: "merge", findings };
  return { step: shouldUpdate(situation, findings) ? "update" : "wait", findings };
}

/** In order of weight. */
const RULES: readonly Rule[] = [
  ({ seen: { pull } }) =>
    pull.state === "closed"
      ? blocked("Closed", `pull request ${pull.number} is closed and not merged`, 5 * MINUTE)
      : undefined,
  ({ seen: { pull }, spec }) =>
    pull.baseRef === spec.baseRef
      ? undefined
      : blocked("BaseChanged", `it is to be merged into ${pull.baseRef}, not ${spec.baseRef}`),
  ({ seen: { pull }, spec: { expectedHeadSha } }) =>
    expectedHeadSha === undefined || expectedHeadSha === pull.headSha
      ? undefined
      : {
          about: "HeadMatches",
          reason: "HeadChanged",
          message: `the head is ${short(pull.headSha)}, expected is ${short(expectedHeadSha)}`,
          waitMs: MINUTE,
        },
  ({ seen: { pull }, spec: { require } }) =>
    pull.draft && require.notDraft ? blocked("Draft", "it is a draft") : undefined,
  ({ seen: { pull }, spec: { freeze }, now }) => {
    const frozen = frozenBy(freeze, pull.labels, now);
    return frozen === undefined ? undefined : blocked("Frozen", `merges are frozen ${frozen}`);
  },
  ({ seen: { pull }, spec: { require } }) => {
    const missing = require.labels.filter((label) => !hasLabel(pull.labels, label));
    return missing.length === 0
      ? undefined
      : blocked("MissingLabels", `label missing: ${missing.join(", ")}`);
  },
  ({ seen: { pull }, spec: { require } }) => {
    const present = require.noLabels.filter((label) => hasLabel(pull.labels, label));
    return present.length === 0
      ? undefined
      : blocked("BlockingLabels", `label in the way: ${present.join(", ")}`);
  },
  ({ seen: { repository }, spec: { merge } }) =>
    repository.methods[merge.method]
      ? undefined
      : blocked("MethodNotAllowed", `${repository.name} does not allow ${merge.method} merges`),
  ({ seen, spec }) =>
    seen.queueRequired
      ? blocked("QueueRequired", `${spec.baseRef} takes merges from its queue only`, 10 * MINUTE)
      : undefined,
  ({ seen: { pull } }) =>
    pull.mergeable === "no" || pull.mergeState === "DIRTY"
      ? unmergeable("Conflict", `it conflicts with ${pull.baseRef}`)
      : undefined,
  ({ checks }) =>
    checks.failed.length === 0
      ? undefined
      : failing("ChecksFailed", `failed: ${checks.failed.join(", ")}`, MINUTE),
  ({ reviews: { changesAskedBy } }) =>
    changesAskedBy.length === 0
      ? undefined
      : unapproved("ChangesRequested", `changes asked for by ${changesAskedBy.join(", ")}`),
  ({ reviews: { missing } }) =>
    missing.length === 0
      ? undefined
      : unapproved("MissingApprovals", `it needs ${missing.join("; ")}`),
  ({ seen: { unresolvedThreads }, spec: { require } }) => judgeThreads(unresolvedThreads, require),
  judgePendingChecks,
  judgeBehind,
  ({ seen: { gaps } }) =>
    gaps.length === 0
      ? undefined
      : {
          about: "Observed",
          reason: "Incomplete",
          message: `could not be read whole: ${gaps.join("; ")}`,
          waitMs: 30 * SECOND,
        },
  ({ seen: { pull } }) =>
    pull.mergeState === "BLOCKED"
      ? blocked("BlockedByGitHub", "GitHub's own rules block it; this spec does not name the rule")
      : undefined,
  ({ seen: { pull }, memory }) =>
    pull.mergeable === "unknown" && pull.state === "open"
      ? unmergeable(
          "MergeabilityUnknown",
          "GitHub has not computed yet whether it can be merged",
          Math.min(MINUTE, 5 * SECOND * (memory.mergeabilityPolls + 1)),
        )
      : undefined,
  ({ memory: { refusal }, now }) =>
    refusal !== undefined && now < Date.parse(refusal.retryAt)
      ? blocked(REFUSALS[refusal.kind], refusal.message, Date.parse(refusal.retryAt) - now)
      : undefined,
];

const REFUSALS: Readonly<Record<RefusalKind, Reason>> = {
  "head-moved": "HeadChanged",
  "base-modified": "BaseModified",
  "queue-required": "QueueRequired",
  limited: "RateLimited",
  "no-access": "NoAccess",
  refused: "MergeRefused",
  withdrawn: "MergeRefused",
};

function judgeThreads(
  unresolved: Observation["unresolvedThreads"],
  { resolvedThreads }: PullRequestSpec["require"],
): Finding | undefined {
  if (!resolvedThreads || unresolved === 0) return undefined;
  return blocked(
    "UnresolvedThreads",
    unresolved === "unreadable"
      ? "this server shows review threads by GraphQL only, which does not answer"
      : `${unresolved} review threads are not resolved`,
  );
}

function judgePendingChecks({ spec, memory, now, checks }: Situation): Finding | undefined {
  const { minWait, deadline } = spec.require.checks;
  const waiting = [
    ...(checks.missing.length > 0 ? [`not reported: ${checks.missing.join(", ")}`] : []),
    ...(checks.pending.length > 0 ? [`not completed: ${checks.pending.join(", ")}`] : []),
  ];
  if (waiting.length === 0 && checks.nothingRan) waiting.push("no check has succeeded");
  const age = now - memory.headSeenAt;
  if (waiting.length > 0) {
    const what = waiting.join("; ");
    return age > milliseconds(deadline)
      ? failing("ChecksOverdue", `after ${deadline} still ${what}`, 5 * MINUTE)
      : failing("WaitingForChecks", what, 30 * SECOND);
  }
  const left = milliseconds(minWait) - age;
  if (left <= 0) return undefined;
  const message = `waits ${minWait} from the first sight of this head for checks to begin`;
  return failing("WaitingForChecks", message, left);
}

function judgeBehind({ seen: { pull }, spec }: Situation): Finding | undefined {
  if (pull.mergeState !== "BEHIND") return undefined;
  const why = `it lacks commits of ${pull.baseRef}`;
  if (spec.update.mode === "never") return unmergeable("Behind", `${why}; update.mode is never`);
  if (spec.expectedHeadSha !== undefined) {
    return unmergeable("Behind", `${why}; expectedHeadSha pins the head, so it is not updated`);
  }
  if (!mayPush(pull)) return unmergeable("Behind", `${why}; its author must update the fork`);
  return unmergeable("Behind", `${why}; it will be updated`);
}

/** Pushes are kept for heads that nothing but their age, or checks still running, holds up. */
const UPDATE_DESPITE: readonly Reason[] = ["Behind", "WaitingForChecks", "MergeabilityUnknown"];

function shouldUpdate({ seen: { pull }, spec }: Situation, findings: Finding[]): boolean {
  return (
    pull.mergeState === "BEHIND" &&
    spec.update.mode === "whenBehind" &&
    spec.expectedHeadSha === undefined &&
    mayPush(pull) &&
    findings.every(({ reason }) => UPDATE_DESPITE.includes(reason))
  );
}

/** A fork's branch may be pushed to only where its owner allows it. */
function mayPush(pull: Observation["pull"]): boolean {
  return !pull.fork || (pull.maintainerCanModify && pull.headRepository !== undefined);
}

function blocked(reason: Reason, message: string, waitMs = MINUTE): Finding {
  return { about: "Blocked", reason, message, waitMs };
}
function unmergeable(reason: Reason, message: string, waitMs = MINUTE): Finding {
  return { about: "Mergeable", reason, message, waitMs };
}
function unapproved(reason: Reason, message: string): Finding {
  return { about: "Approved", reason, message, waitMs: MINUTE };
}
function failing(reason: Reason, message: string, waitMs: number): Finding {
  return { about: "ChecksPassing", reason, message, waitMs };
}
