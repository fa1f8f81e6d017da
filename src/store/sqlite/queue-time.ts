import type { Clock } from "../../model/ports.ts";
import { QuietTimes } from "./quiet.ts";

/** One reading of the clock, for a whole transaction. */
export type Reading = { now: number; queueTime: number };

/**
 * Time as the queue counts it: the wall clock, but when that is set back it goes on at the
 * monotonic clock's rate. So no ready row and no claim waits for the wall clock to catch up (T-1).
 */
export class QueueTime {
  readonly #clock: Clock;
  readonly #quiet: QuietTimes;
  #latest: number;
  #anchor: { queueTime: number; monotonic: number };

  /** `latest` is the queue time of the last commit, which may be ahead of a clock set back since. */
  constructor(clock: Clock, latest: number) {
    this.#clock = clock;
    this.#quiet = new QuietTimes(clock);
    this.#latest = latest;
    this.#anchor = { queueTime: latest, monotonic: clock.monotonic() };
  }

  read(): Reading & { quiet: QuietTimes } {
    const now = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    // Not compared to what was last read: a clock may be set back by less than has gone since.
    const counted = this.#anchor.queueTime + Math.floor(monotonic - this.#anchor.monotonic);
    if (now >= counted) this.#anchor = { queueTime: now, monotonic };
    this.#latest = Math.max(this.#latest, counted, now);
    return { now, queueTime: this.#latest, quiet: this.#quiet };
  }
}
