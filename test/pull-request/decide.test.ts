import { describe, expect, it } from "vitest";
import {
  judgeChecks,
  verdictOf,
} from "../../examples/pull-request/.pi/resource-managers/pull-request/checks.ts";
import { conditionsOf } from "../../examples/pull-request/.pi/resource-managers/pull-request/conditions.ts";
import {
  decide,
  type Memory,
} from "../../examples/pull-request/.pi/resource-managers/pull-request/decide.ts";
import { frozenBy } from "../../examples/pull-request/.pi/resource-managers/pull-request/freeze.ts";
import type {
  Check,
  Observation,
  Pull,
  Review,
} from "../../examples/pull-request/.pi/resource-managers/pull-request/observation.ts";
import { judgeReviews } from "../../examples/pull-request/.pi/resource-managers/pull-request/reviews.ts";
import {
  pullRequestSpec,
  type PullRequestSpecInput,
} from "../../examples/pull-request/.pi/resource-managers/pull-request/spec.ts";

const HEAD = "a".repeat(40);
const OLD = "b".repeat(40);
const NOW = Date.parse("2026-03-02T12:00:00Z");
const MINUTE = 60_000;

type Require = NonNullable<PullRequestSpecInput["require"]>;

function spec(changes: Partial<PullRequestSpecInput> = {}) {
  return pullRequestSpec.parse({
    repository: "acme/widgets",
    number: 42,
    baseRef: "main",
    ...changes,
  });
}

function check(changes: Partial<Check> = {}): Check {
  return {
    kind: "run",
    name: "ci",
    appId: 1,
    id: 1,
    state: "SUCCESS",
    required: false,
    ...changes,
  };
}

function review(author: string, state: Review["state"] = "APPROVED", sha = HEAD): Review {
  return { author, state, sha };
}

function seen(changes: Partial<Observation> = {}, pull: Partial<Pull> = {}): Observation {
  return {
    source: "graphql",
    repository: {
      id: 1,
      name: "acme/widgets",
      methods: { merge: true, squash: true, rebase: true },
    },
    pull: {
      id: "PR_1",
      number: 42,
      url: "https://github.com/acme/widgets/pull/42",
      state: "open",
      title: "Title",
      body: "",
      author: "author",
      draft: false,
      headSha: HEAD,
      headRef: "change",
      headRepository: "acme/widgets",
      fork: false,
      maintainerCanModify: false,
      baseRef: "main",
      labels: [],
      mergeable: "yes",
      mergeState: "CLEAN",
      ...pull,
    },
    reviews: [],
    reviewDecision: null,
    codeOwnersAsked: [],
    checks: [check()],
    required: [],
    queueRequired: false,
    unresolvedThreads: 0,
    gaps: [],
    ...changes,
  };
}

const memory: Memory = { headSeenAt: NOW - MINUTE, mergeabilityPolls: 0 };

function decided(
  observation: Observation,
  changes: Partial<PullRequestSpecInput> = {},
  known: Partial<Memory> = {},
) {
  const { step, findings } = decide(observation, spec(changes), { ...memory, ...known }, NOW);
  return { step, findings, reasons: findings.map(({ reason }) => reason) };
}

describe("one check", () => {
  it.each([
    ["SUCCESS", "pass"],
    ["NEUTRAL", "pass"],
    ["SKIPPED", "pass"],
    ["FAILURE", "fail"],
    ["TIMED_OUT", "fail"],
    ["CANCELLED", "fail"],
    ["ACTION_REQUIRED", "fail"],
    ["STARTUP_FAILURE", "fail"],
    ["ERROR", "fail"],
    ["QUEUED", "pending"],
    ["IN_PROGRESS", "pending"],
    ["WAITING", "pending"],
    ["REQUESTED", "pending"],
    ["PENDING", "pending"],
    ["EXPECTED", "pending"],
    ["STALE", "pending"],
    ["", "pending"],
    ["A_VALUE_OF_NEXT_YEAR", "pending"],
  ])("%s is %s", (state, verdict) => {
    expect(verdictOf(state, ["success", "neutral", "skipped"])).toBe(verdict);
  });

  it("neutral and skipped fail where the spec accepts success only", () => {
    expect(verdictOf("NEUTRAL", ["success"])).toBe("fail");
    expect(verdictOf("SKIPPED", ["success"])).toBe("fail");
    expect(verdictOf("SUCCESS", ["success"])).toBe("pass");
  });
});

