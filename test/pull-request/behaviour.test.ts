import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { PullRequestSpecInput } from "../../examples/pull-request/.pi/resource-managers/pull-request/spec.ts";
import { acts } from "../github/faults.mjs";
import { answerGraphQL } from "../github/graphql.mjs";
import type { SeededPull } from "../github/seeds.mjs";
import { startGitHub, type GitHub } from "../github/stand-in.mjs";
import { Driver } from "./driver.ts";

let github: GitHub;
let root: unknown;
beforeAll(async () => {
  const answer = answerGraphQL(() => root);
  github = await startGitHub({
    graphql: async (request) =>
      (request.body as { query: string }).query.trimStart().startsWith("mutation")
        ? answer(request)
        : { status: 404, headers: {}, body: { message: "Not Found" } },
  });
});
afterAll(() => github.close());
afterEach(() => github.endTest());

type Opened = { pull: SeededPull; repository: string; driver: Driver };

function drive(pull: SeededPull, options: Partial<PullRequestSpecInput> = {}, token?: string) {
  const { repository, number } = pull;
  const spec = { repository, number, baseRef: "main", apiUrl: github.url, ...options };
  return new Driver({ spec, ...(token === undefined ? {} : { token }) });
}

async function green(options: Partial<PullRequestSpecInput> = {}): Promise<Opened> {
  const repository = await github.seeds.repository();
  const pull = await github.seeds.pull(repository, { title: "Add {{body}}", body: "Because." });
  await github.seeds.check(repository, pull.headSha);
  return { repository, pull, driver: drive(pull, options) };
}

const merged = (driver: Driver) => () => driver.ready === "true/Merged";

describe("a pull request is brought to its merge", () => {
  it("waits for what its spec asks for, names it, and merges when all is there", async () => {
    const repository = await github.seeds.repository();
    const pull = await github.seeds.pull(repository, { draft: true });
    const driver = drive(pull, {
      require: {
        labels: ["ready"],
        approvals: { count: 1 },
        checks: { names: [{ name: "ci" }, { name: "lint", kind: "status" }] },
      },
    });
    await driver.pass();
    expect(driver.ready).toBe("false/Draft");
    expect(driver.status.waitingFor).toEqual([
      "it is a draft",
      "label missing: ready",
      expect.stringContaining("it needs 1 approval of this head and has 0"),
      expect.stringContaining("not reported: ci, lint (status)"),
    ]);
    await github.seeds.edit(pull, { draft: false });
    await github.seeds.label(pull, "ready");
    await github.seeds.check(repository, pull.headSha, { status: "in_progress" });
    await github.seeds.status(repository, pull.headSha, "lint", "success");
    await driver.pass();
    expect(driver.ready).toBe("false/MissingApprovals");
    await github.seeds.review(pull, "bob");
    await driver.pass();
    expect(driver.ready).toBe("false/WaitingForChecks");
    expect(driver.condition("ChecksPassing")?.message).toContain("ci (in_progress)");
    await github.seeds.check(repository, pull.headSha, { conclusion: "failure" });
    await driver.pass();
    expect(driver.ready).toBe("false/ChecksFailed");
    await github.seeds.check(repository, pull.headSha);
    await driver.until(merged(driver));
    expect(github.merges).toHaveLength(1);
    expect(driver.passes.at(-1)).toMatchObject({ kind: "settled" });
  });

  it("an approval of the head before does not carry over to a new one", async () => {
    const { pull, repository, driver } = await green({ require: { approvals: { count: 1 } } });
    await github.seeds.review(pull, "bob");
    const head = await github.seeds.commit(repository, pull.headRef, "One more");
    await github.seeds.check(repository, head);
    await driver.pass();
    expect(driver.ready).toBe("false/MissingApprovals");
    expect(driver.condition("Approved")?.message).toContain(`bob at ${pull.headSha.slice(0, 7)}`);
  });

  it("a force-pushed head is not merged under the old one's spec", async () => {
    const { pull, repository, driver } = await green();
    driver.edit({ expectedHeadSha: pull.headSha });
    const head = await github.seeds.forcePush(repository, pull.headRef);
    await github.seeds.check(repository, head);
    await driver.pass();
    expect(driver.ready).toBe("false/HeadChanged");
    expect(driver.condition("HeadMatches")?.status).toBe(false);
    expect(github.writes).toEqual([]);
  });

  it("once merged and settled it asks GitHub nothing more", async () => {
    const { driver } = await green();
    await driver.until(merged(driver));
    github.forget();
    expect(await driver.pass()).toEqual({ kind: "settled" });
    expect(github.requests).toEqual([]);
  });

  it("mergeability that GitHub has not computed is asked for at growing intervals", async () => {
    const { pull, driver } = await green();
    github.seeds.show(pull, { mergeable: null, mergeable_state: "unknown" });
    const waits = [];
    for (let count = 0; count < 3; count += 1) {
      const outcome = await driver.pass();
      waits.push("delayMs" in outcome ? outcome.delayMs : 0);
    }
    expect(waits).toEqual([5_000, 10_000, 15_000]);
    expect(driver.condition("Mergeable")?.status).toBe("unknown");
    github.seeds.show(pull, {});
    await driver.until(merged(driver));
  });

  it("a base that takes merges from its queue only is not asked to merge", async () => {
    const { repository, driver } = await green();
    const rule = { type: "merge_queue", ruleset_source_type: "Repository", ruleset_id: 1 };
    github.seeds.rules(repository, "main", [rule]);
    await driver.pass();
    expect(driver.ready).toBe("false/QueueRequired");
    expect(github.writes).toEqual([]);
  });

  it("what can't be looked at is said, and looked at again", async () => {
    const { driver } = await green();
    github.fault({ path: /^\/repos/, act: acts.notFound, times: 100 });
    const outcome = await driver.pass();
    expect(outcome).toMatchObject({ kind: "requeueAfter", delayMs: 300_000 });
    expect(driver.ready).toBe("false/NoAccess");
    expect(driver.condition("Observed")?.status).toBe(false);
    github.faults.clear();
    await driver.until(merged(driver));
    expect(driver.condition("Blocked")?.status).toBe(false);
  });

  it("a pass that changes nothing writes the same status again", async () => {
    const { driver } = await green({ require: { labels: ["ready"] } });
    await driver.pass();
    const before = JSON.stringify([driver.status, driver.condition("Ready")]);
    await driver.pass();
    expect(JSON.stringify([driver.status, driver.condition("Ready")])).toBe(before);
  });
});

