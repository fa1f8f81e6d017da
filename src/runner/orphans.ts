import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { endCommandsOf } from "./command-marks.ts";
import { groupEnded, signalGroup } from "./process-group.ts";
import { groupMembers, startTimeOf } from "./process-table.ts";
import { RUNNER_TOKEN } from "./spawn.ts";

/** A live runner on disk. Together the three tell it from a later process with its number. */
type RunnerRecord = { pid: number; startTime: string; token: string };

const KILL_BOUND_MS = 2_000;

/** Notes a runner under `<home>/runners/` for the next server; returns what removes the note. */
export function recordRunner(home: string, pid: number, token: string): () => void {
  const folder = path.join(home, "runners");
  const file = path.join(folder, `${pid}.json`);
  const record: RunnerRecord = { pid, startTime: startTimeOf(pid) ?? "", token };
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(file, JSON.stringify(record), { mode: 0o600 });
  return () => rmSync(file, { force: true });
}

/**
 * Kills what an earlier server's runners left behind (P-1), and waits until it is gone. To be called
 * before the first claim by the one server that owns `home`. Returns the groups killed.
 */
export async function reapOrphans(home: string): Promise<number[]> {
  const folder = path.join(home, "runners");
  const killed: number[] = [];
  for (const name of recordFiles(folder)) {
    const file = path.join(folder, name);
    const record = readRecord(file);
    if (record && stillRuns(record) && signalGroup(record.pid, "SIGKILL")) {
      await groupEnded(record.pid, KILL_BOUND_MS);
      killed.push(record.pid);
    }
    if (record) await endCommandsOf(record.pid, record.token);
    rmSync(file, { force: true });
  }
  return killed;
}

/**
 * True where the group still holds a process of that runner: the runner itself, or, where that has
 * ended, one that it started and that so inherited its token.
 */
function stillRuns({ pid, startTime, token }: RunnerRecord): boolean {
  const members = groupMembers(pid, `${RUNNER_TOKEN}=${token}`);
  return members.some((member) => member !== pid || startTimeOf(pid) === startTime);
}

function recordFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".json"));
  } catch {
    return [];
  }
}

/** A half-written record names no process that could be told from another. */
function readRecord(file: string): RunnerRecord | undefined {
  try {
    const { pid, startTime, token } = JSON.parse(readFileSync(file, "utf8")) as RunnerRecord;
    const whole = Number.isInteger(pid) && pid > 1 && startTime !== "" && token !== "";
    return whole ? { pid, startTime, token } : undefined;
  } catch {
    return undefined;
  }
}
