import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

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

function linuxMembers(pgid: number, entry: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => linuxStat(pid)?.group === pgid && linuxEnvironment(pid).includes(entry));
}

/** Fields 5 and 22 of /proc/PID/stat; the name before them may hold anything but ends with `)`. */
function linuxStat(pid: number): { group: number; startTime: string } | undefined {
  const text = readText(`/proc/${pid}/stat`);
  const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
  const [group, startTime] = [fields?.[2], fields?.[19]];
  return group === undefined || startTime === undefined
    ? undefined
    : { group: Number(group), startTime };
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
    return execFileSync("ps", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
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