describe("the requests", () => {
  it("a merge always carries the head, and the trailer that proves it", async () => {
    const { pull, driver } = await green({
      merge: {
        method: "squash",
        title: "{{title}} by {{author}}",
        body: "{{body}}\n\n#{{number}}",
      },
    });
    await driver.until(merged(driver));
    expect(github.merges).toHaveLength(1);
    expect(github.merges[0]?.body).toEqual({
      sha: pull.headSha,
      merge_method: "squash",
      commit_title: "Add {{body}} by alice",
      commit_message: expect.stringMatching(
        new RegExp(`^Because\\.\\n\\n#${pull.number}\\n\\nMerge-Intent: [0-9a-f]{32}$`),
      ),
    });
    const [message] = await github.seeds.messages(pull.repository);
    expect(message).toContain("Merge-Intent:");
  });

  it("a rebase keeps the commits' own messages", async () => {
    const { pull, driver } = await green({ merge: { method: "rebase" } });
    await driver.until(merged(driver));
    expect(github.merges).toMatchObject([{ body: { sha: pull.headSha, merge_method: "rebase" } }]);
    expect(Object.keys((github.merges[0] as { body: object }).body)).toHaveLength(2);
  });

  it("each names the API version, and lists ask for full pages", async () => {
    const { driver } = await green();
    await driver.until(merged(driver));
    const rest = github.requests.filter(({ pathname }) => pathname !== "/graphql");
    expect(rest.every(({ headers }) => headers["x-github-api-version"] === "2022-11-28")).toBe(
      true,
    );
    expect(rest.every(({ pathname }) => !pathname.startsWith("//"))).toBe(true);
    const lists = rest.filter(({ pathname }) => /reviews$|check-runs$/.test(pathname));
    expect(lists.every(({ search }) => search.includes("per_page=100"))).toBe(true);
  });
});

