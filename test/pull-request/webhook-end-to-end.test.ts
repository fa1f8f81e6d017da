import { randomUUID } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Webhooks } from "@octokit/webhooks";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace } from "../cli/command-line.ts";
import { startGitHub, type GitHub } from "../github/stand-in.mjs";

const ROOT = path.resolve(import.meta.dirname, "../..");
const TOKEN = "ghp_SECRETSECRETSECRETSECRETSECRETSECRET";
const SECRET = "webhook-secret-0123456789abcdef";
const definitions = ".pi/resource-managers";

buildCommandLine();
const workspace = makeWorkspace();
let github: GitHub;

beforeAll(async () => {
  github = await startGitHub();
  github.grant(TOKEN, "shepherd");
  mkdirSync(workspace.home, { mode: 0o700 });
  writeFileSync(path.join(workspace.home, "config.json"), `{ "webhooks": { "port": 0 } }`);
  cpSync(
    path.join(ROOT, "examples/pull-request", definitions),
    path.join(workspace.project, definitions),
    { recursive: true },
  );
  symlinkSync(path.join(ROOT, "node_modules"), path.join(workspace.project, "node_modules"));
});
afterAll(() => github.close());

/** Sends what GitHub sends when a check ended. */
async function deliver(port: number, repository: string, secret = SECRET): Promise<number> {
  const payload = {
    repository: { id: 1, full_name: repository },
    check_run: { pull_requests: [] },
  };
  const body = JSON.stringify(payload);
  const response = await fetch(`http://127.0.0.1:${port}/webhooks/github`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-github-event": "check_run",
      "x-github-delivery": randomUUID(),
      "x-hub-signature-256": await new Webhooks({ secret }).sign(body),
    },
    body,
  });
  return response.status;
}

it("GitHub's word that a check passed merges at once what would have waited, and names the cause", async () => {
  const env = { GITHUB_TOKEN: TOKEN, GITHUB_API_URL: github.url, GITHUB_WEBHOOK_SECRET: SECRET };
  const settle = { PULL_REQUEST_SETTLE_MS: "500", PULL_REQUEST_WRITE_SPACING_MS: "0" };
  const repository = await github.seeds.repository();
  const pull = await github.seeds.pull(repository);
  const key = `${repository}#${pull.number}`;
  const checks = { names: [{ name: "test" }] };
  const spec = {
    repository,
    number: pull.number,
    baseRef: "main",
    apiUrl: github.url,
    require: { checks },
  };
  workspace.write(
    "pull.resource.json",
    JSON.stringify({ resourceManager: "pull-request", key, spec }),
  );
  await workspace.ok(["apply", "-f", "pull.resource.json"], { env: { ...env, ...settle } });
  await expect
    .poll(() => workspace.ok(["why", "pull-request", key]), { timeout: 30_000 })
    .toContain("WaitingForChecks");
  const { webhookPort } = await workspace.json<{ webhookPort: number }>(["server", "status"]);

  await github.seeds.check(repository, pull.headSha, { name: "test" });
  expect(await deliver(webhookPort, repository, "another")).toBe(401);
  expect(await deliver(webhookPort, repository)).toBe(200);
  await workspace.ok(["wait", "pull-request", key, "--for", "condition=Ready", "--timeout", "30s"]);

  expect(github.merges).toHaveLength(1);
  expect(await workspace.ok(["why", "pull-request", key])).toContain("because of a webhook github");
  const files = readdirSync(workspace.home, { recursive: true, withFileTypes: true });
  for (const file of files.filter((entry) => entry.isFile())) {
    const text = readFileSync(path.join(file.parentPath, file.name), "latin1");
    expect(text.includes(SECRET), `${file.name} holds the secret`).toBe(false);
  }
});
