import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { testWorkflow, type AgentScript } from "@osolmaz/pi-workflows/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SeededPull } from "../github/seeds.mjs";
import { startGitHub, type GitHub } from "../github/stand-in.mjs";
import { judgeRepair } from "../../examples/pull-request/.pi/resource-managers/pull-request/judge-work.ts";
import repairPullRequest from "../../examples/pull-request/.pi/workflows/repair-pull-request.workflow.ts";
import reviewPullRequest from "../../examples/pull-request/.pi/workflows/review-pull-request.workflow.ts";

const folder = mkdtempSync(path.join(tmpdir(), "pull-request-work-"));
const remote = path.join(folder, "remote.git");
const TEST = ["node", "check.mjs"];
const CHECK = `import { readFileSync } from "node:fs";
if (process.env.GITHUB_TOKEN) throw new Error("the tests see a token");
if (readFileSync("answer.txt", "utf8") !== "42\\n") { console.error("not 42"); process.exit(1); }
`;

let github: GitHub;
let pull: SeededPull;
let headSha: string;
beforeAll(async () => {
  process.env.GITHUB_TOKEN = "secret-of-the-server";
  github = await startGitHub();
  const repository = await github.seeds.repository();
  await github.seeds.file(repository, "main", "check.mjs", CHECK);
  await github.seeds.file(repository, "main", "answer.txt", "42\n");
  pull = await github.seeds.pull(repository);
  headSha = await github.seeds.file(repository, pull.headRef, "answer.txt", "41\n");
  await github.seeds.mirror(repository, remote);
});
afterAll(async () => {
  delete process.env.GITHUB_TOKEN;
  rmSync(folder, { recursive: true, force: true });
  await github.close();
});

let count = 0;
function inputOf(changes: Record<string, unknown> = {}) {
  const { repository, number, baseRef } = pull;
  const workspace = path.join(folder, `workspace-${(count += 1)}`);
  const apiUrl = github.url;
  return { repository, number, baseRef, headSha, apiUrl, remote, workspace, extra: {}, ...changes };
}
const repairOf = (agents: AgentScript, changes: Record<string, unknown> = {}) =>
  testWorkflow(repairPullRequest, {
    input: inputOf({ test: TEST, ...changes }),
    agents,
  });