describe("the checks of a head", () => {
  const judged = (observation: Observation, checks: Require["checks"] = {}) =>
    judgeChecks(observation, spec({ require: { checks } }).require.checks);

  it("no checks at all is not success, unless the spec says so", () => {
    expect(judged(seen({ checks: [] })).nothingRan).toBe(true);
    expect(judged(seen({ checks: [] }), { allowNoChecks: true }).nothingRan).toBe(false);
  });

  it("only skipped and neutral checks are not success either", () => {
    const checks = [check({ state: "SKIPPED" }), check({ name: "lint", state: "NEUTRAL" })];
    expect(judged(seen({ checks })).nothingRan).toBe(true);
  });

  it("a required check that is nowhere is missing, by name", () => {
    const names = [{ name: "security", appId: 7, kind: "run" as const }];
    expect(judged(seen(), { names }).missing).toEqual(["security (app 7, run)"]);
  });

  it("the latest run of a check counts, whichever way", () => {
    const failedLater = [check({ id: 1 }), check({ id: 2, state: "FAILURE" })];
    expect(judged(seen({ checks: failedLater })).failed).toEqual(["ci (failure)"]);
    const rerun = [check({ id: 2, state: "QUEUED" }), check({ id: 1 })];
    expect(judged(seen({ checks: rerun })).pending).toEqual(["ci (queued)"]);
  });

  it("one name from two apps, and of two kinds, must pass in each", () => {
    const names = [{ name: "ci" }];
    const apps = [check(), check({ appId: 2, state: "FAILURE" })];
    expect(judged(seen({ checks: apps }), { names }).failed).toEqual(["ci (failure)"]);
    const status = check({ kind: "status", state: "PENDING" });
    expect(judged(seen({ checks: [check(), status] }), { names }).pending).toEqual([
      "ci (pending)",
    ]);
  });

  it("a check of another app or kind does not answer for the required one", () => {
    const names = [{ name: "ci", appId: 2 }];
    expect(judged(seen(), { names }).missing).toEqual(["ci (app 2)"]);
    const kinds = [{ name: "ci", kind: "status" as const }];
    expect(judged(seen(), { names: kinds }).missing).toEqual(["ci (status)"]);
  });

  it("with none named, every check must pass; with some, the others do not matter", () => {
    const checks = [check(), check({ name: "optional", state: "FAILURE" })];
    expect(judged(seen({ checks })).failed).toEqual(["optional (failure)"]);
    expect(judged(seen({ checks }), { names: [{ name: "ci" }] }).failed).toEqual([]);
  });

  it("what GitHub's rules require counts too, unless the spec says no", () => {
    const observation = seen({ required: [{ name: "security" }] });
    expect(judged(observation).missing).toEqual(["security"]);
    expect(judged(observation, { alsoProviderRequired: false }).missing).toEqual([]);
    const marked = seen({
      checks: [check(), check({ name: "lint", state: "FAILURE", required: true })],
    });
    expect(judged(marked, { names: [{ name: "ci" }] }).failed).toEqual(["lint (failure)"]);
  });

  it("the manager's own report is no check", () => {
    const checks = [check({ name: "pi-workflows" })];
    expect(judged(seen({ checks })).nothingRan).toBe(true);
  });
});

