import type { Clock } from "./ports.ts";

/**
 * The wall clock, but when that is set back it goes on at the monotonic clock's rate (T-1): claims and
 * delays are counted by it. Epoch milliseconds.
 */
export class SteadyTime {
  readonly #clock: Clock;
  #anchor: { time: number; monotonic: number };

  /** `latest` is the time that was known last, which may be ahead of a clock set back since. */
  constructor(clock: Clock, latest = 0) {
    this.#clock = clock;
    this.#anchor = { time: latest, monotonic: clock.monotonic() };
  }

  /** `now` is the wall clock's, `time` never goes back. */
  read(): { now: number; time: number } {
    const now = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    // Not compared to what was last read: a clock may be set back by less than has gone since.
    const counted = this.#anchor.time + Math.floor(monotonic - this.#anchor.monotonic);
    if (now >= counted) this.#anchor = { time: now, monotonic };
    return { now, time: Math.max(now, counted) };
  }
}