describe("repair-pull-request", () => {
  it("hands over the files that an agent mended, with the tests green on exactly those", async () => {
    const run = repairOf(({ cwd, prompt }) => {
      expect(prompt).toContain("not 42");
      writeFileSync(path.join(cwd, "answer.txt"), "42\n");
      writeFileSync(path.join(cwd, "notes.md"), "what I did\n");
      return { summary: "41 + 1" };
    });
    expect(await run.run()).toMatchObject({ state: "succeeded", exit: "done" });
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    expect(run.output).toEqual({
      headSha,
      summary: "41 + 1",
      tests: { passed: true, command: TEST },
      changes: [
        { path: "answer.txt", content: base64("42\n") },
        { path: "notes.md", content: base64("what I did\n") },
      ],
      refused: [],
    });
    expect(judgeRepair(run.output, { headSha, paths: [], test: TEST })).toHaveProperty("changes");
  });

  it("gives up after three tries, and leaves no worktree", async () => {
    const input = inputOf({ test: TEST });
    const agents = () => ({ summary: "I did nothing" });
    const run = testWorkflow(repairPullRequest, { input: input, agents });
    await run.run();
    expect(run.questions).toHaveLength(3);
    expect(run.output).toMatchObject({ tests: { passed: false }, changes: [] });
    expect(judgeRepair(run.output, { headSha, paths: [], test: TEST })).toHaveProperty("reason");
    expect(existsSync(path.join(input.workspace, `repair-${headSha.slice(0, 12)}`))).toBe(false);
  });

  it("tests each try on the head and the changes alone, without what earlier tests left", async () => {
    // Ignored, and a repository of its own: `git clean` leaves both unless it is told.
    const leave = "mkdir -p left && git -C left init -q; echo left/ > .git/info/exclude";
    const command = `ls; test -e left && exit 0; ${leave} 2>/dev/null; mkdir left/x; exit 1`;
    const run = repairOf(() => ({ summary: "" }), { test: ["sh", "-c", command] });
    await run.run();
    expect(run.output).toMatchObject({ tests: { passed: false } });
    expect(run.questions).toHaveLength(3);
  });

  it("leaves no worktree when it is cancelled", async () => {
    const input = inputOf({ test: TEST });
    const home = path.join(input.workspace, `repair-${headSha.slice(0, 12)}`);
    const run = testWorkflow(repairPullRequest, { input, agents: () => ({ summary: "" }) });
    while (!existsSync(home)) await run.step();
    await run.step();
    run.cancel();
    expect(await run.run()).toMatchObject({ state: "failed", reason: "Cancelled" });
    expect(existsSync(home)).toBe(false);
  });

  it("an agent gets no shell, and what it changes outside of files is refused", async () => {
    const run = repairOf(({ cwd, tools }) => {
      expect(tools).not.toContain("bash");
      writeFileSync(path.join(cwd, "answer.txt"), "42\n");
      execFileSync("chmod", ["+x", path.join(cwd, "check.mjs")]);
      return { summary: "" };
    });
    await run.run();
    expect(run.output).toMatchObject({ refused: ["check.mjs"] });
  });

  it("runs nothing that an agent has laid out as git's own files", async () => {
    const ran = path.join(folder, "ran");
    const run = repairOf(({ cwd }) => {
      const laid = path.join(cwd, "laid");
      execFileSync("git", ["init", "--quiet", "--bare", laid]);
      const filter = `[core]\n\tbare = false\n[filter "x"]\n\tclean = touch ${ran}\n`;
      writeFileSync(path.join(laid, "config"), filter);
      writeFileSync(path.join(cwd, ".gitattributes"), "* filter=x\n");
      writeFileSync(path.join(cwd, ".git"), "gitdir: laid\n");
      writeFileSync(path.join(cwd, "answer.txt"), "42\n");
      return { summary: "" };
    });
    const ending = await run.run();
    expect(existsSync(ran)).toBe(false);
    expect(ending).toMatchObject({ state: "succeeded" });
    expect(run.output).toMatchObject({
      changes: expect.arrayContaining([expect.objectContaining({ path: "answer.txt" })]),
    });
  });

  it("does not begin on another head than the one asked for", async () => {
    const run = repairOf(() => ({ summary: "" }), { headSha: "a".repeat(40) });
    expect(await run.run()).toMatchObject({ state: "failed", node: "checkout" });
    expect(run.questions).toEqual([]);
  });

  it("a link in the head is a file in the worktree: nothing is written through it", async () => {
    const outside = path.join(folder, "outside.txt");
    writeFileSync(outside, "untouched\n");
    const clone = path.join(folder, "clone");
    const git = (...words: string[]) =>
      execFileSync("git", ["-C", clone, "-c", "user.name=m", "-c", "user.email=m@m", ...words]);
    execFileSync("git", ["clone", "--quiet", "--branch", pull.headRef, remote, clone]);
    execFileSync("ln", ["-s", outside, path.join(clone, "link")]);
    git("add", "link");
    git("commit", "--quiet", "-m", "A link");
    git("push", "--quiet", "origin", `HEAD:refs/pull/99/head`);
    const sha = String(git("rev-parse", "HEAD")).trim();
    const run = repairOf(
      ({ cwd }) => {
        writeFileSync(path.join(cwd, "link"), "overwritten\n");
        return { summary: "" };
      },
      { headSha: sha, number: 99 },
    );
    await run.run();
    expect(readFileSync(outside, "utf8")).toBe("untouched\n");
    expect(run.output).toMatchObject({ refused: ["link"] });
  });
});

describe("review-pull-request", () => {
  it("shows the change to the agent, and lets only findings about it block", async () => {
    const findings = [
      { path: "answer.txt", severity: "blocking" as const, message: "41 is not the answer" },
      { path: "check.mjs", severity: "blocking" as const, message: "I do not like it" },
    ];
    const run = testWorkflow(reviewPullRequest, {
      input: inputOf(),
      agents: ({ prompt, tools, cwd }) => {
        expect(prompt).toContain("+41");
        expect(tools).toEqual(["read", "grep", "find", "ls"]);
        expect(readFileSync(path.join(cwd, "answer.txt"), "utf8")).toBe("41\n");
        return { summary: "No", findings };
      },
    });
    expect(await run.run()).toMatchObject({ state: "succeeded", exit: "reviewed" });
    expect(run.output).toMatchObject({
      headSha,
      findings: [findings[0], { ...findings[1], severity: "advice" }],
    });
  });

  it("a runner that dies anywhere leaves the same review", async () => {
    const agents: AgentScript = () => ({ summary: "Fine", findings: [] });
    const whole = testWorkflow(reviewPullRequest, { input: inputOf(), agents });
    await whole.run();
    for (const lines of [1, 3, 5, 7]) {
      const run = testWorkflow(reviewPullRequest, { input: inputOf(), agents });
      await run.crashAfter(lines);
      await run.run();
      expect(run.output).toEqual(whole.output);
    }
  });
});
