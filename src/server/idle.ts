import { LIMITS } from "../model/limits.ts";
import type { Clock } from "../model/ports.ts";

export type IdleOptions = {
  clock: Clock;
  /** Idle for so long: the server is not needed. Milliseconds. */
  afterMs: number;
  isIdle: () => boolean;
  onIdle: () => void;
};

/** Calls `onIdle` once when the server has had nothing to do for a while; returns what ends it. */
export function watchIdle({ clock, afterMs, isIdle, onIdle }: IdleOptions): () => void {
  let since: number | undefined;
  let cancel = (): void => {};
  const look = (): void => {
    const now = clock.monotonic();
    since = isIdle() ? (since ?? now) : undefined;
    if (since !== undefined && now - since >= afterMs) return onIdle();
    cancel = clock.schedule(look, Math.min(afterMs, LIMITS.heartbeatMs));
  };
  look();
  return () => cancel();
}
