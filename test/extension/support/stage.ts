import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { buildCommandLine } from "../../cli/command-line.ts";
import type { InstalledPi } from "../../pi/support/installed.ts";
import { createPiMachine, type Lifetime, type PiMachine } from "../../pi/support/machine.ts";
import { startPi, type Person, type PiRecord, type PiRpc } from "../../pi/support/rpc.ts";
import { ensureBuilt } from "../../support/dist.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const MAIN = path.join(ROOT, "dist/cli/main.js");
/** The one file that Pi loads. */
export const EXTENSION = path.join(ROOT, "dist/extension/index.js");

/** Builds the extension and all that it starts. */
export function buildExtension(): void {
  buildCommandLine();
  ensureBuilt("src/extension/index.ts");
}

export type StageOptions = {
  pi: InstalledPi;
  modelUrl?: string;
  settings?: Record<string, unknown>;
};
export type OpenOptions = { person?: Person; args?: string[]; keepSession?: boolean };

/** What a command line came to. */
export type Outcome = { code: number | null; stdout: string; stderr: string };

/** A person's machine with a project, our extension, and a server of its own. */
export type Stage = {
  machine: PiMachine;
  pi: InstalledPi;
  env: Record<string, string>;
  /** Starts Pi in RPC mode with the extension. */
  open(options?: OpenOptions): Promise<PiRpc>;
  /** Runs Pi to its end, in print mode for instance. */
  runPi(...args: string[]): Promise<Outcome>;
  /** Runs the command line of pi-workflows beside Pi. */
  cli(...args: string[]): Promise<Outcome>;
  write(file: string, content: string): void;
  read(file: string): string;
};

/** Sets the stage; when the test ends, its server is stopped and everything is removed. */
export function setStage(test: Lifetime, options: StageOptions): Stage {
  const { pi } = options;
  const machine = createPiMachine(test, options);
  // Pi's own Node may not be the one that SQLite was compiled for; another one is on PATH.
  const PATH = [machine.env["PATH"], path.dirname(process.execPath)].join(path.delimiter);
  const env = { ...machine.env, PATH };
  const cwd = machine.project;
  const stage: Stage = {
    machine,
    pi,
    env,
    open: ({ args = [], ...how } = {}) =>
      startPi(test, { pi, machine, env, args: [...QUIET, "-e", EXTENSION, ...args], ...how }),
    runPi: (...args) => run(pi.node, [pi.cli, ...QUIET, "-e", EXTENSION, ...args], { cwd, env }),
    cli: (...args) => run(process.execPath, [MAIN, ...args], { cwd, env }),
    write(file, content) {
      const target = path.join(cwd, file);
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, content);
    },
    read: (file) => readFileSync(path.join(cwd, file), "utf8"),
  };
  test.onTestFinished(async () => {
    expect(await stage.cli("server", "stop")).toMatchObject({ code: 0 });
  });
  return stage;
}

/** Nothing of Pi's own but what is asked for. */
const QUIET = ["-ne", "-ns", "-np", "--no-themes", "-nc"];

function run(
  program: string,
  args: readonly string[],
  how: { cwd: string; env: Record<string, string> },
): Promise<Outcome> {
  const child = spawn(program, args, { ...how, stdio: ["ignore", "pipe", "pipe"] });
  const outcome: Outcome = { code: null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (outcome.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (outcome.stderr += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ ...outcome, code }));
  });
}

/** What the extension said in some records, one text for each notification. */
export function said(records: readonly PiRecord[]): string[] {
  return records.filter(({ method }) => method === "notify").map(({ message }) => String(message));
}

/** The dialogs of some records. */
export function dialogs(records: readonly PiRecord[]): PiRecord[] {
  const methods: unknown[] = ["confirm", "select", "input", "editor"];
  return records.filter(({ method }) => methods.includes(method));
}

/** Types a slash command and gives all that was said to it. */
export async function type(session: PiRpc, line: string): Promise<string> {
  return said(await session.prompt(line)).join("\n");
}

/** Awaits a status line, come or to come. */
export function status(session: PiRpc, text: string | RegExp, from = 0): Promise<PiRecord> {
  return session.until(
    ({ method, statusText }) =>
      method === "setStatus" &&
      (text instanceof RegExp ? text.test(String(statusText)) : statusText === text),
    from,
  );
}
