import { LIMITS } from "./limits.ts";
import type { Clock } from "./ports.ts";

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(callback, delayMs) {
    const timer = setTimeout(callback, Math.min(Math.max(0, delayMs), LIMITS.maxTimerMs));
    return () => clearTimeout(timer);
  },
};