describe("a dry run", () => {
  it("decides everything and writes nothing", async () => {
    const { driver } = await green({
      dryRun: true,
      report: "comment",
      merge: { deleteBranch: true },
    });
    for (let count = 0; count < 3; count += 1) await driver.pass();
    expect(driver.ready).toBe("false/DryRun");
    expect(driver.condition("Ready")?.message).toContain("would be merged (squash)");
    expect(github.writes).toEqual([]);
    expect(driver.effects.length).toBe(0);
  });
});

describe("the branch of a merged pull request", () => {
  const deleting = { merge: { deleteBranch: true } };

  it("is kept unless the spec says otherwise", async () => {
    const { pull, driver, repository } = await green();
    await driver.until(merged(driver));
    expect(await github.seeds.branches(repository)).toContain(pull.headRef);
  });

  it("is deleted, once, when it is to be", async () => {
    const { pull, driver, repository } = await green(deleting);
    await driver.until(() => driver.status.merged?.branch !== undefined);
    expect(driver.status.merged?.branch).toBe("deleted");
    expect(driver.ready).toBe("true/Merged");
    expect(await github.seeds.branches(repository)).not.toContain(pull.headRef);
  });

  it.each([
    ["502", { kind: "apply-502" as const }],
    ["reset", { kind: "apply-reset" as const }],
  ])("an answer lost to %s is found by observation", async (_name, act) => {
    const { driver } = await green(deleting);
    github.fault({ method: "DELETE", path: /git\/refs/, act });
    await driver.until(() => driver.status.merged?.branch === "deleted");
    expect(github.applied("DELETE", /git\/refs/)).toHaveLength(1);
  });

  it("is kept where it belongs to a fork", async () => {
    const { pull, driver, repository } = await green(deleting);
    const { head } = (await github.seeds.read(pull)) as { head: { repo: object } };
    github.seeds.show(pull, {
      head: { ...head, repo: { ...head.repo, full_name: "stranger/widgets" } },
    });
    await driver.until(() => driver.status.merged?.branch !== undefined);
    expect(driver.status.merged?.branch).toContain("fork");
    expect(await github.seeds.branches(repository)).toContain(pull.headRef);
  });

  it("is kept where another open pull request is to be merged into it", async () => {
    const { pull, driver, repository } = await green(deleting);
    const stacked = await github.seeds.pull(repository, { base: pull.headRef });
    await driver.until(() => driver.status.merged?.branch !== undefined);
    expect(driver.status.merged?.branch).toContain(`pull request ${stacked.number}`);
    expect(await github.seeds.branches(repository)).toContain(pull.headRef);
  });

  it("is kept where it has commits that were not merged", async () => {
    const { pull, driver, repository } = await green(deleting);
    await driver.until(() => driver.status.merge?.state === "applied");
    await github.seeds.commit(repository, pull.headRef, "Pushed after the merge");
    await driver.until(() => driver.status.merged?.branch !== undefined);
    expect(driver.status.merged?.branch).toContain("not merged");
  });
});

describe("a branch that is behind", () => {
  const updating = { update: { mode: "whenBehind" as const } };

  async function behind(options: Partial<PullRequestSpecInput>) {
    const opened = await green(options);
    await github.seeds.commit(opened.repository, "main", "The base moves");
    github.seeds.show(opened.pull, { mergeable_state: "behind" });
    return opened;
  }

  async function endsMerged({ driver, pull, repository }: Opened) {
    const head = await github.seeds.tip(repository, pull.headRef);
    expect(head).not.toBe(pull.headSha);
    github.seeds.show(pull, {});
    await driver.pass();
    expect(driver.ready).toBe("false/WaitingForChecks");
    await github.seeds.check(repository, head);
    await driver.until(merged(driver));
    expect(driver.status.merged?.headSha).toBe(head);
  }

  it("is updated, at the head that was judged, and judged anew", async () => {
    const opened = await behind(updating);
    await opened.driver.pass();
    expect(opened.driver.ready).toBe("false/Behind");
    expect(github.writes).toMatchObject([
      { body: { expected_head_sha: opened.pull.headSha }, status: 202 },
    ]);
    await endsMerged(opened);
  });

  it("an update whose answer is lost is found by its new head", async () => {
    const opened = await behind(updating);
    github.fault({ method: "PUT", path: /update-branch$/, act: { kind: "apply-502" } });
    await opened.driver.pass();
    expect(opened.driver.effectsOf("github-update-branch")).toMatchObject([
      { state: "indeterminate" },
    ]);
    await endsMerged(opened);
    expect(github.applied("PUT", /update-branch$/)).toHaveLength(1);
  });

  it("an update that GitHub refuses is said", async () => {
    const { driver } = await behind(updating);
    const act = { kind: "status" as const, status: 422, body: { message: "merge conflict" } };
    github.fault({ method: "PUT", path: /update-branch$/, act });
    await driver.pass();
    expect(driver.condition("Mergeable")?.message).toContain("merge conflict");
    await driver.pass();
    expect(github.writes).toEqual([]);
  });

  it("is rebased by GraphQL where the spec says so", async () => {
    const opened = await behind({ update: { mode: "whenBehind", method: "rebase" } });
    let input: unknown;
    root = {
      updatePullRequestBranch: async (asked: { input: unknown }) => {
        ({ input } = asked);
        const headRefOid = await github.seeds.forcePush(opened.repository, opened.pull.headRef);
        return { pullRequest: { headRefOid } };
      },
    };
    await opened.driver.pass();
    expect(input).toMatchObject({ expectedHeadOid: opened.pull.headSha, updateMethod: "REBASE" });
    await endsMerged(opened);
  });
});

