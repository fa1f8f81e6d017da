import { LIMITS } from "../model/limits.ts";
import type { Clock, Log } from "../model/ports.ts";
import type { RunnerPort } from "../runner/port.ts";
import type { Scheduler } from "./scheduler.ts";

export type DrainOptions = { clock: Clock; log: Log; waitMs: number };

/**
 * Ends all passes (P-3): nothing more is claimed; those under way may finish; what is left is
 * aborted, then killed, and settles as cut short, so that no claim outlives the server.
 */
export async function drain(
  scheduler: Scheduler,
  runners: readonly RunnerPort[],
  { clock, log, waitMs }: DrainOptions,
): Promise<void> {
  const drained = scheduler.drain();
  if (await within(clock, drained, waitMs)) return;
  log.warn("Passes did not end in time; they are aborted", { ...scheduler.stats() });
  scheduler.abort("shutdown");
  await Promise.all(runners.map((runner) => runner.stop()));
  // Runners are gone; only the settles are left. A store that takes none keeps no server alive: the
  // next epoch voids the claims.
  if (await within(clock, drained, LIMITS.killGraceMs)) return;
  log.error("Some passes could not be settled; the next start recovers them");
}

/** Whether `done` resolves in time. */
async function within(clock: Clock, done: Promise<void>, delayMs: number): Promise<boolean> {
  let cancel = (): void => {};
  const late = new Promise<false>((resolve) => {
    cancel = clock.schedule(() => resolve(false), delayMs);
  });
  const inTime = await Promise.race([done.then(() => true), late]);
  cancel();
  return inTime;
}
