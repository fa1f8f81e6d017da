import { toPiWorkflowsError } from "../model/errors.ts";
import type { Clock, Log } from "../model/ports.ts";
import type { ResourceManagerStore } from "../store/store.ts";

// Deleting so many rows blocks the event loop for a few milliseconds.
const ROWS_PER_STEP = 500;
const BETWEEN_STEPS_MS = 20;
const BETWEEN_ROUNDS_MS = 10 * 60 * 1000;

/**
 * Keeps history within its limits: every ten minutes, in steps so small that passes go on between
 * them. Returns what ends it.
 */
export function keepHouse(store: ResourceManagerStore, clock: Clock, log: Log): () => void {
  let cancel = (): void => {};
  let ended = false;
  const step = async (): Promise<void> => {
    const removed = await store.retain(ROWS_PER_STEP).catch((thrown: unknown) => {
      log.warn("History could not be trimmed", { error: toPiWorkflowsError(thrown) });
      return 0;
    });
    if (!ended) {
      cancel = clock.schedule(
        () => void step(),
        removed > 0 ? BETWEEN_STEPS_MS : BETWEEN_ROUNDS_MS,
      );
    }
  };
  cancel = clock.schedule(() => void step(), BETWEEN_ROUNDS_MS);
  return () => {
    ended = true;
    cancel();
  };
}
