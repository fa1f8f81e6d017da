import type { Clock } from "../model/ports.ts";

type Timer = { at: number; callback: () => void };

/** A clock that moves only when a test says so. */
export class VirtualClock implements Clock {
  #wall: number;
  #monotonic = 0;
  #timers: Timer[] = [];

  /** @param wall where it begins, epoch milliseconds */
  constructor(wall = Date.UTC(2026, 0, 1)) {
    this.#wall = wall;
  }

  now = (): number => this.#wall;
  monotonic = (): number => this.#monotonic;

  schedule = (callback: () => void, delayMs: number): (() => void) => {
    const timer = { at: this.#monotonic + Math.max(0, delayMs), callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  };

  /** Timers that have not fired. */
  pending(): number {
    return this.#timers.length;
  }

  /** Milliseconds until the next timer fires; infinite where none waits. */
  untilNext(): number {
    return Math.min(...this.#timers.map(({ at }) => at)) - this.#monotonic;
  }

  /** Sets the wall clock off, as a person or a time service may. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  /** Lets time pass; each timer fires in its order, and what it caused settles before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await turns();
    for (;;) {
      const next = this.#timers
        .filter(({ at }) => at <= end)
        .sort((left, right) => left.at - right.at)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#move(next.at);
      next.callback();
      await turns();
    }
    this.#move(end);
    await turns();
  }

  #move(to: number): void {
    this.#wall += to - this.#monotonic;
    this.#monotonic = to;
  }
}

/** Lets the event loop turn until what has been begun is done, as far as it needs no time. */
export async function turns(count = 12): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await new Promise((resolve) => void setImmediate(resolve));
  }
}