describe("the report", () => {
  it("is one comment that is edited, and written only when it has something new to say", async () => {
    const { pull, driver } = await green({ report: "comment", require: { labels: ["ready"] } });
    await driver.pass();
    await driver.pass();
    expect(await github.seeds.comments(pull)).toEqual([
      expect.stringContaining("label missing: ready"),
    ]);
    expect(github.writes).toHaveLength(1);
    await github.seeds.label(pull, "ready");
    await driver.until(() => driver.status.merged?.branch !== undefined);
    expect(await github.seeds.comments(pull)).toEqual([
      expect.stringContaining("was merged into main"),
    ]);
  });

  it("a comment whose answer was lost is edited, not written twice", async () => {
    const { pull, driver } = await green({ report: "comment", require: { labels: ["ready"] } });
    github.fault({ method: "POST", path: /comments$/, act: { kind: "apply-502" } });
    await driver.pass();
    await driver.pass();
    expect(await github.seeds.comments(pull)).toHaveLength(1);
  });

  it("is one check run of the head, which is itself no check of it", async () => {
    const { pull, driver, repository } = await green({
      report: "check",
      require: { labels: ["ready"] },
    });
    await driver.pass();
    await driver.pass();
    expect(github.writes).toMatchObject([
      {
        method: "POST",
        body: { name: "pi-workflows", head_sha: pull.headSha, conclusion: "neutral" },
      },
    ]);
    const head = await github.seeds.commit(repository, pull.headRef, "One more");
    await driver.pass();
    expect(driver.condition("ChecksPassing")?.message).toContain("no check has succeeded");
    expect(github.writes.at(-1)).toMatchObject({ body: { head_sha: head } });
  });

  it("that can't be written holds up nothing", async () => {
    const { pull, driver } = await green({ report: "comment", require: { labels: ["ready"] } });
    github.fault({ method: "POST", path: /comments$/, times: 100, act: acts.badGateway });
    await driver.pass();
    await driver.pass();
    expect(driver.ready).toBe("false/MissingLabels");
    await github.seeds.label(pull, "ready");
    await driver.until(merged(driver));
    expect(driver.effectsOf("github-comment").every(({ parked }) => !parked)).toBe(true);
  });
});

describe("secrets", () => {
  it("the token is in nothing that the manager returns, logs or writes", async () => {
    const token = "ghp_SECRETSECRETSECRETSECRETSECRETSECRET";
    github.grant(token, "shepherd");
    const repository = await github.seeds.repository();
    const pull = await github.seeds.pull(repository);
    await github.seeds.check(repository, pull.headSha);
    const driver = drive(pull, { report: "comment" }, token);
    for (const act of [acts.badGateway, { kind: "reset" as const }, { kind: "garble" as const }]) {
      github.fault({ method: "PUT", path: /merge$/, act });
    }
    github.fault({ method: "GET", path: /pulls/, times: 6, act: acts.forbidden });
    await driver.until(merged(driver), 60);
    expect(driver.everything).not.toContain("SECRET");
    expect(JSON.stringify([github.requests, github.writes])).not.toContain("SECRET");
    expect(driver.effects.length).toBeGreaterThan(0);
  });
});
