import { isUnreachable } from "../server/client.ts";
import { createBackoff, type Backoff } from "./backoff.ts";

export type FollowOptions<T> = {
  open: (signal: AbortSignal) => AsyncIterable<T>;
  onItem: (item: T) => void;
  /** The stream ended or could not be opened; it will be tried again. */
  onLost: () => void;
  /** What can't be mended by trying again is told, once. */
  onTrouble: (thrown: unknown) => void;
  signal: AbortSignal;
  backoff?: Backoff;
};

/**
 * Follows a stream of the server for as long as a session lasts: through restarts, and while no
 * server runs. Never throws.
 */
export async function follow<T>(options: FollowOptions<T>): Promise<void> {
  const { open, onItem, onLost, onTrouble, signal, backoff = createBackoff() } = options;
  while (!signal.aborted) {
    try {
      for await (const item of open(signal)) {
        if (signal.aborted) return;
        backoff.reset();
        onItem(item);
      }
    } catch (thrown) {
      if (!signal.aborted && !isUnreachable(thrown)) onTrouble(thrown);
    }
    if (signal.aborted) return;
    onLost();
    await backoff.wait(signal);
  }
}
