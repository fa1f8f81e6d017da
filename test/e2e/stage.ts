import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { vi } from "vitest";
import type { StoredEffect } from "../../src/model/effect.ts";
import type { ManagedResource, StoredResource } from "../../src/model/resource.ts";
import { connect } from "../../src/server/client.ts";
import type { Client } from "../../src/server/protocol.ts";
import { ensureBuilt } from "../support/dist.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const CLI = path.join(ROOT, "dist/cli/main.js");
const SERVER = path.join(ROOT, "dist/server/main.js");
const CRASH_SERVER = path.join(ROOT, "test/support/crash-server.mjs");

// Each of these tests starts several programs; where the machine is busy they take their time.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/** Builds everything that a person would have installed. */
export function buildAll(): void {
  ensureBuilt(
    "src/cli/main.ts",
    "src/server/main.ts",
    "src/server/index.ts",
    "src/runner/child.ts",
    "src/runner/resolver-child.ts",
    "src/runner/pi/submit-result.ts",
    "src/resource-managers/index.ts",
    "src/workflows/index.ts",
  );
}

export type Outcome = { code: number | null; stdout: string; stderr: string };

/** A server process of a stage. */
export type ServerHandle = {
  pid: number;
  /** Resolves with the signal or the code that it ended by. */
  ended: Promise<string | number | null>;
  /** What it wrote to standard error. */
  output: () => string;
};

/** When a crash server kills, and whom: see test/support/crash-server.mjs. */
export type CrashPlan = { victim: "server" | "runner"; points: string[] };

/** What a stage lasts as long as: a test, or all tests of a file. */
export type Lifetime = { onTestFinished: (clean: () => Promise<void>) => void };

/**
 * A person's machine for one test: a project that is a git repository, a home and a state folder of
 * its own. When the test ends its servers are killed, nothing that they started may be left, and the
 * folders are removed.
 */
export class Stage {
  readonly root = realpathSync(mkdtempSync(path.join(tmpdir(), "pw-e2e-")));
  readonly project = path.join(this.root, "project");
  readonly home = path.join(this.root, "state");
  readonly env: NodeJS.ProcessEnv;
  readonly #servers: ServerHandle[] = [];

