import { LIMITS } from "../model/limits.ts";
import type { Clock } from "../model/ports.ts";

export type IdleOptions = {
  clock: Clock;
  /** Idle for so long: the server is not needed. Milliseconds. */
  afterMs: number;
  isIdle: () => boolean;
  /** When it was used last, also between two looks. On the monotonic clock. */
  lastUsedAt: () => number;
  onIdle: () => void;
};

/** Calls `onIdle` once when the server has had nothing to do for a while; returns what ends it. */
export function watchIdle(options: IdleOptions): () => void {
  const { clock, afterMs, isIdle, lastUsedAt, onIdle } = options;
  let since: number | undefined;
  let cancel = (): void => {};
  const look = (): void => {
    const now = clock.monotonic();
    since = isIdle() ? Math.max(since ?? now, lastUsedAt()) : undefined;
    if (since !== undefined && now - since >= afterMs) return onIdle();
    cancel = clock.schedule(look, Math.min(afterMs, LIMITS.heartbeatMs));
  };
  look();
  return () => cancel();
}
