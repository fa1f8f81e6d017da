import { EffectRejected } from "../../src/resource-managers/results.ts";
import type { Proc } from "./proc.ts";
import type { Oracle } from "./oracle.ts";
import type { World } from "./world.ts";

/** What a caller waits for an answer. */
const CALL_TIMEOUT_MS = 5_000;
const SLOWEST_LANDING_MS = 8_000;
const STALEST_MS = 4_000;

/** Within this after a call was sent, absence proves nothing: what an honest author declares. */
export const CONSISTENCY_MS = SLOWEST_LANDING_MS + STALEST_MS;

/** One thing that was done, as the provider's own log has it. */
export type Landed = { key: string; at: number; visibleAt: number };

/** The outside world: it does what it is asked, more or less, and keeps a log of what it did. */
export class Provider {
  readonly #world: World;
  readonly #oracle: Oracle;
  /** Everything that was done, in that order. */
  readonly log: Landed[] = [];
  /** Calls that were sent, by key. */
  readonly sent = new Map<string, number>();

  /** What it said to have done, and has not. */
  readonly lies = new Set<string>();

  constructor(world: World, oracle: Oracle) {
    this.#world = world;
    this.#oracle = oracle;
  }

  /** How often something was done. */
  count(key: string): number {
    return this.log.filter((landed) => landed.key === key).length;
  }

  /**
   * Asks for something to be done. It is done again each time that it is asked for, unless
   * `isIdempotent`. @throws EffectRejected, and Error where it is not known whether it was done
   */
  send(proc: Proc, key: string, { isIdempotent = false } = {}): Promise<string> {
    const { random, faults } = this.#world;
    this.#world.trace(`provider ${key} sent`);
    const times = (this.sent.get(key) ?? 0) + 1;
    this.sent.set(key, times);
    this.#oracle.calling(key, times);
    const isSlow = random.chance(faults.callSlow);
    if (isSlow) this.#world.note("call slow");
    const landing = isSlow ? random.between(1, SLOWEST_LANDING_MS) : random.between(0, 20);
    const isRefused = random.chance(faults.callRefused);
    const isUnapplied = random.chance(faults.callUnapplied);
    const isUnanswered = random.chance(faults.callUnanswered);
    const isLied = random.chance(faults.callLied);
    const stale = random.chance(faults.staleRead) ? random.between(0, STALEST_MS) : 0;
    return new Promise((resolve, reject) => {
      const cancel = this.#world.schedule(() => {
        if (proc.isAlive) reject(new Error("no answer in time"));
      }, CALL_TIMEOUT_MS);
      const answer = (settle: () => void): void => {
        // What arrives while the machine is suspended is there when it wakes.
        this.#world.schedule(() => {
          cancel();
          if (proc.isAlive) settle();
        }, 0);
      };
      this.#world.scheduleOutside(() => {
        if (isRefused) {
          this.#world.note("call refused");
          return answer(() => reject(new EffectRejected("the provider refuses it")));
        }
        if (isUnapplied) {
          this.#world.note("call failed, not applied");
          return answer(() => reject(new Error("502 Bad Gateway")));
        }
        if (isLied) {
          this.#world.note("call answered, not applied");
          this.lies.add(key);
          return answer(() => resolve(key));
        }
        this.#land(key, stale, isIdempotent);
        if (!isUnanswered) return answer(() => resolve(key));
        this.#world.note("call applied, not answered");
        if (random.chance(0.5)) answer(() => reject(new Error("connection reset")));
      }, landing);
    });
  }

  /** Whether something was done, as far as can be seen now. */
  async look(proc: Proc, key: string): Promise<boolean> {
    const { random, faults } = this.#world;
    await proc.sleep(random.between(0, 20));
    if (random.chance(faults.lookFails)) {
      this.#world.note("look failed");
      throw new Error("503 Service Unavailable");
    }
    const now = this.#world.now();
    const isSeen = this.log.some((landed) => landed.key === key && landed.visibleAt <= now);
    if (!isSeen && this.count(key) > 0) this.#world.note("look stale");
    this.#world.trace(`provider ${key} ${isSeen ? "seen" : "not seen"}`);
    return isSeen;
  }

  #land(key: string, stale: number, isIdempotent: boolean): void {
    if (isIdempotent && this.count(key) > 0) return;
    const at = this.#world.now();
    this.log.push({ key, at, visibleAt: at + stale });
    this.#world.trace(`provider ${key} done`);
  }
}
