import { AsyncLocalStorage } from "node:async_hooks";

/** Keeps a line that an attempt printed, with its run. */
export type AttemptLog = (level: string, text: string) => void;

const storage = new AsyncLocalStorage<AttemptLog>();

/** Calls the author's code, so that what it prints is known to be of this attempt. */
export function printingTo<T>(log: AttemptLog, call: () => T): T {
  return storage.run(log, call);
}

/** The log of the attempt whose code is running. */
export function attemptLog(): AttemptLog | undefined {
  return storage.getStore();
}
