import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Readable, Writable } from "node:stream";
import { plainEnvironment } from "../model/environment.ts";
import { installationUrl } from "../model/installation.ts";
import type { Desired } from "../model/manifest.ts";
import { type RawOutput, readMarks } from "./resolver-marks.ts";
import { encodeFrame } from "./frames.ts";
import { REPORTS_FD, type ResolverReport, type ResolverRequest } from "./resolver-protocol.ts";
import { NOT_OURS, readReports } from "./resolver-reports.ts";

/** Limits of one try, as LIMITS has them; tests use smaller ones. */
export type ResolverLimits = {
  resolveMs: number;
  evaluateMs: number;
  resolverHeapMiB: number;
  resolverOutput: number;
};

/** How a child ended. `file` is what it was evaluating, if anything. */
export type ResolverEnd =
  | { kind: "done" }
  | { kind: "failed"; message: string }
  | { kind: "aborted" }
  | { kind: "overall-limit"; file: string | undefined }
  | {
      kind: "fault";
      file: string | undefined;
      message: string;
      /** Nothing that it reported can be relied on. */
      spoilt?: true;
    };

export type ResolverRun = {
  request: ResolverRequest;
  /** A child that was started ahead for this; it has done nothing yet. */
  child?: ChildProcess | undefined;
  limits: ResolverLimits;
  /** By `performance.now()`, which nobody sets, when this try must end. */
  deadline: number;
  signal: AbortSignal | undefined;
  onDesired: (items: Desired[]) => void;
  onReport: (report: ResolverReport) => void;
};

/** A margin over the child's own limit, which ends an endless await more gently. */
const MARGIN_MS = 500;

/** Runs one resolver child to its end. When this resolves, nothing of it is running any more. */
export async function runResolver(run: ResolverRun): Promise<ResolverEnd> {
  const child = run.child ?? startResolver(run.request.project, run.limits);
  let end: ResolverEnd | undefined;
  let file: string | undefined;
  /** The last one that was evaluated: a child goes on while it is found out. */
  let last: string | undefined;
  const stop = (how: ResolverEnd): void => {
    end ??= how;
    killGroup(child);
  };
  const watch = watchProgress(run, () => file, stop);
  const output = readMarks(child.stdout as Readable, (marked) => {
    file = marked;
    last = marked ?? last;
    watch.progress();
  });
  let refusal: string | undefined;
  const isWhole = readReports(child, {
    limit: run.limits.resolverOutput,
    onDesired: run.onDesired,
    onReport(report) {
      if (report.kind === "done" || report.kind === "failed") end ??= report;
      else run.onReport(report);
    },
    onRefusal(why) {
      refusal = why;
      // The mark that says whose code it was has been written, but may not have been read.
      setImmediate(() => stop(spoiltBy(last, why)));
    },
  });
  const onAbort = (): void => stop({ kind: "aborted" });
  run.signal?.addEventListener("abort", onAbort);
  if (run.signal?.aborted === true) onAbort();
  (child.stdio?.[REPORTS_FD] as Writable | undefined)?.write(encodeFrame(run.request));
  const { code, signal, error } = await ended(child);
  watch.stop();
  run.signal?.removeEventListener("abort", onAbort);
  if (error !== undefined) return { kind: "failed", message: error.message };
  if (end?.kind === "done" && !isWhole()) refusal = NOT_OURS;
  if (refusal !== undefined) return spoiltBy(last, refusal);
  const raw = output();
  if (end?.kind === "done" && raw !== undefined) return wroteDirectly(raw);
  return end ?? diedOf({ code, signal, file, output: raw?.text ?? "" }, run.limits);
}

