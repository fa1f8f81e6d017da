import { setTimeout as sleep } from "node:timers/promises";
import { groupRuns } from "./process-table.ts";

/**
 * Signals a process group: the one place where signals are sent (a Windows port would end the tree
 * by `taskkill /T`). Returns false where the group is gone.
 */
export function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Resolves when no process of the group runs any more, at the latest after `boundMs`. */
export async function groupEnded(pid: number, boundMs: number): Promise<void> {
  for (let waited = 0, step = 1; waited < boundMs; waited += step, step *= 2) {
    // The cheap question first: a group without members can't be signalled.
    if (!groupExists(pid) || !groupRuns(pid)) return;
    await sleep(step);
  }
}

function groupExists(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
