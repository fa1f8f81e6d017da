import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { onTestFinished } from "vitest";
import { apply } from "../../src/apply/apply.ts";
import { makePlan } from "../../src/apply/make-plan.ts";
import type { ApplyReceipt } from "../../src/model/plan.ts";
import { resolve, type Resolution } from "../../src/runner/resolver.ts";
import { connect } from "../../src/server/client.ts";
import type { Client } from "../../src/server/protocol.ts";
import { ensureBuilt } from "../support/dist.ts";
import { tempFolder } from "./temp.ts";

/** The server's entry, built. */
export const MAIN = path.resolve(import.meta.dirname, "../../dist/server/main.js");

/** Builds what a real server and its runners are made of. */
export function buildServer(): void {
  ensureBuilt(
    "src/server/main.ts",
    "src/runner/child.ts",
    "src/runner/resolver-child.ts",
    "src/resource-managers/index.ts",
  );
}

export type ServerProcess = {
  home: string;
  child: ChildProcess;
  client: Client;
  /** Sends a signal and resolves with how the process ended. */
  end: (signal: NodeJS.Signals) => Promise<{ code: number | null; signal: string | null }>;
};

/** A real server process, which is gone when the test ends. */
export async function startServerProcess(
  home: string = path.join(tempFolder(), "home"),
  args: string[] = [],
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, PI_WORKFLOWS_HOME: home },
  });
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise<{ code: number | null; signal: string | null }>((done) => {
    child.on("exit", (code, signal) => done({ code, signal }));
  });
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return exited;
  };
  onTestFinished(async () => void (await end("SIGKILL")));
  const client = await eventually(
    () => connect({ home }),
    () => {
      if (child.exitCode !== null) throw new Error(`the server ended: ${output}`);
    },
  );
  onTestFinished(() => client.close());
  return { home, child, client, end };
}

/** A slow machine takes its time; what hangs is told before the test's own limit. Milliseconds. */
const EVENTUALLY_MS = 45_000;

/** Repeats `attempt` until it does not throw, or for too long. */
export async function eventually<T>(
  attempt: () => Promise<T> | T,
  between: () => void = () => undefined,
): Promise<T> {
  const deadline = performance.now() + EVENTUALLY_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (thrown) {
      if (performance.now() > deadline) throw thrown;
    }
    between();
    await new Promise((done) => void setTimeout(done, 10));
  }
}

/** Resolves when `check` is true. */
export function untilTrue(check: () => Promise<boolean> | boolean): Promise<void> {
  return eventually(async () => {
    if (!(await check())) throw new Error("it did not become true in time");
  });
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A project with definitions (`name` → body of `reconcile`), which is gone when the test ends. */
export function makeProject(reconcilers: Record<string, string>): string {
  const project = tempFolder("pw-project");
  const folder = path.join(project, ".pi/resource-managers");
  mkdirSync(folder, { recursive: true });
  for (const [name, body] of Object.entries(reconcilers)) writeDefinition(project, name, body);
  return project;
}

export function writeDefinition(project: string, name: string, body: string, more = ""): string {
  const file = path.join(project, `.pi/resource-managers/${name}.resource-manager.mjs`);
  writeFileSync(
    file,
    `export default {
       [Symbol.for("pi-workflows.ResourceManager")]: true,
       name: ${JSON.stringify(name)},
       initialStatus: () => ({}),
       ${more}
       async reconcile(ctx, resource) { ${body} },
     };\n`,
  );
  return file;
}

/** Loads a project's definitions and specs as the command line does. */
export function load(project: string, specs: Record<string, object> = {}): Promise<Resolution> {
  const folder = path.join(project, ".pi/resources");
  mkdirSync(folder, { recursive: true });
  const files = Object.entries(specs).map(([name, manifest]) => {
    const file = path.join(folder, `${name}.resource.json`);
    writeFileSync(file, JSON.stringify(manifest));
    return file;
  });
  return resolve({ project, files, managers: "all" });
}

/** Loads and applies specs (`key` → spec) of one manager. */
export async function applySpecs(
  client: Client,
  project: string,
  manager: string,
  specs: Record<string, unknown>,
): Promise<ApplyReceipt> {
  const manifests = Object.entries(specs).map(
    ([key, spec]) => [key, { resourceManager: manager, key, spec }] as const,
  );
  const resolution = await load(project, Object.fromEntries(manifests));
  const owner = { kind: "apply", name: "test" } as const;
  const plan = await makePlan(client, resolution, { project, owner });
  return apply(plan, client, resolution.managers);
}
