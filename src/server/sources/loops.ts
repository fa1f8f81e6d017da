import { LIMITS } from "../../model/limits.ts";
import type { Clock } from "../../model/ports.ts";

const MINUTE = 60_000;
/** Keys counted at once; past it counting starts over, which only lets a loop run a little longer. */
const MOST = 10_000;

/**
 * Finds keys that changes of other resources wake again and again (B-5): managers that watch each
 * other may answer each other without end.
 */
export type Loops = {
  /** Counts a wake. `delayMs` is how long it should wait; `isNew` where the loop was just found. */
  count(key: string): { delayMs: number; isNew: boolean };
};

export function createLoops(clock: Pick<Clock, "monotonic">): Loops {
  const counted = new Map<string, { since: number; wakes: number }>();
  return {
    count(key) {
      const now = clock.monotonic();
      let found = counted.get(key);
      if (found === undefined || now - found.since >= MINUTE) {
        if (counted.size >= MOST) counted.clear();
        found = { since: now, wakes: 0 };
        counted.set(key, found);
      }
      found.wakes += 1;
      const over = found.wakes - LIMITS.hotLoopPasses;
      return { delayMs: over > 0 ? LIMITS.hotLoopDelayMs : 0, isNew: over === 1 };
    },
  };
}
