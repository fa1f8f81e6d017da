import { LIMITS } from "../model/limits.ts";
import type { Clock, Log } from "../model/ports.ts";
import type { Lane, StoreReader } from "../store/store.ts";
import { heat, type LaneState } from "./lanes.ts";

export type LookoutOptions = {
  clock: Clock;
  store: Pick<StoreReader, "lanes">;
  log: Log;
  lanes: ReadonlyMap<number, LaneState>;
  /** Lanes have become hot. */
  onHot: () => void;
};

type Wanted = "all" | Set<LaneState>;

/**
 * One timer for the earliest waiting row of all lanes. What settles and enqueues say of later rows is
 * kept as far as it is the earliest of its lane; when that time comes, the store is asked what else
 * waits there.
 */
export class Lookout {
  readonly #options: LookoutOptions;
  #timer: { at: number; cancel: () => void } | undefined;
  #looking = false;
  #wanted: Wanted | undefined;
  #stopped = false;

  constructor(options: LookoutOptions) {
    this.#options = options;
  }

  /** A row of the lane becomes ready then. */
  note(lane: LaneState, readyAt: number): void {
    if (readyAt <= this.#options.clock.now()) {
      heat(lane);
      return this.#options.onHot();
    }
    lane.nextReadyAt = Math.min(lane.nextReadyAt ?? readyAt, readyAt);
    lane.noted = Math.min(lane.noted ?? readyAt, readyAt);
    this.arm();
  }

  /** Asks the store what is ready and what will be, in some lanes or in all. */
  async look(only?: readonly LaneState[]): Promise<void> {
    const before = this.#wanted;
    this.#wanted = only && before !== "all" ? new Set([...(before ?? []), ...only]) : "all";
    if (this.#looking) return;
    this.#looking = true;
    for (let wanted = this.#take(); wanted && !this.#stopped; wanted = this.#take()) {
      await this.#ask(wanted);
    }
    this.#looking = false;
  }

  /** Sets the one timer to the earliest waiting row. */
  arm(): void {
    const { clock, lanes } = this.#options;
    if (this.#stopped) return;
    let at = Number.POSITIVE_INFINITY;
    for (const lane of lanes.values()) {
      if (!lane.hot && lane.nextReadyAt !== undefined) at = Math.min(at, lane.nextReadyAt);
    }
    if (at === Number.POSITIVE_INFINITY || (this.#timer && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    const delay = Math.min(Math.max(0, at - clock.now()), LIMITS.maxTimerMs);
    this.#timer = { at, cancel: clock.schedule(() => this.#due(), delay) };
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #take(): Wanted | undefined {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    return wanted;
  }

  async #ask(wanted: Wanted): Promise<void> {
    const { store, log, lanes, onHot } = this.#options;
    const asked = wanted === "all" ? [...lanes.values()] : [...wanted];
    for (const lane of asked) delete lane.noted;
    try {
      const ids = wanted === "all" ? undefined : asked.map(({ record }) => record.lane);
      for (const lane of await store.lanes(ids)) this.#found(lane);
    } catch (thrown) {
      log.warn("The queue could not be looked at", { error: thrown });
    }
    if (this.#stopped) return;
    onHot();
    this.arm();
  }

  #due(): void {
    const { clock, lanes, onHot } = this.#options;
    this.#timer = undefined;
    const now = clock.now();
    for (const lane of lanes.values()) {
      if (lane.nextReadyAt === undefined || lane.nextReadyAt > now) continue;
      delete lane.nextReadyAt;
      // Others may wait behind it, so an empty claim looks again.
      lane.unknown = true;
      heat(lane);
    }
    onHot();
    this.arm();
  }

  #found({ lane: id, ready, nextReadyAt }: Lane): void {
    const lane = this.#options.lanes.get(id);
    if (!lane) return;
    lane.unknown = false;
    // A time that has come is for a claim to find out about, once: a timer would fire for it again
    // and again if the claim does not take it.
    const now = this.#options.clock.now();
    const times = [nextReadyAt, lane.noted].filter((time) => time !== undefined && time > now);
    if (times.length > 0) lane.nextReadyAt = Math.min(...(times as number[]));
    else delete lane.nextReadyAt;
    if (ready > 0 || (nextReadyAt ?? now + 1) <= now) heat(lane);
  }
}
