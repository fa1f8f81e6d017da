import type { ManagerRecord } from "../model/batch.ts";
import { toPiWorkflowsError } from "../model/errors.ts";
import { LIMITS } from "../model/limits.ts";
import type { PassOutcome, RunnerFault } from "../model/pass.ts";
import type { Clock } from "../model/ports.ts";
import type { RunnerPort } from "../runner/port.ts";
import type { Claimed } from "../store/store.ts";
import { createGate, type Gate } from "./gate.ts";
import {
  aheadOf,
  heat,
  keepPace,
  leaseFor,
  newLane,
  share,
  type Caps,
  type LaneState,
  type WaitingPass,
} from "./lanes.ts";
import { Lookout } from "./lookout.ts";
import { startPass, touchedBy, type Pass, type PassServices } from "./pass.ts";
import { settlePass, type Ended } from "./settle.ts";

/** What a scheduler is made of. */
export type SchedulerOptions = PassServices & {
  clock: Clock;
  epoch: number;
  /** The runner of a manager: child processes or this process. */
  runnerOf: (record: ManagerRecord) => RunnerPort;
  caps: Caps;
  /** In [0, 1): jitter of backoff. */
  random: () => number;
};

// A claim with less than this left is renewed before a claim that would hand out its key.
const RENEW_AHEAD_MS = 5_000;

// What was read longer ago than this is looked at again before a pass begins with it.
const FRESH_MS = 50;

/** What one claim asks of a lane: the places it fills, and what is claimed ahead. */
type Ask = { lane: LaneState; places: number; ahead: number; wakes: number };

