import { ChildProcess } from "node:child_process";

const live = new Set<ChildProcess>();

type Spawn = (this: ChildProcess, options: { detached?: boolean }) => number;

/**
 * Counts the processes that author code starts in this runner, so that a pass that leaves one
 * behind is noticed. A detached one is meant to outlive its pass and is not counted.
 */
export function watchChildProcesses(): void {
  const prototype = ChildProcess.prototype as unknown as { spawn: Spawn };
  const spawn = prototype.spawn;
  prototype.spawn = function (options) {
    const error = spawn.call(this, options);
    if (options.detached !== true && this.pid !== undefined) {
      live.add(this);
      this.once("exit", () => live.delete(this));
    }
    return error;
  };
}

/** Processes started here that have not ended. */
export function liveChildProcesses(): number {
  return live.size;
}
