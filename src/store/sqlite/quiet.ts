import type { Clock } from "../../model/ports.ts";

/**
 * For how long no call of an open effect can have begun: since the pass that might have made it was
 * over, or, of passes before, since the store was opened. By the monotonic clock alone: a wall clock
 * that is set, or a machine that slept between the ledger's row and the call, makes no absence a proof
 * (E-7). Nothing of it is stored, so it is never taken for longer than it was; a transaction that is
 * undone only makes it shorter.
 */
export class QuietTimes {
  readonly #clock: Clock;
  readonly #opened: number;
  /** By effect: when the pass that might have called was over. */
  readonly #since = new Map<number, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#opened = clock.monotonic();
  }

  /** The pass that may have called it is over. */
  begin(effect: number): void {
    this.#since.set(effect, this.#clock.monotonic());
  }

  /** Nobody will ask for it any more. */
  forget(effect: number): void {
    this.#since.delete(effect);
  }

  /** Milliseconds, rounded down. */
  of(effect: number): number {
    return Math.floor(this.#clock.monotonic() - (this.#since.get(effect) ?? this.#opened));
  }
}