  constructor(test: Lifetime, env: NodeJS.ProcessEnv = {}) {
    const { NODE_EXTRA_CA_CERTS: _certificates, FORCE_COLOR: _colour, ...inherited } = process.env;
    this.env = {
      ...inherited,
      HOME: path.join(this.root, "home"),
      PI_WORKFLOWS_HOME: this.home,
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      ...env,
    };
    for (const folder of [this.project, path.join(this.root, "home")]) mkdirSync(folder);
    this.git("init", "--quiet", "--initial-branch=main");
    test.onTestFinished(() => this.#close());
  }

  git(...args: string[]): string {
    const identity = ["-c", "user.name=You", "-c", "user.email=you@example.com"];
    const at = { cwd: this.project, env: this.env, encoding: "utf8" } as const;
    return execFileSync("git", [...identity, ...args], at);
  }

  commit(message: string): void {
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message", message);
  }

  /** Copies an example's definitions, with the packages that they need, as its README says. */
  useExample(name: string): void {
    const folder = ".pi/resource-managers";
    cpSync(path.join(ROOT, "examples", name, folder), path.join(this.project, folder), {
      recursive: true,
    });
    symlinkSync(path.join(ROOT, "node_modules"), path.join(this.project, "node_modules"));
    this.write(".gitignore", "node_modules\n");
  }

  write(file: string, content: string | object): void {
    const target = path.join(this.project, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, typeof content === "string" ? content : JSON.stringify(content, null, 2));
  }

  read(file: string): string {
    return readFileSync(path.join(this.project, file), "utf8");
  }

  /** Runs a command of pi-workflows in the project. */
  run(args: string[], input = ""): Promise<Outcome> {
    const child = spawn(process.execPath, [CLI, ...args], { cwd: this.project, env: this.env });
    const outcome: Outcome = { code: null, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (outcome.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (outcome.stderr += text));
    child.stdin.on("error", () => undefined).end(input);
    return new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code) => resolve({ ...outcome, code }));
    });
  }

  /** Runs a command that must end with `code`; what it wrote to standard output. */
  async ok(args: string[], code = 0): Promise<string> {
    const outcome = await this.run(args);
    if (outcome.code === code) return outcome.stdout;
    throw new Error(
      `pi-workflows ${args.join(" ")} ended with ${outcome.code}, not ${code}\n${outcome.stdout}${outcome.stderr}`,
    );
  }

  async json<T>(args: string[], code = 0): Promise<T> {
    return JSON.parse(await this.ok([...args, "-o", "json"], code)) as T;
  }

  /** Starts a server; with a plan, one that kills by it. */
  async startServer(crash?: CrashPlan): Promise<ServerHandle> {
    const program = crash ? [CRASH_SERVER, crash.victim, ...crash.points] : [SERVER];
    const child = spawn(process.execPath, program, {
      cwd: this.root,
      env: this.env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const handle = handleOf(child);
    this.#servers.push(handle);
    let isOver = false;
    void handle.ended.then(() => (isOver = true));
    await eventually(async () => {
      if (isOver) throw new GaveUp(`the server ended: ${handle.output()}`);
      await (await connect({ home: this.home })).close();
    });
    return handle;
  }

  /** A resource as the running server knows it. */
  resource(manager: string, key: string): Promise<ManagedResource> {
    return this.#ask(async (client) => {
      const ref = { project: this.project, resourceManager: manager, key };
      return ((await client.get(ref)) as StoredResource).resource;
    });
  }

  /** Effects of one resource, in the order of their latest moves. */
  async effects(manager: string, key: string): Promise<StoredEffect[]> {
    const { metadata } = await this.resource(manager, key);
    return this.#ask((client) => client.effects({ uid: metadata.uid }));
  }

  /** Resolves when the resource's `Ready` has this reason, computed from its present generation. */
  async untilReady(manager: string, key: string, reason: string): Promise<void> {
    await eventually(async () => {
      const { metadata, status } = await this.resource(manager, key);
      const ready = status.conditions.find(({ type }) => type === "Ready");
      const isCurrent = ready?.observedGeneration === metadata.generation;
      if (isCurrent && ready.reason === reason) return;
      throw new Error(`${key} did not become ${reason}: it is ${JSON.stringify(ready)}`);
    });
  }

  async #ask<T>(question: (client: Client) => Promise<T>): Promise<T> {
    const client = await connect({ home: this.home });
    try {
      return await question(client);
    } finally {
      await client.close();
    }
  }

  /** Reads the database as it lies on the disk, from a copy, so that nothing of it is touched. */
  inspect<T>(look: (database: Database.Database) => T): T {
    const copy = mkdtempSync(path.join(this.root, "copy-"));
    for (const file of ["state.sqlite", "state.sqlite-wal"]) {
      const from = path.join(this.home, file);
      if (existsSync(from)) cpSync(from, path.join(copy, file));
    }
    const database = new Database(path.join(copy, "state.sqlite"));
    try {
      return look(database);
    } finally {
      database.close();
    }
  }

  /** Drains every server and proves that none of their processes is left. */
  async stopServers(): Promise<void> {
    for (const { pid, ended } of this.#servers) {
      signal(pid, "SIGTERM");
      await ended;
    }
    await this.#nothingRuns();
  }

  /** Resolves when no process is left whose arguments name this stage, as its runners' do. */
  async #nothingRuns(): Promise<void> {
    await eventually(() => {
      const all = execFileSync("ps", ["-A", "-ww", "-o", "pid=,args="], { encoding: "utf8" });
      const left = all.split("\n").filter((line) => line.includes(this.root));
      if (left.length > 0) throw new Error(`still running:\n${left.join("\n")}`);
    });
  }

  async #close(): Promise<void> {
    for (const { pid, ended } of this.#servers) {
      signal(pid, "SIGKILL");
      await ended;
    }
    // Servers that the command line started.
    await this.run(["server", "stop"]);
    await this.#nothingRuns();
    rmSync(this.root, { recursive: true, force: true });
  }
}

function handleOf(child: ChildProcess): ServerHandle {
  let output = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = new Promise<string | number | null>((resolve) => {
    child.on("exit", (code, signal) => resolve(signal ?? code));
  });
  return { pid: child.pid as number, ended, output: () => output };
}

/** Sends a signal; nothing happens where the process is gone. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

class GaveUp extends Error {}

/** Repeats `attempt` until it does not throw, for at most two minutes. */
export async function eventually<T>(attempt: () => Promise<T> | T): Promise<T> {
  const deadline = performance.now() + 120_000;
  for (;;) {
    try {
      return await attempt();
    } catch (thrown) {
      if (thrown instanceof GaveUp || performance.now() > deadline) throw thrown;
    }
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
}
