import { setTimeout } from "node:timers/promises";

/** Waits; an abort ends the wait early without an error. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, { signal });
  } catch {
    // Aborted: the caller looks at the signal.
  }
}
