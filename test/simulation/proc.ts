import type { Clock } from "../../src/model/ports.ts";
import { never, type World } from "./world.ts";

/**
 * A process of the machine: the server, or a runner. When it dies nothing of it goes on: its timers
 * don't fire, and what it waits for never comes.
 */
export class Proc {
  readonly clock: Clock;
  readonly #world: World;
  readonly #onDeath: (() => void)[] = [];
  #isAlive = true;

  constructor(world: World) {
    this.#world = world;
    this.clock = world.clockOf(() => this.#isAlive);
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  die(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    for (const listener of this.#onDeath) listener();
  }

  onDeath(listener: () => void): void {
    this.#onDeath.push(listener);
  }

  sleep(ms: number): Promise<void> {
    return this.awaiting(this.#world.sleep(ms));
  }

  /** The same promise, as long as there is somebody to wait for it. */
  async awaiting<T>(promise: Promise<T>): Promise<T> {
    try {
      const value = await promise;
      return this.#isAlive ? value : await never<T>();
    } catch (thrown) {
      if (!this.#isAlive) await never();
      throw thrown;
    }
  }
}
