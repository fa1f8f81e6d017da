import { execFile } from "node:child_process";
import { accessSync, constants, mkdtempSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { AgentFault } from "../../model/agent.ts";
import type { PiAgentOptions } from "./agents.ts";
import { candidates, piEnvironment } from "./environment.ts";

/** A Pi that can be started. */
export type PiInstallation = {
  /** Program and first arguments. */
  command: string[];
  version: string;
  /** What `--help` of it names, e.g. `--no-mcp`. */
  flags: ReadonlySet<string>;
  /** Whether it tells the end of all that follows a prompt by `agent_settled` (since 0.80.4). */
  saysSettled: boolean;
};

/** Why there is no usable Pi. */
export class PiUnusable extends Error {
  readonly reason: Extract<AgentFault, "PiMissing" | "PiTooOld" | "NodeTooOld">;
  constructor(reason: PiUnusable["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

type Version = readonly [number, number, number];
const OLDEST: Version = [0, 73, 0];
const SAYS_SETTLED: Version = [0, 80, 4];

const CONFIGURE = "install it with `npm install -g @earendil-works/pi-coding-agent`";

/** By these an old Node tells that it can't load a newer Pi: modules and exports that it lacks. */
const OLD_NODE =
  /does not provide an export named|ERR_UNKNOWN_BUILTIN_MODULE|No such built-in module|Invalid regular expression flags|SyntaxError: Unexpected/;

/** Finds Pi; what a program answered before is known by its path and time of change. */
export type PiFinder = {
  /** Rejects with PiUnusable, which says what to do. */
  find(): Promise<PiInstallation>;
  /** Ends programs that are being asked. */
  stop(): void;
};

/** Finds Pi and asks it for its version and its flags, once per program and change of it. */
export function createPiFinder({ command = ["pi"], env }: PiAgentOptions): PiFinder {
  const known = new Map<string, Promise<PiInstallation>>();
  const stopping = new AbortController();
  const find = (): Promise<PiInstallation> => {
    const [program, ...args] = command as [string, ...string[]];
    const file = findProgram(program, env.PATH);
    if (!file) return Promise.reject(missing(program));
    // The program may be a link to a new version's file.
    const real = realpathSync(file);
    const key = `${real} ${statSync(real).mtimeMs} ${args.join(" ")}`;
    let asked = known.get(key);
    if (!asked) {
      asked = examine([file, ...args], env, stopping.signal);
      known.clear();
      known.set(key, asked);
      // A Node or a file that was mended does not show in the program's time.
      asked.catch(() => known.delete(key));
    }
    return asked;
  };
  return { find, stop: () => stopping.abort() };
}

function findProgram(program: string, PATH: string | undefined): string | undefined {
  return candidates(program, PATH).find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false;
    }
  });
}

function missing(program: string): PiUnusable {
  const where = program.includes("/")
    ? `${program} is not a program that can be run`
    : `${program} is not on the PATH of the server`;
  return new PiUnusable("PiMissing", `Pi was not found: ${where}; ${CONFIGURE}`);
}

async function examine(
  command: string[],
  env: PiAgentOptions["env"],
  signal: AbortSignal,
): Promise<PiInstallation> {
  // Where its folder is empty, Pi fills it even when it is only asked for help: not the user's.
  const scratch = mkdtempSync(path.join(tmpdir(), "pi-workflows-pi-"));
  try {
    const how = { env: { ...piEnvironment(env), PI_CODING_AGENT_DIR: scratch }, signal };
    const [version, help] = await Promise.all(
      ["--version", "--help"].map((question) => output([...command, question], how)),
    );
    const found = versionOf(command, version as string);
    const flags = new Set((help as string).match(/--[a-z][a-z-]+/g));
    return {
      command,
      version: found.join("."),
      flags,
      saysSettled: !isBefore(found, SAYS_SETTLED),
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
}

const PATIENCE_MS = 20_000;

/** What a program says to both of its outputs, however it ends. */
function output(
  [program, ...args]: string[],
  how: { env: Record<string, string>; signal: AbortSignal },
): Promise<string> {
  const bounds = { timeout: PATIENCE_MS, killSignal: "SIGKILL", maxBuffer: 1 << 20 } as const;
  return new Promise((resolve) => {
    execFile(program as string, args, { ...how, ...bounds }, (error, stdout, stderr) => {
      const spawned = error === null || typeof error.code === "number";
      resolve(`${stdout}${stderr}${spawned ? "" : error.message}`);
    });
  });
}

function versionOf(command: string[], text: string): Version {
  const name = command.join(" ");
  const match = /^(\d+)\.(\d+)\.(\d+)/m.exec(text);
  if (!match) {
    const tooOld = nodeTooOld(text);
    if (tooOld) throw tooOld;
    const said = text.trim().slice(0, 500) || "nothing";
    throw new PiUnusable(
      "PiMissing",
      `${name} is not Pi: to --version it said ${said}; ${CONFIGURE}, or name it in config.json`,
    );
  }
  const version = match.slice(1, 4).map(Number) as unknown as Version;
  if (isBefore(version, OLDEST)) {
    throw new PiUnusable(
      "PiTooOld",
      `${name} is Pi ${version.join(".")}, and agents need ${OLDEST.join(".")} or newer; update it with \`pi update pi\``,
    );
  }
  return version;
}

/** What an error of Pi says about its Node; undefined where it is about something else. */
export function nodeTooOld(text: string): PiUnusable | undefined {
  if (!OLD_NODE.test(text)) return undefined;
  return new PiUnusable(
    "NodeTooOld",
    "Pi needs Node >= 22.19, and the `node` that runs it is older; put a newer one first on the PATH of the server, and start the server again",
  );
}

function isBefore(one: Version, other: Version): boolean {
  const at = one.findIndex((part, index) => part !== other[index]);
  return at !== -1 && (one[at] as number) < (other[at] as number);
}
