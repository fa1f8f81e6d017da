import { spawn, type ChildProcess } from "node:child_process";
import { statSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import { LIMITS } from "../../model/limits.ts";
import { COMMAND_MARK, endCommand } from "../command-marks.ts";
import { holdLifeline } from "../lifeline.ts";
import { createOutputCapture, type OutputCapture } from "../output.ts";
import { groupEnded, signalGroup } from "../process-group.ts";
import { AttemptFailed } from "./failures.ts";

/** A command to run. */
export type Command = {
  argv: readonly string[];
  /** Absolute. */
  cwd: string;
  /** Added to this process's own. */
  env: Readonly<Record<string, string>>;
  /** Ends it: first SIGTERM, after LIMITS.killGraceMs SIGKILL, of all that it started. */
  signal: AbortSignal;
  /** Gets what it prints as it comes; the last line of a stream always has its end. */
  onOutput: (stream: "stdout" | "stderr", text: string) => void;
};

/** How a command ended. Of long output the head and the tail are kept. */
export type CommandEnd = {
  exitCode: number | null;
  killedBy: string | null;
  stdout: string;
  stderr: string;
  isCut: boolean;
};

/** After a command has ended: for its group to be gone, and for the rest of its output. */
const LAST_OUTPUT_MS = 1_000;
let commands = 0;

/**
 * Runs a command as the leader of a process group of its own, without input. When it resolves,
 * nothing that the command started runs any more: not what it left in the background, and not what
 * left its group. The same holds when this process dies, whatever kills it.
 * @throws AttemptFailed where it can't be started.
 */
export async function runCommand(command: Command): Promise<CommandEnd> {
  const { argv, cwd, signal } = command;
  checkFolder(cwd);
  signal.throwIfAborted();
  commands += 1;
  const mark = `${process.pid}.${commands}`;
  const child = start(command, mark);
  const [stdout, stderr] = [
    createOutputCapture(LIMITS.shellOutput),
    createOutputCapture(LIMITS.shellOutput),
  ];
  listen(child, command, { stdout, stderr });
  const exited = exitOf(child, argv[0] ?? "");
  if (child.pid === undefined) throw await exited.catch((thrown: unknown) => thrown);
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const release = holdLifeline(child.pid);
  const ladder = endWith(child.pid, signal);
  try {
    const { exitCode, killedBy } = await exited;
    await endRest(child, mark, closed);
    const isCut = stdout.dropped() + stderr.dropped() > 0;
    return { exitCode, killedBy, stdout: stdout.text(), stderr: stderr.text(), isCut };
  } finally {
    ladder();
    release();
  }
}

function start({ argv, cwd, env }: Command, mark: string): ChildProcess {
  const [program = "", ...args] = argv;
  return spawn(program, args, {
    cwd,
    env: { ...process.env, ...env, [COMMAND_MARK]: mark },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function checkFolder(cwd: string): void {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new AttemptFailed("CommandNotStarted", `there is no folder ${cwd} to run the command in`);
}

type Captures = { stdout: OutputCapture; stderr: OutputCapture };

function listen(child: ChildProcess, { onOutput }: Command, captures: Captures): void {
  for (const name of ["stdout", "stderr"] as const) {
    const decoder = new StringDecoder("utf8");
    let isOpen = false;
    const say = (text: string): void => {
      if (text === "") return;
      isOpen = !text.endsWith("\n");
      onOutput(name, text);
    };
    child[name]?.on("data", (chunk: Buffer) => {
      captures[name].push(chunk);
      say(decoder.write(chunk));
    });
    child[name]?.on("close", () => {
      say(decoder.end());
      // Else readers would wait for the rest of the line, and nobody could tell that there is none.
      if (isOpen) say("\n");
    });
  }
}

function exitOf(
  child: ChildProcess,
  program: string,
): Promise<{ exitCode: number | null; killedBy: string | null }> {
  return new Promise((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "ENOENT" ? "there is no such program on PATH" : error.message;
      reject(new AttemptFailed("CommandNotStarted", `${program} could not be started: ${why}`));
    });
    child.once("exit", (exitCode, killedBy) => resolve({ exitCode, killedBy }));
  });
}

/** Ends a group when `signal` says so; returns what calls that off. */
function endWith(pid: number, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    signalGroup(pid, "SIGTERM");
    timer = setTimeout(() => signalGroup(pid, "SIGKILL"), LIMITS.killGraceMs);
  };
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  return () => {
    signal.removeEventListener("abort", end);
    clearTimeout(timer);
  };
}

/** The command has ended: ends what it left behind, and reads what that still said. */
async function endRest(child: ChildProcess, mark: string, closed: Promise<void>): Promise<void> {
  const pid = child.pid as number;
  signalGroup(pid, "SIGKILL");
  await groupEnded(pid, LAST_OUTPUT_MS);
  await endCommand(mark);
  const late = new AbortController();
  await Promise.race([
    closed,
    sleep(LAST_OUTPUT_MS, undefined, { signal: late.signal }).catch(() => {}),
  ]);
  late.abort();
  child.stdout?.destroy();
  child.stderr?.destroy();
}