/** Starts a child that waits for a request, until its parent is gone. */
export function startResolver(project: string, limits: ResolverLimits): ChildProcess {
  const program = fileURLToPath(installationUrl("dist/runner/resolver-child.js"));
  const node = [
    process.execPath,
    `--max-old-space-size=${limits.resolverHeapMiB}`,
    // A load makes garbage fast; a larger nursery halves the collector's part of the time.
    "--max-semi-space-size=64",
    "--no-warnings",
  ];
  // The kernel ends an endless loop whose parent has died and can't any more.
  const seconds = Math.ceil((4 * limits.resolveMs) / 1_000);
  const script = `ulimit -c 0; ulimit -t ${seconds}; exec "$@" 2>&1`;
  return spawn("/bin/sh", ["-c", script, "sh", ...node, program], {
    cwd: project,
    // A group of its own, so that what project code starts can be ended with it.
    detached: true,
    stdio: ["ignore", "pipe", "ignore", "pipe", "pipe"],
    env: plainEnvironment(process.env, /^PI_WORKFLOWS_HOME$/),
  });
}

/** Calls `stop` when no file is finished for too long, or when the whole load takes too long. */
function watchProgress(
  { limits, deadline }: ResolverRun,
  current: () => string | undefined,
  stop: (how: ResolverEnd) => void,
): { progress: () => void; stop: () => void } {
  const allowed = limits.evaluateMs + MARGIN_MS;
  let last = performance.now();
  let idle: NodeJS.Timeout;
  const check = (): void => {
    const file = current();
    const waited = performance.now() - last;
    if (file !== undefined && waited >= allowed) {
      const message = `did not finish within ${limits.evaluateMs / 1_000} s; look for an endless loop`;
      stop({ kind: "fault", file, message });
      return;
    }
    idle = setTimeout(check, file === undefined ? allowed : Math.max(allowed - waited, 1));
  };
  idle = setTimeout(check, allowed);
  const overall = setTimeout(
    () => stop({ kind: "overall-limit", file: current() }),
    Math.max(deadline - performance.now(), 0),
  );
  return {
    progress: () => {
      last = performance.now();
    },
    stop: () => {
      clearTimeout(idle);
      clearTimeout(overall);
    },
  };
}

/** How long pipes may stay open after the child's end, held by what it left running. */
const CLOSE_MS = 1_000;

function ended(
  child: ChildProcess,
): Promise<{ code: number | null; signal: NodeJS.Signals | null; error?: Error }> {
  return new Promise((resolve) => {
    let patience: NodeJS.Timeout | undefined;
    child.once("error", (error) => resolve({ code: null, signal: null, error }));
    child.once("exit", () => {
      killGroup(child);
      patience = setTimeout(() => child.stdio.forEach((pipe) => pipe?.destroy()), CLOSE_MS);
    });
    child.once("close", (code, signal) => {
      clearTimeout(patience);
      resolve({ code, signal });
    });
  });
}

/** Ends a child and what it started. */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group is gone already.
  }
}

function spoiltBy(file: string | undefined, message: string): ResolverEnd {
  return { kind: "fault", file, message, spoilt: true };
}

function wroteDirectly({ text, file }: RawOutput): ResolverEnd {
  const start = JSON.stringify(text.trimEnd().slice(0, 200));
  const message = `wrote ${start} to the output of its process; spec files only return data`;
  return { kind: "fault", file, message };
}

type Death = {
  code: number | null;
  signal: NodeJS.Signals | null;
  file: string | undefined;
  output: string;
};

function diedOf({ code, signal, file, output }: Death, limits: ResolverLimits): ResolverEnd {
  if (/heap out of memory|Allocation failed/.test(output)) {
    const message = `ran out of memory: more than ${limits.resolverHeapMiB} MiB`;
    return { kind: "fault", file, message };
  }
  const how = signal ?? `exit code ${code}`;
  if (file === undefined) {
    // No project code was running, so it is this product or the machine that is at fault.
    const message = `The process that loads specs ended (${how}): ${output.slice(0, 1_000).trim()}`;
    return { kind: "failed", message };
  }
  return { kind: "fault", file, message: `ended the process that evaluates it (${how})` };
}
