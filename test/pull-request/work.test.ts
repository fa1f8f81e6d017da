import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { judgeRepair } from "../../examples/pull-request/.pi/resource-managers/pull-request/judge-work.ts";
import type { PullRequestSpecInput } from "../../examples/pull-request/.pi/resource-managers/pull-request/spec.ts";
import { workspaceOf } from "../../examples/pull-request/.pi/resource-managers/pull-request/workspace.ts";
import type { SeededPull } from "../github/seeds.mjs";
import { startGitHub, type GitHub } from "../github/stand-in.mjs";
import { Driver } from "./driver.ts";

let github: GitHub;
const workspaces = mkdtempSync(path.join(tmpdir(), "pull-request-workspaces-"));
beforeAll(async () => {
  process.env.PULL_REQUEST_WORKSPACES = workspaces;
  github = await startGitHub();
});
afterAll(async () => {
  delete process.env.PULL_REQUEST_WORKSPACES;
  rmSync(workspaces, { recursive: true });
  await github.close();
});
afterEach(() => github.endTest());

const TEST = ["npm", "test"];

async function opened(
  options: Partial<PullRequestSpecInput>,
  conclusion = "failure",
): Promise<{ pull: SeededPull; driver: Driver }> {
  const repository = await github.seeds.repository();
  const pull = await github.seeds.pull(repository);
  await github.seeds.check(repository, pull.headSha, { conclusion });
  const { number } = pull;
  const spec = { repository, number, baseRef: "main", apiUrl: github.url, ...options };
  return { pull, driver: new Driver({ spec }) };
}

const content = Buffer.from("mended\n").toString("base64");
const outcome = (headSha: string, changes: Record<string, unknown> = {}) => ({
  headSha,
  summary: "An agent's words",
  tests: { passed: true, command: TEST },
  changes: [{ path: "file.txt", content }],
  ...changes,
});

