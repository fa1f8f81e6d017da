import type { Clock } from "../../model/ports.ts";
import type { GraphCommand } from "../../workflows/state.ts";
import type { Running } from "./running.ts";

type Execute = Extract<GraphCommand, { do: "execute" }>;

/** What of a run is under way or about to be: attempts that run, wait for their turn, or for a time. */
export class Schedule {
  readonly running = new Map<number, Running>();
  readonly #clock: Clock;
  readonly #wake: () => void;
  #ready: Execute[] = [];
  readonly #delayed = new Map<number, () => void>();

  /** `wake` is called when something has become ready by itself. */
  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** True where nothing runs, and nothing is about to. */
  get isIdle(): boolean {
    return this.running.size === 0 && this.#ready.length === 0 && this.#delayed.size === 0;
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  add(command: Execute): void {
    if (command.delayMs === 0) {
      this.#ready.push(command);
      return;
    }
    const due = (): void => {
      this.#delayed.delete(command.visit);
      this.#ready.push(command);
      this.#wake();
    };
    this.#delayed.set(command.visit, this.#clock.schedule(due, command.delayMs));
  }

  next(): Execute | undefined {
    return this.#ready.shift();
  }

  /** Calls off an attempt of a visit: what had not begun is forgotten. True where one runs. */
  abort(visit: number): boolean {
    this.#delayed.get(visit)?.();
    this.#delayed.delete(visit);
    this.#ready = this.#ready.filter((command) => command.visit !== visit);
    const running = this.running.get(visit);
    running?.callOff("abort");
    return running !== undefined;
  }

  /** Calls off everything, because the pass ends. */
  stop(): void {
    this.#ready = [];
    for (const cancel of this.#delayed.values()) cancel();
    this.#delayed.clear();
    for (const running of this.running.values()) running.callOff("pass");
  }
}
