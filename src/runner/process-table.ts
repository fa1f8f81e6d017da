import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { plainEnvironment } from "../model/environment.ts";

/**
 * When a process started, as the system tells it: equal for as long as it lives, another for a later
 * process with the same number. Undefined where there is no such process.
 */
export function startTimeOf(pid: number): string | undefined {
  return process.platform === "linux"
    ? linuxStat(pid)?.startTime
    : ps(["-o", "lstart=", "-p", String(pid)])?.trim();
}

/** Processes of group `pgid` that have `entry` (`NAME=VALUE`) in their environment. */
export function groupMembers(pgid: number, entry: string): number[] {
  return process.platform === "linux" ? linuxMembers(pgid, entry) : psMembers(pgid, entry);
}

/** Processes whose environment, a list of `NAME=VALUE`, is one that is meant; zombies have none. */
export function processesWith(isMeant: (environment: string[]) => boolean): number[] {
  if (process.platform === "linux") {
    return linuxProcesses().filter((pid) => isMeant(linuxEnvironment(pid)));
  }
  const lines = ps(["-axww", "-E", "-o", "pid=,command="])?.split("\n") ?? [];
  return lines.flatMap((line) => {
    const [pid, ...words] = line.trim().split(/\s+/);
    return isMeant(words) ? [Number(pid)] : [];
  });
}

/**
 * True where group `pgid` holds a process that is more than a zombie, which stays in its group until
 * its parent reaps it: in a container that may be never.
 */
export function groupRuns(pgid: number): boolean {
  if (process.platform === "linux") return linuxGroup(pgid).length > 0;
  const lines = ps(["-axo", "pgid=,stat="])?.split("\n") ?? [];
  return lines.some((line) => {
    const [group, state] = line.trim().split(/\s+/);
    return Number(group) === pgid && state?.startsWith("Z") === false;
  });
}

function linuxMembers(pgid: number, entry: string): number[] {
  return linuxGroup(pgid).filter((pid) => linuxEnvironment(pid).includes(entry));
}

function linuxGroup(pgid: number): number[] {
  return linuxProcesses().filter((pid) => {
    const stat = linuxStat(pid);
    return stat?.group === pgid && stat.state !== "Z" && stat.state !== "X";
  });
}

function linuxProcesses(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Fields 3, 5 and 22 of /proc/PID/stat; the name before them may hold anything but ends with `)`. */
function linuxStat(pid: number): { state: string; group: number; startTime: string } | undefined {
  const text = readText(`/proc/${pid}/stat`);
  const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, group, startTime] = [fields?.[0], fields?.[2], fields?.[19]];
  if (state === undefined || group === undefined || startTime === undefined) return undefined;
  return { state, group: Number(group), startTime };
}

function linuxEnvironment(pid: number): string[] {
  return readText(`/proc/${pid}/environ`)?.split("\0") ?? [];
}

// macOS prints the environment after the command with -E.
function psMembers(pgid: number, entry: string): number[] {
  const lines = ps(["-axww", "-E", "-o", "pid=,pgid=,command="])?.split("\n") ?? [];
  return lines.flatMap((line) => {
    const [pid, group, ...words] = line.trim().split(/\s+/);
    return Number(group) === pgid && words.includes(entry) ? [Number(pid)] : [];
  });
}

function ps(args: string[]): string | undefined {
  try {
    const env = plainEnvironment(process.env);
    return execFileSync("ps", args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