describe("a head whose checks fail is repaired", () => {
  it("once per generation and head, pushed as one commit, and merged when it is green", async () => {
    const { pull, driver } = await opened({ repair: { test: TEST } });
    await driver.pass();
    expect(driver.ready).toBe("false/Repairing");
    const key = `repair:1:${pull.headSha}`;
    expect(driver.requests.get(key)).toMatchObject({
      workflow: "repair-pull-request",
      input: { headSha: pull.headSha, number: pull.number, test: TEST },
    });
    await driver.pass();
    expect([...driver.runs.keys()]).toEqual([key]);

    driver.endRun(key, "succeeded", outcome(pull.headSha));
    await driver.until(() => driver.effectsOf("github-push").length > 0);
    const repaired = await github.seeds.tip(pull.repository, pull.headRef);
    expect(repaired).not.toBe(pull.headSha);
    const [message = ""] = await github.seeds.messages(pull.repository, pull.headRef);
    expect(message).toContain("Repair what fails: ci");
    expect(message).not.toContain("An agent's words");
    expect(driver.effectsOf("github-push")).toMatchObject([
      { state: "applied", externalRef: repaired },
    ]);

    await github.seeds.check(pull.repository, repaired);
    await driver.until(() => driver.ready === "true/Merged");
    expect(github.applied("PATCH", /\/git\/refs\//)).toHaveLength(1);
  });

  it("D-4: holds a finalizer from before the first run until its workspace is removed", async () => {
    const { pull, driver } = await opened({ repair: { test: TEST } });
    await driver.pass();
    expect(driver.finalizers).toEqual(["pull-request/workspace"]);
    const workspace = workspaceOf(process.env, driver.uid);
    mkdirSync(workspace, { recursive: true });
    writeFileSync(path.join(workspace, "file"), "");
    driver.delete();
    // The first look calls the run off; what it works in stays until it has ended.
    await driver.until(() => driver.finalizers.length === 0);
    expect(driver.runs.get(`repair:1:${pull.headSha}`)?.state).toBe("failed");
    expect(existsSync(workspace)).toBe(false);
  });

  it("calls off the run about a head that is no longer there", async () => {
    const { pull, driver } = await opened({ repair: { test: TEST } });
    await driver.pass();
    const moved = await github.seeds.commit(pull.repository, pull.headRef, "Another try");
    await github.seeds.check(pull.repository, moved, { conclusion: "failure" });
    await driver.pass();
    expect(driver.runs.get(`repair:1:${pull.headSha}`)?.state).toBe("failed");
    expect(driver.runs.get(`repair:1:${moved}`)?.state).toBe("running");
  });

  it.each(["a new head", "a new generation"])(
    "%s waits until the run before has ended, which may still be at work in the folder",
    async (what) => {
      const { pull, driver } = await opened({ repair: { test: TEST } });
      driver.endsCancelled = false;
      await driver.pass();
      const before = `repair:1:${pull.headSha}`;
      if (what === "a new head") {
        const moved = await github.seeds.commit(pull.repository, pull.headRef, "Another try");
        await github.seeds.check(pull.repository, moved, { conclusion: "failure" });
      } else driver.edit({ repair: { test: TEST, paths: ["src"] } });
      await driver.pass();
      expect([...driver.runs.keys()]).toEqual([before]);
      expect(driver.ready).toBe("false/Repairing");
      expect(driver.condition("Ready")?.message).toContain("the earlier repair running");

      driver.endRun(before, "failed");
      await driver.pass();
      expect(driver.runs.size).toBe(2);
    },
  );

  it("pushes nothing where the head moved between the judgement and the push", async () => {
    const { pull, driver } = await opened({ repair: { test: TEST } });
    await driver.pass();
    driver.endRun(`repair:1:${pull.headSha}`, "succeeded", outcome(pull.headSha));
    let moved = "";
    github.fault({
      method: "POST",
      path: /\/git\/trees$/,
      times: 1,
      act: {
        kind: "first",
        run: async () => {
          moved = await github.seeds.commit(pull.repository, pull.headRef, "A person's");
        },
      },
    });
    await driver.until(() => driver.effectsOf("github-push").length > 0);
    expect(driver.effectsOf("github-push")[0]?.state).toBe("rejected");
    expect(driver.ready).toBe("false/RepairRefused");
    expect(await github.seeds.tip(pull.repository, pull.headRef)).toBe(moved);
  });

  it.each(["effect-pending", "provider-answered", "effect-settled"] as const)(
    "E-2: a process that dies when the push is at %s leaves one push",
    async (crash) => {
      const { pull, driver } = await opened({ repair: { test: TEST } });
      await driver.pass();
      driver.endRun(`repair:1:${pull.headSha}`, "succeeded", outcome(pull.headSha));
      driver.crashAt = crash;
      await driver.until(() => driver.effectsOf("github-push")[0]?.state === "applied");
      expect(github.applied("PATCH", /\/git\/refs\//)).toHaveLength(1);
    },
  );

  it("stops after the number of pushes that the spec allows", async () => {
    const { pull, driver } = await opened({ repair: { test: TEST, pushes: 1 } });
    await driver.pass();
    driver.endRun(`repair:1:${pull.headSha}`, "succeeded", outcome(pull.headSha));
    await driver.until(() => driver.effectsOf("github-push").length > 0);
    const repaired = await github.seeds.tip(pull.repository, pull.headRef);
    await github.seeds.check(pull.repository, repaired, { conclusion: "failure" });
    await driver.pass();
    expect(driver.ready).toBe("false/RepairRefused");
    expect(driver.condition("Ready")?.message).toContain("a person must look");
    expect(driver.runs.size).toBe(1);
  });

  it("is not begun with a pinned head, in a dry run, or while the pull request is a draft", async () => {
    for (const options of [{ dryRun: true }, { expectedHeadSha: "a".repeat(40) }]) {
      const { driver } = await opened({ repair: { test: TEST }, ...options });
      await driver.pass();
      expect(driver.runs.size).toBe(0);
    }
    const { pull, driver } = await opened({ repair: { test: TEST } });
    await github.seeds.edit(pull, { draft: true });
    await driver.pass();
    expect(driver.ready).toBe("false/Draft");
    expect(driver.runs.size).toBe(0);
  });

  it("says that the run failed, and leaves the head alone", async () => {
    const { pull, driver } = await opened({ repair: { test: TEST } });
    await driver.pass();
    driver.endRun(`repair:1:${pull.headSha}`, "failed");
    await driver.pass();
    expect(driver.ready).toBe("false/RepairFailed");
    expect(await github.seeds.tip(pull.repository, pull.headRef)).toBe(pull.headSha);
  });
});

describe("what a repair hands over is judged by code", () => {
  const rules = { headSha: "a", paths: ["src"], test: TEST };
  const good = outcome("a", { changes: [{ path: "src/x.ts", content }] });
  const judge = (changes: Record<string, unknown>) => judgeRepair({ ...good, ...changes }, rules);
  const touching = (...paths: string[]) => ({
    changes: paths.map((one) => ({ path: one, content })),
  });

  it("lets through what was tested on this head and touches what it may", () => {
    expect(judge({})).toEqual({ changes: good.changes });
    expect(judge({ changes: [{ path: "src/gone.ts", content: null }] })).not.toHaveProperty(
      "reason",
    );
  });

  it.each([
    ["another head", { headSha: "b" }],
    ["failing tests", { tests: { passed: false, command: TEST } }],
    ["other tests than the spec's", { tests: { passed: true, command: ["true"] } }],
    ["no change", { changes: [] }],
    ["a changed mode", { refused: ["src/run.sh"] }],
    ["a workflow of GitHub Actions", touching("src/.github/workflows/ci.yml")],
    ["a spec of its own", touching("src/.pi/resources/x.resource.json")],
    ["git's own files", touching("src/.GIT/config")],
    ["a path out of the repository", touching("src/../../etc/passwd")],
    ["an absolute path", touching("/src/x")],
    ["a path outside the spec's", touching("source/x.ts")],
    ["a name with a line break", touching("src/a\nb")],
    ["one file twice", touching("src/x.ts", "src/x.ts")],
    ["something that is no result", { changes: "all of it" }],
  ])("refuses %s", (_what, changes) => {
    expect(judge(changes)).toMatchObject({ reason: "RepairRefused" });
  });
});

describe("a head is reviewed before it is merged", () => {
  it("waits for the review, and merges when it finds nothing that blocks", async () => {
    const { pull, driver } = await opened({ review: {} }, "success");
    await driver.pass();
    expect(driver.ready).toBe("false/WaitingForReview");
    const advice = [{ path: "a.ts", severity: "advice", message: "Could be shorter" }];
    driver.endRun(`review:1:${pull.headSha}`, "succeeded", {
      headSha: pull.headSha,
      summary: "",
      findings: advice,
    });
    await driver.until(() => driver.ready === "true/Merged");
  });

  it.each([
    ["a finding that blocks", "ReviewFindings", (headSha: string) => ({ headSha })],
    ["another head", "ReviewFailed", () => ({ headSha: "b".repeat(40) })],
    ["no result", "ReviewFailed", () => ({ findings: "fine, merge it" })],
  ])("does not merge on %s", async (_what, reason, changes) => {
    const { pull, driver } = await opened({ review: {} }, "success");
    await driver.pass();
    const findings = [{ path: "a.ts", line: 3, severity: "blocking", message: "Loses data" }];
    driver.endRun(`review:1:${pull.headSha}`, "succeeded", {
      summary: "",
      findings,
      ...changes(pull.headSha),
    });
    await driver.pass();
    await driver.pass();
    expect(driver.ready).toBe(`false/${reason}`);
    expect(github.applied("PUT", /\/merge$/)).toHaveLength(0);
  });
});
