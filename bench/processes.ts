import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { installationUrl } from "../src/model/installation.ts";
import { check } from "./harness.ts";

/** The built command line. */
export const COMMAND = fileURLToPath(installationUrl("dist/cli/main.js"));

/** One of the programs under bench/programs, as the build laid it beside this one. */
export function program(name: string): string {
  return fileURLToPath(new URL(`${name}.mjs`, import.meta.url));
}

export type Finished = { ms: number; code: number | null; stdout: string; stderr: string };

/** Runs Node on `args` to its end; `ms` is from spawn to exit. */
export function runNode(
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; accept?: number[] } = {},
): Promise<Finished> {
  const start = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: options.cwd,
    env: { ...process.env, NO_COLOR: "1", ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    let ms = Number.NaN;
    child.once("exit", () => (ms = performance.now() - start));
    child.once("close", (code) => {
      const accepted = options.accept ?? [0];
      if (code !== null && accepted.includes(code)) resolve({ ms, code, stdout, stderr });
      else reject(new Error(`node ${args.join(" ")} ended with ${code}:\n${stdout}\n${stderr}`));
    });
  });
}

/** Resident size of a process in bytes, from Linux's /proc. */
export function residentBytes(pid: number): number {
  return proc(`${pid}/status`, /^VmRSS:\s+(\d+) kB$/m) * 1024;
}

/** Memory that only this process holds, in bytes. */
export function privateBytes(pid: number): number {
  const file = `${pid}/smaps_rollup`;
  return (
    (proc(file, /^Private_Clean:\s+(\d+) kB$/m) + proc(file, /^Private_Dirty:\s+(\d+) kB$/m)) * 1024
  );
}

/** Milliseconds of processor time that a process has used, over all its threads. */
export function cpuMs(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    nanoseconds += proc(`${pid}/task/${thread}/schedstat`, /^(\d+)/);
  }
  return nanoseconds / 1e6;
}

/** How often a process's main thread has gone to sleep: an idle one's wake-ups. */
export function sleeps(pid: number): number {
  return proc(`${pid}/task/${pid}/status`, /^voluntary_ctxt_switches:\s+(\d+)$/m);
}

function proc(file: string, pattern: RegExp): number {
  const found = pattern.exec(readFileSync(`/proc/${file}`, "utf8"))?.[1];
  check(found !== undefined, `/proc/${file} has ${pattern.source}`);
  return Number(found);
}
