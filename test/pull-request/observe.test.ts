import { validate } from "@octokit/graphql-schema";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { GitHubFault } from "../../examples/pull-request/.pi/resource-managers/pull-request/fault.ts";
import { GitHubClient } from "../../examples/pull-request/.pi/resource-managers/pull-request/github-client.ts";
import { observe } from "../../examples/pull-request/.pi/resource-managers/pull-request/observe.ts";
import {
  PULL_REQUEST_QUERY,
  UPDATE_BRANCH_MUTATION,
} from "../../examples/pull-request/.pi/resource-managers/pull-request/query.ts";
import {
  pullRequestSpec,
  type PullRequestSpecInput,
} from "../../examples/pull-request/.pi/resource-managers/pull-request/spec.ts";
import { acts } from "../github/faults.mjs";
import { answerGraphQL } from "../github/graphql.mjs";
import type { SeededPull } from "../github/seeds.mjs";
import { startGitHub, type GitHub } from "../github/stand-in.mjs";

let github: GitHub;
/** What GraphQL resolves; undefined: the server has none, and REST tells. */
let root: unknown;
/** Every test has a day of its own: a limit of one ends before the next. */
let now = Date.parse("2026-03-02T12:00:00Z");
beforeAll(async () => {
  const answer = answerGraphQL(() => root);
  github = await startGitHub({
    graphql: async (request) =>
      root === undefined
        ? { status: 404, headers: {}, body: { message: "Not Found" } }
        : answer(request),
  });
});
afterAll(() => github.close());
afterEach(() => {
  root = undefined;
  now += 24 * 60 * 60_000;
  github.endTest();
});

async function opened(count = 1) {
  const repository = await github.seeds.repository();
  const pull = await github.seeds.pull(repository);
  for (let index = 1; index <= count; index += 1) {
    await github.seeds.check(repository, pull.headSha, { name: `ci-${index}` });
  }
  return { repository, pull };
}

function look(pull: SeededPull, changes: Partial<PullRequestSpecInput> = {}) {
  const { repository, number } = pull;
  const spec = pullRequestSpec.parse({
    repository,
    number,
    baseRef: "main",
    apiUrl: github.url,
    ...changes,
  });
  const client = new GitHubClient({
    apiUrl: github.url,
    token: "loopback",
    writeSpacingMs: 0,
    timeoutMs: 20_000,
    retryMs: 1,
    now: () => now,
  });
  return observe(client, spec, AbortSignal.timeout(30_000));
}

const list = <T>(nodes: T[]) => ({ totalCount: nodes.length, nodes });
type Paging = { after?: string | null };
const paged =
  <T>(nodes: T[], size = 100) =>
  ({ after }: Paging) => {
    const start = after ? Number(after) : 0;
    const end = start + size;
    return {
      totalCount: nodes.length,
      nodes: nodes.slice(start, end),
      pageInfo: { hasNextPage: end < nodes.length, endCursor: String(Math.min(end, nodes.length)) },
    };
  };

const run = (index: number, more: object = {}) => ({
  __typename: "CheckRun",
  databaseId: index,
  name: `ci-${index}`,
  status: "COMPLETED",
  conclusion: "SUCCESS",
  isRequired: false,
  checkSuite: { app: { databaseId: 15368 } },
  ...more,
});

/** The same pull request as GraphQL shows it, with `changes`. */
function graphql(
  pull: SeededPull,
  changes: Record<string, unknown> = {},
  contexts: unknown = [run(1)],
) {
  const commit = {
    oid: pull.headSha,
    statusCheckRollup: {
      contexts: Array.isArray(contexts) ? paged(contexts as unknown[]) : contexts,
    },
  };
  return {
    repository: {
      databaseId: 1,
      nameWithOwner: pull.repository,
      mergeCommitAllowed: true,
      squashMergeAllowed: true,
      rebaseMergeAllowed: false,
      pullRequest: {
        id: "PR_1",
        number: pull.number,
        url: `https://github.com/${pull.repository}/pull/${pull.number}`,
        state: "OPEN",
        title: "Title",
        body: "Body",
        author: { __typename: "User", login: "alice" },
        isDraft: false,
        headRefOid: pull.headSha,
        headRefName: pull.headRef,
        headRepository: { nameWithOwner: pull.repository },
        isCrossRepository: false,
        maintainerCanModify: false,
        baseRefName: "main",
        isMergeQueueEnabled: false,
        labels: list([{ name: "ready" }]),
        mergeable: "MERGEABLE",
        mergeStateStatus: "CLEAN",
        autoMergeRequest: null,
        mergedAt: null,
        mergedBy: null,
        mergeCommit: null,
        reviewDecision: "APPROVED",
        reviewRequests: list([
          {
            asCodeOwner: true,
            requestedReviewer: { __typename: "Team", slug: "core" },
          },
        ]),
        latestOpinionatedReviews: list([
          {
            author: { __typename: "User", login: "bob" },
            state: "APPROVED",
            commit: { oid: pull.headSha },
          },
        ]),
        reviewThreads: paged([{ isResolved: true }, { isResolved: false }]),
        commits: { nodes: [{ commit }] },
        ...changes,
      },
    },
  };
}