describe("reviews", () => {
  const judged = (
    reviews: Review[],
    approvals: Require["approvals"],
    more: Partial<Observation> = {},
  ) => judgeReviews(seen({ reviews, ...more }), spec({ require: { approvals } }).require.approvals);

  it("the author's own approval does not count", () => {
    expect(judged([review("author")], { count: 1 }).missing).toHaveLength(1);
    expect(judged([review("alice")], { count: 1 }).missing).toEqual([]);
  });

  it("an approval of an older head counts only where the spec says so, and is named", () => {
    const stale = [review("alice", "APPROVED", OLD)];
    expect(judged(stale, { count: 1 }).missing).toEqual([
      "1 approval of this head and has 0 (older ones: alice at bbbbbbb)",
    ]);
    expect(judged(stale, { count: 1, onHead: false }).missing).toEqual([]);
  });

  it("a dismissed approval does not count", () => {
    expect(judged([review("alice", "DISMISSED")], { count: 1 }).missing).toHaveLength(1);
  });

  it("changes asked for block, whatever head they were asked of", () => {
    const asked = [review("alice"), review("bob", "CHANGES_REQUESTED", OLD)];
    expect(judged(asked, { count: 1 }).changesAskedBy).toEqual(["bob"]);
  });

  it.each([
    ["APPROVED", [], 0],
    ["REVIEW_REQUIRED", [], 1],
    ["CHANGES_REQUESTED", [], 1],
    [null, [], 1],
    ["unreadable", [], 1],
    ["APPROVED", ["core-team"], 1],
  ] as const)("code owners: decision %s, still asked %j", (reviewDecision, asked, count) => {
    const more = { reviewDecision, codeOwnersAsked: [...asked] };
    expect(judged([], { codeOwners: true }, more).missing).toHaveLength(count);
  });
});

describe("freezes", () => {
  const windows = (window: object) =>
    spec({ freeze: { windows: [{ from: "18:00", to: "08:00", ...window }] } }).freeze;
  const at = (text: string) => Date.parse(text);

  it("until an instant, and not after", () => {
    const { freeze } = spec({ freeze: { until: "2026-03-02T13:00:00Z" } });
    expect(frozenBy(freeze, [], NOW)).toContain("2026-03-02T13:00:00Z");
    expect(frozenBy(freeze, [], NOW + 60 * MINUTE)).toBeUndefined();
  });

  it("by a label, whatever its case", () => {
    expect(frozenBy(spec({ freeze: { label: "freeze" } }).freeze, ["Freeze"], NOW)).toContain(
      "freeze",
    );
  });

  it.each([
    ["2026-03-02T17:59:00Z", false],
    ["2026-03-02T18:00:00Z", true],
    ["2026-03-03T07:59:00Z", true],
    ["2026-03-03T08:00:00Z", false],
  ])("a window over midnight: %s is %s", (instant, frozen) => {
    expect(frozenBy(windows({}), [], at(instant)) !== undefined).toBe(frozen);
  });

  it("the days are those on which a window begins", () => {
    const friday = windows({ days: ["fri"] });
    expect(frozenBy(friday, [], at("2026-03-06T19:00:00Z"))).toBeDefined();
    expect(frozenBy(friday, [], at("2026-03-07T07:00:00Z"))).toBeDefined();
    expect(frozenBy(friday, [], at("2026-03-07T19:00:00Z"))).toBeUndefined();
  });

  it("the window's own time zone counts", () => {
    const berlin = windows({ timeZone: "Europe/Berlin" });
    expect(frozenBy(berlin, [], at("2026-03-02T17:00:00Z"))).toBeDefined();
    expect(frozenBy(berlin, [], at("2026-03-02T16:59:00Z"))).toBeUndefined();
  });
});

