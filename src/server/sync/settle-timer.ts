import type { Clock } from "../../model/ports.ts";

// One command of git touches its files for a few milliseconds; a rebase goes on and on.
const QUIET_MS = 15;
const LONGEST_MS = 150;

/** Calls back once a series of touches has been quiet for a moment, or has gone on for too long. */
export class SettleTimer {
  readonly #clock: Clock;
  readonly #onSettled: () => void;
  #firstAt: number | undefined;
  #cancel = (): void => {};

  constructor(clock: Clock, onSettled: () => void) {
    this.#clock = clock;
    this.#onSettled = onSettled;
  }

  touch(): void {
    const now = this.#clock.monotonic();
    this.#firstAt ??= now;
    const left = this.#firstAt + LONGEST_MS - now;
    this.#cancel();
    this.#cancel = this.#clock.schedule(
      () => {
        this.#firstAt = undefined;
        this.#onSettled();
      },
      Math.max(0, Math.min(QUIET_MS, left)),
    );
  }

  cancel(): void {
    this.#cancel();
    this.#firstAt = undefined;
  }
}
