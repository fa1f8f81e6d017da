import type { Check, Observation, RequiredCheck } from "./observation.ts";
import type { PullRequestSpec } from "./spec.ts";

/** The name under which this manager reports; its own report is no check of the head. */
export const REPORT_NAME = "pi-workflows";

type CheckPolicy = PullRequestSpec["require"]["checks"];
export type Verdict = "pass" | "pending" | "fail";

const CONCLUSIONS: Readonly<Record<string, Verdict>> = {
  FAILURE: "fail",
  TIMED_OUT: "fail",
  CANCELLED: "fail",
  ACTION_REQUIRED: "fail",
  STARTUP_FAILURE: "fail",
  // A commit status.
  ERROR: "fail",
};

/**
 * What one state of a check means. What is not known to have passed or failed is pending: a value
 * that GitHub adds later never merges anything.
 */
export function verdictOf(state: string, accept: CheckPolicy["accept"]): Verdict {
  switch (state) {
    case "SUCCESS":
    case "NEUTRAL":
    case "SKIPPED":
      return (accept as string[]).includes(state.toLowerCase()) ? "pass" : "fail";
    default:
      return CONCLUSIONS[state] ?? "pending";
  }
}

/** What the checks of a head amount to: by name, for people. */
export type CheckSummary = {
  failed: string[];
  pending: string[];
  /** Required, and nowhere to be seen. */
  missing: string[];
  passed: string[];
  /** Nothing has run that succeeded, though nothing is missing either. */
  nothingRan: boolean;
};

/**
 * Judges the checks of one head. Of several runs of one check (kind, app and name) the latest
 * counts; a required name that several apps or kinds report must pass in each.
 */
export function judgeChecks(observation: Observation, policy: CheckPolicy): CheckSummary {
  const latest = latestOf(observation.checks).filter((check) => check.name !== REPORT_NAME);
  const required = requiredBy(observation, latest, policy);
  const summary: CheckSummary = {
    failed: [],
    pending: [],
    missing: [],
    passed: [],
    nothingRan: !policy.allowNoChecks && !latest.some((check) => check.state === "SUCCESS"),
  };
  const relevant = new Set<Check>(required.length === 0 ? latest : []);
  for (const one of required) {
    const found = latest.filter((check) => answers(check, one));
    if (found.length === 0) summary.missing.push(describe(one));
    for (const check of found) relevant.add(check);
  }
  const buckets = { pass: summary.passed, pending: summary.pending, fail: summary.failed };
  for (const check of relevant) {
    buckets[verdictOf(check.state, policy.accept)].push(
      `${check.name} (${check.state.toLowerCase()})`,
    );
  }
  return summary;
}

function latestOf(checks: readonly Check[]): Check[] {
  const latest = new Map<string, Check>();
  for (const check of checks) {
    const key = JSON.stringify([check.kind, check.appId ?? null, check.name]);
    const other = latest.get(key);
    if (!other || check.id >= other.id) latest.set(key, check);
  }
  return [...latest.values()];
}

function requiredBy(
  observation: Observation,
  latest: readonly Check[],
  policy: CheckPolicy,
): RequiredCheck[] {
  const own: RequiredCheck[] = policy.names.map(({ name, appId, kind }) => ({
    name,
    ...(appId === undefined ? {} : { appId }),
    ...(kind === undefined ? {} : { kind }),
  }));
  if (!policy.alsoProviderRequired) return own;
  const marked = latest
    .filter((check) => check.required)
    .map(({ name, kind }): RequiredCheck => ({ name, kind }));
  return [...own, ...observation.required, ...marked];
}

function answers(check: Check, required: RequiredCheck): boolean {
  return (
    check.name === required.name &&
    (required.appId === undefined || required.appId === check.appId) &&
    (required.kind === undefined || required.kind === check.kind)
  );
}

function describe({ name, appId, kind }: RequiredCheck): string {
  const limits = [appId === undefined ? "" : `app ${appId}`, kind ?? ""].filter(Boolean);
  return limits.length === 0 ? name : `${name} (${limits.join(", ")})`;
}