describe("the decision", () => {
  it("merges what nothing stands in the way of", () => {
    expect(decided(seen())).toMatchObject({ step: "merge", reasons: [] });
  });

  const BLOCKED: [string, Observation, Partial<PullRequestSpecInput>, string][] = [
    ["Closed", seen({}, { state: "closed" }), {}, "closed"],
    ["BaseChanged", seen({}, { baseRef: "stack" }), {}, "stack, not main"],
    ["HeadChanged", seen(), { expectedHeadSha: OLD }, "the head is aaaaaaa, expected is bbbbbbb"],
    ["Draft", seen({}, { draft: true }), {}, "draft"],
    ["Frozen", seen({}, { labels: ["freeze"] }), { freeze: { label: "freeze" } }, "label freeze"],
    ["MissingLabels", seen(), { require: { labels: ["ready"] } }, "ready"],
    ["BlockingLabels", seen({}, { labels: ["wip"] }), { require: { noLabels: ["WIP"] } }, "WIP"],
    ["QueueRequired", seen({ queueRequired: true }), {}, "queue"],
    ["Conflict", seen({}, { mergeable: "no" }), {}, "conflicts with main"],
    ["Conflict", seen({}, { mergeState: "DIRTY" }), {}, "conflicts with main"],
    ["ChecksFailed", seen({ checks: [check({ state: "FAILURE" })] }), {}, "ci (failure)"],
    ["ChangesRequested", seen({ reviews: [review("bob", "CHANGES_REQUESTED")] }), {}, "bob"],
    [
      "MissingApprovals",
      seen(),
      { require: { approvals: { count: 2 } } },
      "it needs 2 approvals of this head and has 0",
    ],
    [
      "UnresolvedThreads",
      seen({ unresolvedThreads: 3 }),
      { require: { resolvedThreads: true } },
      "3",
    ],
    [
      "UnresolvedThreads",
      seen({ unresolvedThreads: "unreadable" }),
      { require: { resolvedThreads: true } },
      "GraphQL",
    ],
    ["WaitingForChecks", seen({ checks: [check({ state: "QUEUED" })] }), {}, "ci (queued)"],
    ["WaitingForChecks", seen({ checks: [] }), {}, "no check has succeeded"],
    ["WaitingForChecks", seen({ required: [{ name: "e2e" }] }), {}, "not reported: e2e"],
    ["WaitingForChecks", seen(), { require: { checks: { minWait: "10m" } } }, "10m"],
    ["Behind", seen({}, { mergeState: "BEHIND" }), {}, "update.mode is never"],
    ["Incomplete", seen({ gaps: ["check runs"] }), {}, "check runs"],
    ["BlockedByGitHub", seen({}, { mergeState: "BLOCKED" }), {}, "rules"],
    ["MergeabilityUnknown", seen({}, { mergeable: "unknown" }), {}, "not computed"],
  ];
  it.each(BLOCKED)("%s", (reason, observation, changes, words) => {
    const { step, findings } = decided(observation, changes);
    expect(step).toBe("wait");
    expect(findings[0]).toMatchObject({ reason, message: expect.stringContaining(words) });
    expect(findings[0]?.waitMs).toBeGreaterThan(0);
  });

  it("MethodNotAllowed names the method", () => {
    const { repository } = seen();
    const methods = { ...repository.methods, rebase: false };
    const observation = seen({ repository: { ...repository, methods } });
    const { findings } = decided(observation, { merge: { method: "rebase" } });
    expect(findings).toMatchObject([{ reason: "MethodNotAllowed" }]);
  });

  it("a draft is merged only where GitHub and the spec both let it", () => {
    expect(decided(seen({}, { draft: true }), { require: { notDraft: false } }).step).toBe("merge");
  });

  it.each(["CLEAN", "HAS_HOOKS", "UNSTABLE", "UNKNOWN"] as const)(
    "merge state %s leaves it to own checks",
    (mergeState) => {
      expect(decided(seen({}, { mergeState })).step).toBe("merge");
    },
  );

  it("everything in the way is named, the weightiest first", () => {
    const observation = seen({ checks: [check({ state: "QUEUED" })] }, { draft: true });
    const { reasons } = decided(observation, { require: { approvals: { count: 1 } } });
    expect(reasons).toEqual(["Draft", "MissingApprovals", "WaitingForChecks"]);
  });

  it("mergeability is asked for at growing intervals", () => {
    const unknown = seen({}, { mergeable: "unknown" });
    const waits = [0, 1, 2, 100].map(
      (mergeabilityPolls) => decided(unknown, {}, { mergeabilityPolls }).findings[0]?.waitMs,
    );
    expect(waits).toEqual([5_000, 10_000, 15_000, 60_000]);
  });

  it("checks that never come are overdue after the deadline", () => {
    const observation = seen({ required: [{ name: "e2e" }] });
    const { findings } = decided(observation, {}, { headSeenAt: NOW - 7 * 60 * MINUTE });
    expect(findings).toMatchObject([{ reason: "ChecksOverdue", about: "ChecksPassing" }]);
  });

  it("minWait counts from the first sight of the head", () => {
    const require = { checks: { minWait: "10m" } };
    expect(decided(seen(), { require }, { headSeenAt: NOW - 10 * MINUTE }).step).toBe("merge");
    expect(decided(seen(), { require }, { headSeenAt: NOW - 9 * MINUTE }).findings).toMatchObject([
      { waitMs: MINUTE },
    ]);
  });

  it.each([
    ["base-modified", "BaseModified"],
    ["queue-required", "QueueRequired"],
    ["limited", "RateLimited"],
    ["no-access", "NoAccess"],
    ["refused", "MergeRefused"],
  ] as const)("a refusal (%s) is waited out as %s", (kind, reason) => {
    const refusal = { kind, message: "words", retryAt: new Date(NOW + 4_000).toISOString() };
    expect(decided(seen(), {}, { refusal }).findings).toMatchObject([{ reason, waitMs: 4_000 }]);
    const past = { ...refusal, retryAt: new Date(NOW).toISOString() };
    expect(decided(seen(), {}, { refusal: past }).step).toBe("merge");
  });
});

