import { cpSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace } from "../cli/command-line.ts";
import type { Act } from "../github/faults.mjs";
import { startGitHub, type GitHub } from "../github/stand-in.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
const TOKEN = "ghp_SECRETSECRETSECRETSECRETSECRETSECRET";
const MERGE = { method: "PUT", path: /\/merge$/ };

buildCommandLine();
const workspace = makeWorkspace();
let github: GitHub;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  github = await startGitHub();
  github.grant(TOKEN, "shepherd");
  env = {
    GITHUB_TOKEN: TOKEN,
    GITHUB_API_URL: github.url,
    PULL_REQUEST_POLL_MS: "100",
    PULL_REQUEST_SETTLE_MS: "500",
    PULL_REQUEST_WRITE_SPACING_MS: "0",
  };
  const definitions = ".pi/resource-managers";
  cpSync(
    path.join(ROOT, "examples/pull-request", definitions),
    path.join(workspace.project, definitions),
    { recursive: true },
  );
  symlinkSync(path.join(ROOT, "node_modules"), path.join(workspace.project, "node_modules"));
});
afterAll(() => github.close());
afterEach(() => github.endTest());

async function applied() {
  const repository = await github.seeds.repository();
  const pull = await github.seeds.pull(repository);
  const key = `${repository}#${pull.number}`;
  const spec = { repository, number: pull.number, baseRef: "main", apiUrl: github.url };
  const file = `${path.basename(repository)}.resource.json`;
  workspace.write(file, JSON.stringify({ resourceManager: "pull-request", key, spec }));
  await workspace.ok(["apply", "-f", file], { env });
  return { repository, pull, key };
}

const isMerged = (key: string) => ["wait", "pull-request", key, "--for", "condition=Ready"];

type Effects = { effects: { key: string; kind: string; state: string; attempts: number }[] };
type Status = { pid?: number; server?: { pid: number } };

async function killServer() {
  const status = await workspace.json<Status>(["server", "status"]);
  const pid = status.pid ?? status.server?.pid;
  if (pid === undefined) throw new Error(`no pid in ${JSON.stringify(status)}`);
  process.kill(pid, "SIGKILL");
  await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("through the real server, runners and command line", () => {
  it("a spec becomes a merged pull request, and no secret is left anywhere", async () => {
    const { repository, pull, key } = await applied();
    await github.seeds.check(repository, pull.headSha);
    await workspace.ok([...isMerged(key), "--timeout", "60s"], { env });
    expect(github.merges).toHaveLength(1);
    const shown = await workspace.ok(["describe", "pull-request", key]);
    expect(shown).toContain("was merged into main");
    const files = readdirSync(workspace.home, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile())) {
      const text = readFileSync(path.join(file.parentPath, file.name), "latin1");
      expect(text.includes(TOKEN), `${file.name} holds the token`).toBe(false);
    }
  });

  it.each<[string, Act, number]>([
    ["before GitHub has done it", { kind: "hang", after: false }, 2],
    ["after GitHub has done it", { kind: "hang", after: true }, 1],
  ])(
    "E-6: kill -9 of the server in mid-merge, %s, ends in one merge",
    async (_name, act, calls) => {
      const { repository, pull, key } = await applied();
      const rule = github.fault({ ...MERGE, act });
      await github.seeds.check(repository, pull.headSha);
      await rule.hit;
      await expect.poll(() => github.merges.length, { timeout: 10_000 }).toBe(calls === 1 ? 1 : 0);
      await killServer();
      await workspace.ok(["reconcile", "pull-request", key], { env });
      await workspace.ok([...isMerged(key), "--timeout", "60s"], { env });
      expect(github.merges).toHaveLength(1);
      const { effects } = await workspace.json<Effects>(["effects", "pull-request", key]);
      expect(effects).toMatchObject([{ kind: "github-merge", state: "applied", attempts: calls }]);
    },
  );
});