describe("the GraphQL documents", () => {
  it("are valid against GitHub's published schema", () => {
    expect(validate(PULL_REQUEST_QUERY)).toEqual([]);
    expect(validate(UPDATE_BRANCH_MUTATION)).toEqual([]);
  });

  it("and would not be with a field that GitHub does not have", () => {
    expect(validate(PULL_REQUEST_QUERY.replace("isDraft", "isDrafty"))).toHaveLength(1);
  });
});

describe("a look by GraphQL", () => {
  it("reads everything in one query, and the rules of the base by REST", async () => {
    const { pull, repository } = await opened();
    await github.seeds.protect(repository, "main", { checks: ["ci-1"] });
    root = graphql(pull, {}, [
      run(1, { isRequired: true }),
      { __typename: "StatusContext", context: "lint", state: "EXPECTED", isRequired: true },
    ]);
    const seen = await look(pull);
    expect(seen).toMatchObject({
      source: "graphql",
      repository: { name: repository, methods: { merge: true, squash: true, rebase: false } },
      pull: { state: "open", labels: ["ready"], mergeable: "yes", fork: false, author: "alice" },
      reviews: [{ author: "bob", state: "APPROVED", sha: pull.headSha }],
      reviewDecision: "APPROVED",
      codeOwnersAsked: ["core"],
      checks: [
        { kind: "run", name: "ci-1", appId: 15368, state: "SUCCESS", required: true },
        { kind: "status", name: "lint", state: "EXPECTED", required: true },
      ],
      required: [{ name: "ci-1" }],
      unresolvedThreads: 1,
      gaps: [],
    });
    const paths = github.requests.map(({ pathname }) => pathname);
    expect(paths.filter((path) => path === "/graphql")).toHaveLength(1);
    expect(paths.some((path) => path.includes("check-runs"))).toBe(false);
  });

  it("follows long lists of checks to their end: the failing one is on the second page", async () => {
    const { pull } = await opened();
    const contexts = Array.from({ length: 105 }, (_, index) =>
      run(index + 1, index === 103 ? { conclusion: "FAILURE" } : {}),
    );
    root = graphql(pull, {}, contexts);
    const seen = await look(pull);
    expect(seen.checks).toHaveLength(105);
    expect(seen.checks.filter(({ state }) => state === "FAILURE")).toHaveLength(1);
    expect(seen.gaps).toEqual([]);
  });

  it("a list that is shorter than it says is a gap", async () => {
    const { pull } = await opened();
    root = graphql(pull, { labels: { totalCount: 101, nodes: [{ name: "ready" }] } }, () => ({
      totalCount: 2,
      nodes: [run(1)],
      pageInfo: { hasNextPage: false, endCursor: "1" },
    }));
    expect((await look(pull)).gaps).toEqual(["labels", "checks"]);
  });

  it("the last commit need not be the head: its checks are read by REST then", async () => {
    const { pull } = await opened();
    root = graphql(pull, {
      commits: { nodes: [{ commit: { oid: "f".repeat(40), statusCheckRollup: null } }] },
    });
    const seen = await look(pull);
    expect(seen.source).toBe("graphql");
    expect(seen.checks).toMatchObject([{ name: "ci-1", state: "SUCCESS" }]);
  });

  it("unknown mergeability is read by REST, which makes GitHub compute it", async () => {
    const { pull } = await opened();
    root = graphql(pull, { mergeable: "UNKNOWN", mergeStateStatus: "UNKNOWN" });
    expect((await look(pull)).pull).toMatchObject({ mergeable: "yes", mergeState: "CLEAN" });
    github.seeds.show(pull, { mergeable: null, mergeable_state: "unknown" });
    expect((await look(pull)).pull.mergeable).toBe("unknown");
  });

  it("a merged one tells by whom and as what", async () => {
    const { pull } = await opened();
    root = graphql(pull, {
      state: "MERGED",
      mergedAt: "2026-03-02T12:00:00Z",
      mergedBy: { __typename: "User", login: "bob" },
      mergeCommit: { oid: "c".repeat(40) },
    });
    expect((await look(pull)).pull).toMatchObject({
      state: "merged",
      merged: { by: "bob", sha: "c".repeat(40) },
    });
  });

  it("another name of the repository is a move", async () => {
    const { pull } = await opened();
    const renamed = graphql(pull);
    root = { repository: { ...renamed.repository, nameWithOwner: "acme/gadgets" } };
    await expect(look(pull)).rejects.toMatchObject({ kind: "moved", location: "acme/gadgets" });
  });

  it("a limit is a limit, and is not worked around by REST", async () => {
    const { pull } = await opened();
    github.fault({ path: /graphql/, act: acts.secondaryLimit(60) });
    await expect(look(pull)).rejects.toMatchObject({ kind: "limited", waitMs: 60_000 });
  });
});

