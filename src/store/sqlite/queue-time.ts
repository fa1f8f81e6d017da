import type { Clock } from "../../model/ports.ts";
import { SteadyTime } from "../../model/steady-time.ts";
import { QuietTimes } from "./quiet.ts";

/** One reading of the clock, for a whole transaction. */
export type Reading = { now: number; queueTime: number };

/** Time as the queue counts it. So no ready row and no claim waits for the wall clock to catch up (T-1). */
export class QueueTime {
  readonly #steady: SteadyTime;
  readonly #quiet: QuietTimes;

  /** `latest` is the queue time of the last commit, which may be ahead of a clock set back since. */
  constructor(clock: Clock, latest: number) {
    this.#steady = new SteadyTime(clock, latest);
    this.#quiet = new QuietTimes(clock);
  }

  read(): Reading & { quiet: QuietTimes } {
    const { now, time } = this.#steady.read();
    return { now, queueTime: time, quiet: this.#quiet };
  }
}
