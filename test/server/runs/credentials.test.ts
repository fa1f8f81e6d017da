import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { splitEnvironment } from "../../../src/server/runs/credentials.ts";
import { applySpecs, startServerProcess, untilTrue } from "../server-process.ts";
import { tempFolder } from "../temp.ts";
import {
  acceptAll,
  buildRuns,
  inState,
  makeBoard,
  runProject,
  start,
  writeWorkflow,
} from "./real-runs.ts";

beforeAll(buildRuns);

it("what only models need goes to agents alone; what is named in pi.env too", () => {
  const env = {
    PATH: "/bin",
    GITHUB_TOKEN: "g",
    // The server's own, for its spans: nobody else's.
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=x",
    ANTHROPIC_API_KEY: "a",
    OPENAI_API_KEY: "o",
    MY_PROXY_KEY: "m",
  };
  expect(splitEnvironment(env, ["MY_PROXY_KEY", "ABSENT"])).toEqual({
    runners: { PATH: "/bin", GITHUB_TOKEN: "g" },
    credentials: { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o", MY_PROXY_KEY: "m" },
  });
  expect(splitEnvironment(env).runners).toHaveProperty("MY_PROXY_KEY", "m");
});

/** A program in Pi's place that says what it was given, and answers nothing. */
function standInPi(folder: string): string {
  const file = path.join(folder, "stand-in-pi");
  const script = `#!/bin/sh
case "$*" in
  *--version*) echo 1.6.0 ;;
  *--help*) echo --no-mcp ;;
  *) env > ${folder}/pi.env ; echo "$*" > ${folder}/pi.arguments ;;
esac
`;
  writeFileSync(file, script);
  chmodSync(file, 0o755);
  return file;
}

it("no runner and no command sees a model's credentials; Pi sees them, and not those of runners", async () => {
  const secrets = { ANTHROPIC_API_KEY: "secret-of-model", MY_PROXY_KEY: "secret-of-proxy" };
  for (const [name, value] of Object.entries(secrets)) vi.stubEnv(name, value);
  vi.stubEnv("GITHUB_TOKEN", "secret-of-github");
  onTestFinished(() => void vi.unstubAllEnvs());
  const board = makeBoard();
  const home = path.join(tempFolder(), "home");
  mkdirSync(home, { mode: 0o700 });
  const command = [standInPi(board.folder)];
  const pi = { command, env: ["MY_PROXY_KEY"], model: "some/model" };
  writeFileSync(path.join(home, "config.json"), JSON.stringify({ pi }));
  const dump = `(await import("node:fs")).writeFileSync`;
  const project = runProject({
    look: `${dump}(resource.spec.folder + "/manager.env", JSON.stringify(process.env)); return ctx.settled();`,
  });
  writeWorkflow(project, "look", {
    body: `
      const act = action({ input, safety: "idempotent", run: async (ctx) => {
        ${dump}(ctx.input.folder + "/action.env", JSON.stringify(process.env)); } });
      const command = shell({ input, safety: "idempotent", shell: ({ input }) => "env > " + input.folder + "/shell.env" });
      const think = agent({ prompt: "?", output: z.string() });`,
    definition: `output: z.string(), startAt: "act", nodes: { act, command, think },
      edges: { act: "command", command: "think", think: { next: end("done"), failure: end("done") } },
      exits: { done: () => "done" }`,
  });
  const { client } = await startServerProcess(home);
  await acceptAll(client, project);
  await applySpecs(client, project, "look", { a: { folder: board.folder } });
  const { runId } = await start(client, project, "look", { folder: board.folder });
  await inState(client, runId, "succeeded");
  await untilTrue(async () => (await client.queue({ project })).length === 0);
  const seen = (name: string): string => readFileSync(path.join(board.folder, name), "utf8");
  for (const name of ["manager.env", "action.env", "shell.env"]) {
    expect(seen(name)).toContain("secret-of-github");
    for (const secret of Object.values(secrets)) expect(seen(name)).not.toContain(secret);
  }
  for (const secret of Object.values(secrets)) expect(seen("pi.env")).toContain(secret);
  expect(seen("pi.env")).not.toContain("secret-of-github");
  expect(seen("pi.arguments")).toContain("--model some/model");
});
