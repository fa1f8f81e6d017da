import { setTimeout as sleep } from "node:timers/promises";
import { processesWith } from "./process-table.ts";
import { RUNNER_TOKEN } from "./spawn.ts";

/**
 * Set in the environment of every command of a shell node, and so of all that it starts: `PID.NUMBER`
 * of the runner and the command. A process that left the command's group is told by it.
 */
export const COMMAND_MARK = "PI_WORKFLOWS_COMMAND";

const KILL_BOUND_MS = 2_000;

/** Kills every process that a command left behind, wherever it went, and waits until they are gone. */
export function endCommand(mark: string): Promise<void> {
  return endAll((entries) => entries.includes(`${COMMAND_MARK}=${mark}`));
}

/** The same for all commands of a runner that has ended. */
export function endCommandsOf(runner: number, token: string): Promise<void> {
  return endAll(
    (entries) =>
      entries.includes(`${RUNNER_TOKEN}=${token}`) &&
      entries.some((entry) => entry.startsWith(`${COMMAND_MARK}=${runner}.`)),
  );
}

async function endAll(isMeant: (environment: string[]) => boolean): Promise<void> {
  for (let waited = 0, step = 1; waited < KILL_BOUND_MS; waited += step, step *= 2) {
    const left = processesWith(isMeant);
    if (left.length === 0) return;
    for (const pid of left) kill(pid);
    await sleep(step);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}