describe("where GraphQL does not answer, REST does", () => {
  it.each([
    ["it is not there", undefined],
    ["it answers 502", acts.badGateway],
    ["its answer is cut", { kind: "truncate" as const }],
    ["its answer is half JSON", { kind: "garble" as const }],
    ["its connection is reset", { kind: "reset" as const }],
  ])("%s", async (_name, act) => {
    const { pull } = await opened();
    if (act) {
      root = graphql(pull);
      github.fault({ path: /graphql/, act });
    }
    expect(await look(pull)).toMatchObject({
      source: "rest",
      checks: [{ name: "ci-1", state: "SUCCESS" }],
      reviewDecision: "unreadable",
      unresolvedThreads: "unreadable",
      gaps: [],
    });
  });

  it("an answer with errors, though it has data too, is none", async () => {
    const { pull } = await opened();
    root = graphql(pull, { reviewThreads: () => Promise.reject(new Error("timeout")) });
    expect((await look(pull)).source).toBe("rest");
  });

  it("every page of check runs is read", async () => {
    const { pull, repository } = await opened(104);
    await github.seeds.check(repository, pull.headSha, { name: "last", conclusion: "failure" });
    const seen = await look(pull);
    expect(seen.checks).toHaveLength(105);
    expect(seen.checks.filter(({ state }) => state === "FAILURE")).toHaveLength(1);
  });

  it("a page that is cut is read again, and never counts as empty", async () => {
    const { pull } = await opened(105);
    github.fault({ path: /check-runs$/, skip: 1, act: { kind: "truncate" } });
    github.fault({ path: /check-runs$/, skip: 1, act: { kind: "garble" } });
    const seen = await look(pull);
    expect(seen.checks).toHaveLength(105);
    expect(seen.gaps).toEqual([]);
  });

  it("a page that stays cut is no answer", async () => {
    const { pull } = await opened(105);
    github.fault({ path: /check-runs$/, skip: 1, times: 100, act: { kind: "truncate" } });
    await expect(look(pull)).rejects.toMatchObject({ kind: "unreadable" });
  });

  it("fewer check runs than their total is a gap", async () => {
    const { pull } = await opened(3);
    github.fault({
      path: /check-runs$/,
      times: 2,
      act: {
        kind: "map",
        map: (answer) => ({ ...answer, body: { ...answer.body, total_count: 4, check_runs: [] } }),
      },
    });
    expect((await look(pull)).gaps).toEqual(["check runs"]);
  });

  it("only the opinions of people who may write count, unless the spec says so", async () => {
    const { pull } = await opened();
    await github.seeds.review(pull, "bob");
    await github.seeds.review(pull, "bob", "COMMENT");
    await github.seeds.review(pull, "stranger");
    expect((await look(pull)).reviews.map(({ author }) => author)).toEqual(["bob"]);
    const approvals = { fromWriters: false };
    const all = await look(pull, { require: { approvals } });
    expect(all.reviews.map(({ author }) => author)).toEqual(["bob", "stranger"]);
  });

  it("checks and the queue that rulesets require", async () => {
    const { pull, repository } = await opened();
    github.seeds.rules(repository, "main", [
      { type: "merge_queue", ruleset_source_type: "Repository", ruleset_id: 1 },
      {
        type: "required_status_checks",
        ruleset_source_type: "Repository",
        ruleset_id: 1,
        parameters: {
          strict_required_status_checks_policy: false,
          required_status_checks: [{ context: "security", integration_id: 7 }],
        },
      },
    ]);
    expect(await look(pull)).toMatchObject({
      queueRequired: true,
      required: [{ name: "security", appId: 7 }],
    });
  });
});

describe("what can't be looked at", () => {
  it.each([
    ["no-access", acts.unauthorized],
    ["no-access", acts.forbidden],
    ["limited", acts.secondaryLimit(30)],
    ["limited", acts.tooManyRequests(30)],
  ] as const)("%s", async (kind, act) => {
    const { pull } = await opened();
    github.fault({ path: /^\/repos/, times: 100, act });
    await expect(look(pull)).rejects.toMatchObject({ kind });
  });

  it("a pull request that is not there is no access, since GitHub does not say which", async () => {
    const { pull } = await opened();
    const missing = look({ ...pull, number: 999 });
    await expect(missing).rejects.toBeInstanceOf(GitHubFault);
    await expect(missing).rejects.toMatchObject({ kind: "no-access", status: 404 });
  });

  it("a limit that names its reset waits until then, one that names nothing a minute", async () => {
    const { pull } = await opened();
    github.fault({ path: /^\/repos/, act: acts.primaryLimit(now / 1_000 + 600) });
    const limited = await look(pull).catch((error: GitHubFault) => error);
    expect((limited as GitHubFault).waitMs).toBe(600_000);
    now += 600_000;
    const nameless = { ...acts.tooManyRequests(0), headers: {} };
    github.fault({ path: /^\/repos/, act: nameless });
    await expect(look(pull)).rejects.toMatchObject({ kind: "limited", waitMs: 60_000 });
  });
});
