import { toPiWorkflowsError, type ErrorCode } from "../model/errors.ts";
import type { Clock, Log } from "../model/ports.ts";

/** Errors of the store that pass by themselves: a full disk, a busy file. */
const PASSING: readonly ErrorCode[] = ["STORE_FULL", "STORE_BUSY"];

// First and longest pause; a full disk was seen to make 95,000 log lines at one look a second.
const FLOOR_MS = 1_000;
const CAP_MS = 30_000;

/** Keeps new work out while the store can't take it (P-5). */
export type Gate = {
  isOpen(): boolean;
  /** Records a refusal and returns how long to wait; says so in the log once per trouble. */
  failed(thrown: unknown): number;
  /** A write went through. */
  passed(): void;
};

export function isPassing(thrown: unknown): boolean {
  return PASSING.includes(toPiWorkflowsError(thrown).code);
}

/** Opens again by itself; `reopened` is called each time. */
export function createGate(clock: Clock, log: Log, reopened: () => void): Gate {
  let failures = 0;
  let shut = false;
  return {
    isOpen: () => !shut,
    failed(thrown) {
      const error = toPiWorkflowsError(thrown);
      if (failures === 0) {
        log.error("The store refuses writes; no new passes until it takes them again", { error });
      }
      const delay = Math.min(CAP_MS, FLOOR_MS * 2 ** Math.min(failures, 10));
      if (!shut) {
        failures += 1;
        shut = true;
        clock.schedule(() => {
          shut = false;
          reopened();
        }, delay);
      }
      return delay;
    },
    passed() {
      if (failures > 0 && !shut) {
        failures = 0;
        log.info("The store takes writes again");
      }
    },
  };
}
