import type { Clock } from "../../model/ports.ts";
import { backoffMs } from "../../model/queue.ts";

/** When a sync that came to less than it should tries again by itself: later each time (B-2). */
export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failures = 0;
  #dueAt: number | undefined;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  failed(): void {
    this.#failures += 1;
    this.#dueAt = this.#clock.monotonic() + backoffMs(this.#failures, this.#random());
  }

  reset(): void {
    this.#failures = 0;
    this.#dueAt = undefined;
  }

  /** The try that was due has begun; how it ends decides about the next. */
  begun(): void {
    this.#dueAt = undefined;
  }

  /** Milliseconds until the next try; undefined where none is due. */
  delay(): number | undefined {
    return this.#dueAt === undefined
      ? undefined
      : Math.max(0, this.#dueAt - this.#clock.monotonic());
  }
}
