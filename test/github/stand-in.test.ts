import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { acts } from "./faults.mjs";
import { startGitHub, type GitHub } from "./stand-in.mjs";

let github: GitHub;
beforeAll(async () => {
  github = await startGitHub();
});
afterAll(() => github.close());
afterEach(() => github.endTest());

type Called = { status: number; body: Record<string, unknown>; headers: Headers };

async function call(
  method: string,
  path: string,
  options: { body?: unknown; token?: string; headers?: Record<string, string> } = {},
): Promise<Called> {
  const response = await fetch(`${github.url}${path}`, {
    method,
    redirect: "manual",
    headers: { authorization: `Bearer ${options.token ?? "loopback"}`, ...options.headers },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  const text = await response.text();
  const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
  return { status: response.status, body, headers: response.headers };
}

async function opened() {
  const repository = await github.seeds.repository();
  const pull = await github.seeds.pull(repository);
  const path = `/repos/${repository}`;
  return { repository, pull, path, merge: `${path}/pulls/${pull.number}/merge` };
}

describe("the GitHub stand-in answers as GitHub does", () => {
  it("a merge at another head is refused with 409, of a draft and of a closed one with 405", async () => {
    const { pull, merge } = await opened();
    expect((await call("PUT", merge, { body: { sha: "0".repeat(40) } })).status).toBe(409);
    await github.seeds.edit(pull, { draft: true });
    expect((await call("PUT", merge, { body: { sha: pull.headSha } })).status).toBe(405);
    await github.seeds.edit(pull, { draft: false, state: "closed" });
    expect((await call("PUT", merge, { body: { sha: pull.headSha } })).status).toBe(405);
    expect(github.merges).toEqual([]);
  });

  it("a merge is applied once, and is refused the second time", async () => {
    const { pull, merge } = await opened();
    expect((await call("GET", merge)).status).toBe(404);
    const body = { sha: pull.headSha, merge_method: "squash", commit_title: "T" };
    expect((await call("PUT", merge, { body })).status).toBe(200);
    expect((await call("PUT", merge, { body })).status).toBe(405);
    expect((await call("GET", merge)).status).toBe(204);
    expect(github.merges).toHaveLength(1);
    expect(await github.seeds.messages(pull.repository)).toEqual(["T", "Initial commit"]);
  });

  it("a pull request follows its branch, and what is merged is its present head", async () => {
    const { repository, pull, path, merge } = await opened();
    const head = await github.seeds.commit(repository, pull.headRef, "One more");
    await github.seeds.commit(repository, "main", "The base moves");
    expect((await call("PUT", merge, { body: { sha: pull.headSha } })).status).toBe(409);
    const merged = await call("PUT", merge, { body: { sha: head, merge_method: "merge" } });
    const shown = (await call("GET", `${path}/pulls/${pull.number}`)).body;
    expect(shown).toMatchObject({ merged: true, merge_commit_sha: merged.body.sha });
    expect(shown.head).toMatchObject({ sha: head });
    expect((await call("GET", `${path}/compare/main...${head}`)).body.ahead_by).toBe(0);
    expect(await github.seeds.messages(repository)).toContain("The base moves");
  });

  it("an updated branch holds the present base; another expected head is refused with 422", async () => {
    const { repository, pull, path } = await opened();
    const base = await github.seeds.commit(repository, "main", "The base moves");
    const update = `${path}/pulls/${pull.number}/update-branch`;
    const wrong = { expected_head_sha: "0".repeat(40) };
    expect((await call("PUT", update, { body: wrong })).status).toBe(422);
    const right = { expected_head_sha: pull.headSha };
    expect((await call("PUT", update, { body: right })).status).toBe(202);
    expect((await call("GET", `${path}/compare/${pull.headRef}...${base}`)).body.ahead_by).toBe(0);
  });

  it("statuses, combined status and check runs come in pages with their total", async () => {
    const { repository, pull, path } = await opened();
    await github.seeds.status(repository, pull.headSha, "lint", "pending");
    await github.seeds.status(repository, pull.headSha, "lint", "success");
    const combined = (await call("GET", `${path}/commits/${pull.headSha}/status`)).body;
    expect(combined).toMatchObject({ state: "success", total_count: 1 });
    for (let index = 0; index < 3; index += 1) {
      await github.seeds.check(repository, pull.headSha, { name: `ci-${index}` });
    }
    const runs = await call("GET", `${path}/commits/${pull.headSha}/check-runs?per_page=2`);
    expect(runs.body.total_count).toBe(3);
    expect(runs.body.check_runs).toHaveLength(2);
    expect(runs.headers.get("link")).toContain(`${github.url}${path}`);
  });

  it("bad tokens, strangers, renamed repositories and references that are gone", async () => {
    const { repository, pull, path, merge } = await opened();
    const body = { sha: pull.headSha };
    expect((await call("PUT", merge, { body, token: "unknown" })).status).toBe(401);
    expect((await call("PUT", merge, { body, token: "token-of-stranger" })).status).toBe(403);
    expect((await call("DELETE", `${path}/git/refs/heads/none`)).status).toBe(422);
    const permission = await call("GET", `${path}/collaborators/alice/permission`);
    expect(permission.body.permission).toBe("write");
    await github.seeds.rename(repository, `renamed-${pull.number}`);
    expect((await call("GET", `${path}/pulls/${pull.number}`)).status).toBe(301);
    expect((await call("PUT", merge, { body })).status).toBe(307);
    expect(github.merges).toEqual([]);
  });

  it("an unchanged answer is 304 for its ETag", async () => {
    const { path } = await opened();
    const etag = (await call("GET", path)).headers.get("etag") ?? "";
    expect((await call("GET", path, { headers: { "if-none-match": etag } })).status).toBe(304);
  });
});

describe("the GitHub stand-in fails as told", () => {
  it("applied-then-502 and applied-then-reset have merged; 502 and reset have not", async () => {
    for (const [kind, merges] of [
      ["apply-502", 1],
      ["apply-reset", 1],
      ["reset", 0],
    ] as const) {
      const { pull, merge } = await opened();
      github.forget();
      github.fault({ method: "PUT", path: /\/merge$/, act: { kind } });
      const outcome = await call("PUT", merge, { body: { sha: pull.headSha } }).catch(() => "cut");
      expect(outcome).toEqual(
        kind === "apply-502" ? expect.objectContaining({ status: 502 }) : "cut",
      );
      expect(github.merges).toHaveLength(merges);
    }
  });

  it("a cut body keeps its status line, a garbled one is half JSON", async () => {
    const { path } = await opened();
    github.fault({ path: /widgets/, act: { kind: "truncate" } });
    await expect(call("GET", path)).rejects.toThrow(/terminated|other side closed/);
    github.fault({ path: /widgets/, act: { kind: "garble" } });
    await expect(call("GET", path)).rejects.toThrow(SyntaxError);
  });

  it("rules skip and count, and limits say how long to wait", async () => {
    const { path } = await opened();
    const rule = github.fault({ path: /widgets/, skip: 1, times: 1, act: acts.secondaryLimit(7) });
    expect((await call("GET", path)).status).toBe(200);
    const limited = await call("GET", path);
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([403, "7"]);
    expect((await call("GET", path)).status).toBe(200);
    expect(rule.hits).toBe(3);
  });

  it("a hang answers nothing, after GitHub has done it", async () => {
    const { pull, merge } = await opened();
    const rule = github.fault({
      method: "PUT",
      path: /\/merge$/,
      act: { kind: "hang", after: true },
    });
    const abort = new AbortController();
    const hanging = fetch(`${github.url}${merge}`, {
      method: "PUT",
      headers: { authorization: "Bearer loopback" },
      body: JSON.stringify({ sha: pull.headSha }),
      signal: abort.signal,
    });
    await rule.hit;
    await expect.poll(() => github.merges.length).toBe(1);
    abort.abort();
    await expect(hanging).rejects.toThrow(/abort/);
  });

  it("an answer that GitHub does not describe is a violation", async () => {
    const { path } = await opened();
    await call("GET", `${path}/nonsense`);
    expect(github.violations).toEqual([expect.stringContaining("not in GitHub's description")]);
    github.violations = [];
  });

  it("keeps no token", async () => {
    const { path } = await opened();
    await call("GET", path);
    expect(JSON.stringify(github.requests)).not.toContain('loopback"');
    expect(github.requests[0]?.headers.authorization).toBe("***");
  });
});
