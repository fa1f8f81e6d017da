import { LIMITS } from "../../model/limits.ts";
import { backoffMs } from "../../model/queue.ts";
import type { Clock } from "../../model/ports.ts";

/** Tries something again later, each time after a longer wait. */
export type Retry = {
  /** Asks for another try; does nothing where one is awaited. */
  later(): void;
  /** It went well: the next wait is the shortest again. */
  reset(): void;
  /** Nothing is tried again from now on. */
  stop(): void;
};

export function createRetry(clock: Clock, again: () => void): Retry {
  let attempts = 0;
  let cancel: (() => void) | undefined;
  let isStopped = false;
  return {
    later() {
      if (cancel || isStopped) return;
      attempts += 1;
      const delay = Math.min(backoffMs(attempts, 1), LIMITS.backoffCapMs);
      cancel = clock.schedule(() => {
        cancel = undefined;
        again();
      }, delay);
    },
    reset() {
      attempts = 0;
    },
    stop() {
      isStopped = true;
      cancel?.();
    },
  };
}
