import { createHash } from "node:crypto";
import type { Clock } from "../../src/model/ports.ts";
import { NO_FAULTS, type Faults, type Happening } from "./faults.ts";
import { Random } from "./random.ts";

type Timer = { at: number; callback: () => void };

/** Turns of the event loop without anything happening after which nothing more will. */
const QUIET_TURNS = 4;

const SUSPENDED_AT_MOST_MS = 20 * 60_000;

/**
 * The machine and what is outside of it: three clocks, and whatever waits for them. True time is what
 * the provider goes by; the machine's monotonic clock stands still while it is suspended; its wall clock
 * is whatever people and time services make of it.
 */
export class World {
  readonly random: Random;
  faults: Faults = NO_FAULTS;
  /** Raised by whatever happens, so that it can be told when nothing happens any more. */
  activity = 0;
  /** Steps at which something may fail so far: places where a crash may be. */
  points = 0;
  /** Names of what went wrong on purpose, with how often. */
  readonly happened = new Map<Happening, number>();
  readonly #hash = createHash("sha256");
  readonly #trace: ((line: string) => void) | undefined;
  #true = 0;
  #suspended = 0;
  #wallOffset = Date.UTC(2026, 0, 1);
  /** By the monotonic clock. */
  readonly #machine: Timer[] = [];
  /** By true time. */
  readonly #outside: Timer[] = [];
  #ids = 0;

  constructor(seed: number, trace?: (line: string) => void) {
    this.random = new Random(seed);
    this.#trace = trace;
  }

  now = (): number => this.#true;
  wall = (): number => Math.round(this.#wallOffset + this.#true);
  monotonic = (): number => this.#true - this.#suspended;

  /** A clock whose timers fire only while `isAlive`. */
  clockOf(isAlive: () => boolean): Clock {
    const begun = this.monotonic();
    return {
      now: this.wall,
      monotonic: () => this.monotonic() - begun,
      schedule: (callback, delayMs) => this.schedule(() => isAlive() && callback(), delayMs),
    };
  }

  schedule(callback: () => void, delayMs: number): () => void {
    return insert(this.#machine, { at: this.monotonic() + Math.max(0, delayMs), callback });
  }

  /** Of what is outside the machine, which no suspend holds up. */
  scheduleOutside(callback: () => void, delayMs: number): () => void {
    return insert(this.#outside, { at: this.#true + Math.max(0, delayMs), callback });
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.schedule(resolve, ms));
  }

  id(kind: string): string {
    return `${kind}-${String((this.#ids += 1)).padStart(6, "0")}`;
  }

  /** Somebody sets the clock. */
  jump(ms: number): void {
    this.note(ms < 0 ? "clock set back" : "clock set forward");
    this.#wallOffset += ms;
  }

  /** The lid is closed for a while. */
  async suspend(ms: number): Promise<void> {
    this.note("machine suspended");
    const end = this.#true + Math.min(ms, SUSPENDED_AT_MOST_MS);
    for (let next = this.#outside[0]; next && next.at <= end; next = this.#outside[0]) {
      this.#outside.shift();
      this.#suspended += Math.max(0, next.at - this.#true);
      this.#true = Math.max(this.#true, next.at);
      next.callback();
      await this.rest();
    }
    this.#suspended += end - this.#true;
    this.#true = end;
    await this.rest();
  }

  /** Lets time pass; `between` is called when all that a timer caused has happened. */
  async advance(ms: number, between: () => Promise<void>): Promise<void> {
    const end = this.#true + ms;
    await this.rest();
    for (;;) {
      const machine = (this.#machine[0]?.at ?? Number.POSITIVE_INFINITY) + this.#suspended;
      const outside = this.#outside[0]?.at ?? Number.POSITIVE_INFINITY;
      if (Math.min(machine, outside) > end) break;
      const timer = (outside <= machine ? this.#outside : this.#machine).shift() as Timer;
      this.#true = Math.max(this.#true, Math.min(machine, outside));
      timer.callback();
      await this.rest();
      await between();
    }
    this.#true = Math.max(this.#true, end);
    await between();
  }

  /** Lets the event loop turn until all that needs no time has happened. */
  async rest(): Promise<void> {
    let seen = -1;
    for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
      await new Promise((resolve) => void setImmediate(resolve));
      if (this.activity !== seen) quiet = 0;
      seen = this.activity;
    }
  }

  /** Something happened. What two runs of one seed write here must be the same. */
  trace(line: string): void {
    this.activity += 1;
    const text = `${this.#true} ${line}`;
    this.#hash.update(`${text}\n`);
    this.#trace?.(text);
  }

  /** Something went wrong on purpose. */
  note(fault: Happening): void {
    this.happened.set(fault, (this.happened.get(fault) ?? 0) + 1);
    this.trace(`FAULT ${fault}`);
  }

  digest(): string {
    return this.#hash.digest("hex");
  }
}

/** Keeps the list in order of time, and of insertion where that is the same. */
function insert(timers: Timer[], timer: Timer): () => void {
  let index = timers.length;
  while (index > 0 && (timers[index - 1] as Timer).at > timer.at) index -= 1;
  timers.splice(index, 0, timer);
  return () => {
    const found = timers.indexOf(timer);
    if (found >= 0) timers.splice(found, 1);
  };
}

/** Never settles: what somebody who is dead waits for. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