describe("update of a branch that is behind", () => {
  const behind = (pull: Partial<Pull> = {}, more: Partial<Observation> = {}) =>
    seen(more, { mergeState: "BEHIND", ...pull });
  const update = { mode: "whenBehind" as const };

  it("is made where nothing else holds the head up, running checks aside", () => {
    expect(decided(behind(), { update }).step).toBe("update");
    const running = { checks: [check({ state: "IN_PROGRESS" })] };
    expect(decided(behind({}, running), { update }).step).toBe("update");
    const failed = { checks: [check({ state: "FAILURE" })] };
    expect(decided(behind({}, failed), { update }).step).toBe("wait");
    expect(decided(behind({ draft: true }), { update }).step).toBe("wait");
  });

  it("is not made of a pinned head", () => {
    const { step, findings } = decided(behind(), { update, expectedHeadSha: HEAD });
    expect(step).toBe("wait");
    expect(findings[0]?.message).toContain("expectedHeadSha pins");
  });

  it("is made of a fork only where its owner lets maintainers push", () => {
    const fork = { fork: true, headRepository: "stranger/widgets" };
    expect(decided(behind(fork), { update }).findings[0]?.message).toContain("author must update");
    expect(decided(behind({ ...fork, maintainerCanModify: true }), { update }).step).toBe("update");
  });
});

describe("conditions", () => {
  it("each names the head that it is about", () => {
    for (const { message } of conditionsOf(seen(), [])) expect(message).toContain("aaaaaaa");
  });

  it("are true, false or unknown as the findings say", () => {
    const observation = seen({ gaps: ["reviews"] }, { mergeable: "unknown", labels: ["wip"] });
    const { findings } = decided(observation, {
      expectedHeadSha: OLD,
      require: { noLabels: ["wip"], approvals: { count: 1 } },
    });
    const conditions = Object.fromEntries(
      conditionsOf(observation, findings).map(({ type, status, reason }) => [
        type,
        [status, reason],
      ]),
    );
    expect(conditions).toEqual({
      Observed: ["unknown", "Incomplete"],
      HeadMatches: [false, "HeadChanged"],
      ChecksPassing: [true, "Passed"],
      Approved: [false, "MissingApprovals"],
      Mergeable: ["unknown", "MergeabilityUnknown"],
      Blocked: [true, "BlockingLabels"],
      Merged: [false, "Open"],
      Held: [false, "NotHeld"],
    });
  });
});