/**
 * Turns dirty keys into passes. Nothing here polls: a commit, an enqueue, a settle, or the one timer
 * of the earliest waiting row marks a lane as hot, and hot lanes are claimed while there is room. A
 * slow scan of the store finds what a lost wake left behind.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #lanes = new Map<number, LaneState>();
  /** By lane and key: a resource that was deleted and made anew has another uid. */
  readonly #running = new Map<string, Pass>();
  readonly #gate: Gate;
  readonly #lookout: Lookout;
  readonly #counts = { done: 0, failed: 0 };
  #claiming = false;
  #aborted: RunnerFault | undefined;
  /** Claims and passes that have not ended; draining waits for them. */
  #open = 0;
  #drained: (() => void) | undefined;
  #served = 0;
  #heartbeat: (() => void) | undefined;

  constructor(options: SchedulerOptions) {
    const { clock, log, store } = options;
    const onHot = (): void => this.#pump();
    this.#options = options;
    this.#gate = createGate(clock, log, onHot);
    this.#lookout = new Lookout({ clock, log, store, lanes: this.#lanes, onHot });
  }

  /** Begins to claim. */
  start(): void {
    this.#claiming = true;
    this.#beat();
  }

  /** Makes a manager's lane claimable, or takes over what changed in its definition. */
  register(record: ManagerRecord): void {
    const known = this.#lanes.get(record.lane);
    if (known) known.record = record;
    else this.#lanes.set(record.lane, newLane(record));
    this.wake({ project: record.project, manager: record.name });
  }

  /** Something of this lane, or of any lane, may be ready. */
  wake(target?: { project: string; manager: string }): void {
    for (const lane of this.#lanes.values()) {
      const { project, name } = lane.record;
      if (!target || (project === target.project && name === target.manager)) heat(lane);
    }
    this.#pump();
  }

  /** True when nothing runs, nothing is ready, and nothing will become ready by itself. */
  isIdle(): boolean {
    const waiting = [...this.#lanes.values()].some(
      (lane) => lane.hot || lane.unknown || lane.nextReadyAt !== undefined,
    );
    return this.#open === 0 && !waiting;
  }

  stats(): { running: number; done: number; failed: number } {
    return { running: this.#running.size, ...this.#counts };
  }

  /** Claims nothing more. Resolves when every pass has been settled. */
  drain(): Promise<void> {
    this.#claiming = false;
    this.#heartbeat?.();
    this.#lookout.stop();
    return new Promise((resolve) => {
      this.#drained = resolve;
      this.#end(0);
    });
  }

  /** Asks every pass under way to stop, and lets none begin. */
  abort(fault: RunnerFault): void {
    this.#aborted = fault;
    for (const pass of this.#running.values()) pass.abort(fault);
    this.#pump();
  }

  /** Fills the free places: with what is claimed, then by claiming. */
  #pump(): void {
    if (!this.#gate.isOpen() && this.#claiming) return;
    const asks: Ask[] = [];
    for (const { lane, places } of share(this.#lanes.values(), this.#options.caps)) {
      const ready = lane.waiting.splice(0, places);
      for (const waiting of ready) void this.#run(lane, waiting);
      const wanted = lane.hot ? places - ready.length : 0;
      if (wanted > 0) asks.push({ lane, places: wanted, ahead: 0, wakes: lane.wakes });
    }
    if (!this.#claiming) return;
    for (const lane of this.#lanes.values()) {
      const ahead = aheadOf(lane);
      if (ahead === 0) continue;
      const ask = asks.find((other) => other.lane === lane);
      if (ask) ask.ahead = ahead;
      else asks.push({ lane, places: 0, ahead, wakes: lane.wakes });
    }
    if (asks.length > 0) void this.#claim(asks);
    else this.#lookout.arm();
  }

  async #claim(asks: readonly Ask[]): Promise<void> {
    const { store, epoch } = this.#options;
    const lanes = asks.map(({ lane, places, ahead }) => {
      lane.reserved += places;
      lane.ahead += ahead;
      return { lane: lane.record.lane, max: places + ahead };
    });
    const limit = lanes.reduce((sum, { max }) => sum + max, 0);
    const leaseMs = leaseFor(asks.map(({ lane }) => lane));
    this.#open += 1;
    let claimed: Claimed[] | undefined;
    try {
      this.#renew(RENEW_AHEAD_MS);
      claimed = await store.claim({ epoch, lanes, limit, leaseMs });
      this.#gate.passed();
    } catch (thrown) {
      this.#gate.failed(thrown);
    }
    for (const { lane, places, ahead } of asks) {
      lane.reserved -= places;
      lane.ahead -= ahead;
    }
    if (claimed) this.#take(asks, claimed);
    this.#pump();
    this.#end(1);
  }

  /** What was claimed waits for its place; a lane that gave less than asked is cold until woken. */
  #take(asks: readonly Ask[], claimed: readonly Claimed[]): void {
    const unknown: LaneState[] = [];
    const since = this.#options.clock.monotonic();
    this.#open += claimed.length;
    for (const { lane, places, ahead, wakes } of asks) {
      const own = claimed.filter(({ claim }) => claim.lane === lane.record.lane);
      lane.waiting.push(...own.map((one) => ({ claimed: one, since })));
      if (own.length === places + ahead || lane.wakes !== wakes) continue;
      lane.hot = false;
      if (lane.unknown) unknown.push(lane);
    }
    if (unknown.length > 0) void this.#lookout.look(unknown);
  }

  async #run(lane: LaneState, { claimed, since }: WaitingPass): Promise<void> {
    const { clock } = this.#options;
    const { record } = lane;
    lane.running += 1;
    lane.served = this.#served += 1;
    await this.#predecessor(claimed);
    const startedAt = clock.now();
    const started = clock.monotonic();
    const outcome = (await this.#calledOff(claimed, since)) ?? (await this.#pass(record, claimed));
    const durationMs = clock.monotonic() - started;
    lane.running -= 1;
    keepPace(lane, durationMs);
    const ended = { claimed, record, outcome, startedAt, durationMs: Math.round(durationMs) };
    const settled = this.#settle(lane, ended);
    // In the same turn as the settle, so that both share one commit of the store: the freed place is
    // filled without a second one.
    this.#pump();
    await settled;
    this.#end(1);
  }

  /** How a pass ends that should not begin; it counts as no attempt, and its key stays ready. */
  async #calledOff(claimed: Claimed, since: number): Promise<PassOutcome | undefined> {
    const fault = this.#aborted;
    if (fault) return { kind: "crashed", fault, message: "called off before it began" };
    if (this.#options.clock.monotonic() - since <= FRESH_MS) return undefined;
    const { uid, key, generation } = claimed.resource.metadata;
    const ref = { project: claimed.project, resourceManager: claimed.manager, key };
    const now = await this.#options.store.get(ref).catch(() => undefined);
    const found = now?.resource.metadata;
    if (found?.uid === uid && found.generation === generation && !now?.suspended) return undefined;
    const message = "called off before it began: its resource changed while it waited for a place";
    return { kind: "crashed", fault: "shutdown", message };
  }

  async #pass(record: ManagerRecord, claimed: Claimed): Promise<PassOutcome> {
    const key = keyOf(claimed);
    const pass = startPass(this.#options, this.#options.runnerOf(record), record, claimed);
    this.#running.set(key, pass);
    const outcome = await pass.done;
    this.#running.delete(key);
    return outcome;
  }

  /**
   * No key runs twice at once, also where a claim expired under a pass that still runs (F-5), or
   * the resource of that pass was deleted and made anew.
   */
  async #predecessor(claimed: Claimed): Promise<void> {
    const key = keyOf(claimed);
    for (let before = this.#running.get(key); before; before = this.#running.get(key)) {
      const { uid } = before.claimed.claim;
      this.#options.log.warn("A pass that lost its claim still ran when its key came up", { uid });
      before.abort("lease-lost");
      await before.done;
    }
  }

  async #settle(lane: LaneState, ended: Ended): Promise<void> {
    const { log, changes } = this.#options;
    if (ended.outcome.kind === "requeue") heat(lane);
    const receipt = await settlePass({ ...this.#options, gate: this.#gate }, ended);
    if (!receipt) return;
    this.#counts[receipt.record.outcome === "failed" ? "failed" : "done"] += 1;
    if (receipt.readyAt !== undefined) this.#lookout.note(lane, receipt.readyAt);
    changes.touch([touchedBy(ended.claimed)]);
    log.info("Reconciled", { ...receipt.record });
  }

  #beat(): void {
    this.#heartbeat = this.#options.clock.schedule(() => this.#beat(), LIMITS.heartbeatMs);
    this.#renew(LIMITS.claimMarginMs);
    void this.#lookout.look();
  }

  /** Extends claims that would run out within `withinMs` while they are needed (T-3). */
  #renew(withinMs: number): void {
    const now = this.#options.clock.now();
    for (const lane of this.#lanes.values()) {
      for (const { claimed } of lane.waiting) {
        if (claimed.expiresAt - now <= withinMs) this.#extend(lane, claimed);
      }
    }
    for (const { claimed, abort } of this.#running.values()) {
      if (claimed.expiresAt - now > withinMs) continue;
      const lane = this.#lanes.get(claimed.claim.lane) as LaneState;
      this.#extend(lane, claimed, () => abort("lease-lost"));
    }
  }

  #extend(lane: LaneState, claimed: Claimed, lost: () => void = () => undefined): void {
    const { clock, store, log } = this.#options;
    const before = claimed.expiresAt;
    claimed.expiresAt = clock.now() + leaseFor([lane]);
    store.renew(claimed.claim, claimed.expiresAt).catch((thrown: unknown) => {
      claimed.expiresAt = before;
      const error = toPiWorkflowsError(thrown);
      log.warn("A claim could not be renewed", { uid: claimed.claim.uid, error });
      if (error.code === "LEASE_LOST") lost();
    });
  }

  #end(count: number): void {
    this.#open -= count;
    if (this.#open === 0) this.#drained?.();
  }
}

function keyOf({ claim, resource }: Claimed): string {
  return `${claim.lane}\0${resource.metadata.key}`;
}
