import { setTimeout as sleep } from "node:timers/promises";

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

/**
 * Resolves when no process of the group is left, at the latest after `boundMs`: a zombie whose
 * parent does not reap it stays in its group, and does no harm.
 */
export async function groupEnded(pid: number, boundMs: number): Promise<void> {
  for (let waited = 0, step = 1; waited < boundMs; waited += step, step *= 2) {
    if (!groupExists(pid)) return;
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
