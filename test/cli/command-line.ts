import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect } from "vitest";
import { ensureBuilt } from "../support/dist.ts";

const MAIN = path.resolve(import.meta.dirname, "../../dist/cli/main.js");

/** Builds the command line and all that it starts. */
export function buildCommandLine(): void {
  ensureBuilt(
    "src/cli/main.ts",
    "src/server/main.ts",
    "src/runner/child.ts",
    "src/runner/resolver-child.ts",
    "src/resource-managers/index.ts",
    "src/workflows/index.ts",
  );
}

/** What one run came to. */
export type Outcome = { code: number | null; stdout: string; stderr: string };

export type RunOptions = {
  input?: string;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Called with each piece of stdout, to act while it runs. */
  onOutput?: (text: string, child: ChildProcess) => void;
  /** The same of stderr. */
  onTalk?: (text: string, child: ChildProcess) => void;
};

/** A project folder with a state folder and a home of its own. */
export type Workspace = {
  project: string;
  home: string;
  run: (args: string[], options?: RunOptions) => Promise<Outcome>;
  /** Runs, and fails the test where the exit code is another. Returns stdout. */
  ok: (args: string[], options?: RunOptions & { code?: number }) => Promise<string>;
  /** The one JSON document on stdout. */
  json: <T = never>(args: string[], options?: RunOptions & { code?: number }) => Promise<T>;
  write: (file: string, content: string) => void;
  read: (file: string) => string;
};

/**
 * Makes a workspace. When the tests of the file are over its server is stopped, and the test fails
 * where it is not gone.
 */
export function makeWorkspace(): Workspace {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), "pw-cli-")));
  const project = path.join(root, "project");
  const home = path.join(root, "state");
  mkdirSync(project);
  const workspace = workspaceAt(root, project, home);
  afterAll(async () => {
    await stopServer(workspace);
    rmSync(root, { recursive: true, force: true });
  });
  return workspace;
}

function workspaceAt(root: string, project: string, home: string): Workspace {
  const run = (args: string[], options: RunOptions = {}): Promise<Outcome> =>
    start(args, { cwd: project, ...options, env: environment(root, home, options.env) });
  const ok: Workspace["ok"] = async (args, options = {}) => {
    const outcome = await run(args, options);
    expect(outcome, `pi-workflows ${args.join(" ")}\n${outcome.stderr}`).toMatchObject({
      code: options.code ?? 0,
    });
    return outcome.stdout;
  };
  return {
    project,
    home,
    run,
    ok,
    json: async (args, options) => JSON.parse(await ok([...args, "-o", "json"], options)) as never,
    write(file, content) {
      const target = path.join(project, file);
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, content);
    },
    read: (file) => readFileSync(path.join(project, file), "utf8"),
  };
}

function environment(root: string, home: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { NODE_EXTRA_CA_CERTS: _certificates, FORCE_COLOR: _colour, ...inherited } = process.env;
  return {
    ...inherited,
    HOME: root,
    PI_WORKFLOWS_HOME: home,
    GIT_CONFIG_GLOBAL: "/dev/null",
    ...more,
  };
}

function start(
  args: string[],
  { input, cwd, env, onOutput, onTalk }: RunOptions,
): Promise<Outcome> {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, env, stdio: "pipe" });
  const outcome: Outcome = { code: null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    outcome.stdout += text;
    onOutput?.(outcome.stdout, child);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    outcome.stderr += text;
    onTalk?.(outcome.stderr, child);
  });
  child.stdin.on("error", () => undefined).end(input ?? "");
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ ...outcome, code }));
  });
}

async function stopServer(workspace: Workspace): Promise<void> {
  expect(await workspace.run(["server", "stop"])).toMatchObject({ code: 0 });
  expect((await workspace.run(["server", "status"])).code).toBe(5);
}

/** A manager that is ready at once and remembers how often it was looked at. */
export const COUNTER = `
import { conditionTrue, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
export default defineResourceManager({
  name: "counter",
  spec: z.strictObject({
    value: z.number(),
    secret: z.string().meta({ secret: true }).optional(),
  }),
  initialStatus: () => ({ passes: 0 }),
  reconcile: (ctx, resource) => ctx.settled({
    resourceManagerStatus: { passes: resource.status.resourceManagerStatus.passes + 1 },
    conditions: [conditionTrue("Ready", "Counted", "value is " + resource.spec.value)],
  }),
});
`;

/** Writes \`COUNTER\` and one spec file for each key. */
export function writeCounters(
  workspace: Workspace,
  keys: readonly string[],
  folder = "specs",
): void {
  workspace.write(".pi/resource-managers/counter.resource-manager.ts", COUNTER);
  for (const key of keys) writeCounter(workspace, key, 1, folder);
}

export function writeCounter(
  workspace: Workspace,
  key: string,
  value: number,
  folder = "specs",
): void {
  workspace.write(
    `${folder}/${key}.resource.json`,
    JSON.stringify({ resourceManager: "counter", key, spec: { value } }, null, 2),
  );
}
