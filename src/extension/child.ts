import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { PiWorkflowsError, type ErrorJson } from "../model/errors.ts";
import { installationUrl } from "../model/installation.ts";

/** What the command line said. */
export type Said = { code: number; stdout: string; stderr: string };

export type ChildOptions = {
  node: string;
  /** Where it runs: the session's folder. */
  cwd: string;
  /** Its end is the child's. */
  signal: AbortSignal;
  /** Given on standard input. */
  input?: string;
};

// Loading specs may take LIMITS.resolveMs, and an apply waits for the server beside.
const PATIENCE_MS = 180_000;
const MOST_OUTPUT = 32 * 1024 * 1024;
const GRACE_MS = 2_000;

/**
 * Runs this package's own command line in a process of its own, so that no definition or spec file
 * is ever evaluated in Pi, and everything it does is done in one way only.
 * @throws PiWorkflowsError where it can't be run, or says nothing in time
 */
export function runCommandLine(args: readonly string[], options: ChildOptions): Promise<Said> {
  const { node, cwd, signal, input = "" } = options;
  const main = fileURLToPath(installationUrl("dist/cli/main.js"));
  const { FORCE_COLOR: _colour, ...inherited } = process.env;
  const env = { ...inherited, NO_COLOR: "1" };
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(ended("it was called off"));
    const child = spawn(node, [main, ...args], { cwd, env, stdio: "pipe" });
    let why: string | undefined;
    child.on("error", (error) => (why ??= error.message));
    // Where the process has too many files open, not even pipes can be made, and `close` never comes.
    if ((child.stdout as unknown) === undefined) {
      child.once("error", (error) => reject(ended(error.message)));
      return;
    }
    const stop = (reason: string): void => {
      why ??= reason;
      endChild(child);
    };
    const timer = setTimeout(
      () => stop(`it took longer than ${PATIENCE_MS / 1_000} s`),
      PATIENCE_MS,
    );
    const onAbort = (): void => stop("it was called off");
    signal.addEventListener("abort", onAbort);
    const said = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].setEncoding("utf8").on("data", (text: string) => {
        said[stream] += text;
        if (said[stream].length > MOST_OUTPUT) stop("it said too much");
      });
    }
    child.stdin.on("error", () => undefined).end(input);
    child.on("close", (code) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      if (why === undefined && code !== null) resolve({ code, ...said });
      else reject(ended(why ?? "it was killed"));
    });
  });
}

/** Asks it to end, and makes it. */
function endChild(child: ChildProcess): void {
  child.kill("SIGTERM");
  setTimeout(() => child.kill("SIGKILL"), GRACE_MS).unref();
}

function ended(reason: string): PiWorkflowsError {
  return new PiWorkflowsError(
    "INTERNAL",
    `The command line of pi-workflows did not end: ${reason}`,
  );
}

/**
 * The one JSON document that it printed with `-o json`.
 * @throws PiWorkflowsError as the command line printed it, whole
 */
export function documentOf({ code, stdout, stderr }: Said): unknown {
  let document: unknown;
  try {
    document = JSON.parse(stdout);
  } catch (cause) {
    const said = (stderr || stdout).trim().split("\n").slice(-5).join("\n");
    throw new PiWorkflowsError("INTERNAL", `The command line ended with ${code}: ${said}`, {
      cause,
    });
  }
  const { error } = document as { error?: ErrorJson };
  if (error && Object.keys(document as object).length === 1) throw PiWorkflowsError.fromJSON(error);
  return document;
}

/**
 * The text that it printed for people.
 * @throws PiWorkflowsError with what it said on stderr
 */
export function textOf({ code, stdout, stderr }: Said): string {
  if (code <= 1) return stdout.trim() === "" ? stderr.trim() : stdout.trimEnd();
  const [, codeName, message = stderr] = /error\[(\w+)\]: ([\s\S]*)/.exec(stderr) ?? [];
  const [what = "", hint = ""] = message.trim().split(/\nhint: /);
  throw PiWorkflowsError.fromJSON({
    code: (codeName ?? "INTERNAL") as ErrorJson["code"],
    message: what,
    hint,
  });
}
