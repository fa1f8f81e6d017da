import type { ManagerRecord } from "../model/batch.ts";
import { toPiWorkflowsError } from "../model/errors.ts";
import { LIMITS } from "../model/limits.ts";
import type { RunnerFault } from "../model/pass.ts";
import type { Clock } from "../model/ports.ts";
import type { RunnerPort } from "../runner/port.ts";
import type { Claimed, ClaimRequest, Lane } from "../store/store.ts";
import { createGate, type Gate } from "./gate.ts";
import { leaseFor, newLane, share, type Caps, type LaneState } from "./lanes.ts";
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

// A claim is renewed before a claim that would hand out its key when it has less than this left.
const RENEW_AHEAD_MS = 5_000;

/**
 * Turns dirty keys into passes. Nothing here polls: a commit, an enqueue, a settle, or the one timer
 * of the earliest waiting row marks a lane as hot, and hot lanes are claimed while there is room. A
 * slow scan of the store finds what a lost wake left behind.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #lanes = new Map<number, LaneState>();
  readonly #running = new Map<string, Pass>();
  readonly #gate: Gate;
  readonly #counts = { done: 0, failed: 0 };
  #claiming = false;
  /** Passes and claims that have not ended; draining waits for them. */
  #open = 0;
  #drained: (() => void) | undefined;
  #served = 0;
  #scan: "none" | "running" | "again" = "none";
  #timer: { at: number; cancel: () => void } | undefined;
  #heartbeat: (() => void) | undefined;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#gate = createGate(options.clock, options.log, () => this.#pump());
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
    this.#timer?.cancel();
    return new Promise((resolve) => {
      this.#drained = resolve;
      this.#close(0);
    });
  }

  /** Asks every pass under way to stop. */
  abort(fault: RunnerFault): void {
    for (const pass of this.#running.values()) pass.abort(fault);
  }

  #pump(): void {
    if (!this.#claiming || !this.#gate.isOpen()) return;
    const shared = share(this.#lanes.values(), this.#options.caps);
    if (!shared) return this.#arm();
    const asked = shared.lanes.map(({ lane, max }) => {
      const state = this.#lanes.get(lane) as LaneState;
      state.reserved += max;
      return { state, max, wakes: state.wakes };
    });
    const leaseMs = leaseFor(asked.map(({ state }) => state));
    void this.#claim({ epoch: this.#options.epoch, ...shared, leaseMs }, asked);
  }

  async #claim(
    request: ClaimRequest,
    asked: { state: LaneState; max: number; wakes: number }[],
  ): Promise<void> {
    this.#open += 1;
    let claimed: Claimed[] = [];
    try {
      this.#renew(RENEW_AHEAD_MS);
      claimed = await this.#options.store.claim(request);
      this.#gate.passed();
    } catch (thrown) {
      this.#gate.failed(thrown);
    }
    for (const { state, max } of asked) state.reserved -= max;
    for (const one of claimed) void this.#pass(one);
    if (this.#gate.isOpen()) this.#cool(asked, claimed);
    this.#close(1);
    this.#pump();
  }

  /** A lane that gave less than it was asked for has nothing ready until it is woken. */
  #cool(asked: { state: LaneState; max: number; wakes: number }[], claimed: Claimed[]): void {
    let look = false;
    for (const { state, max, wakes } of asked) {
      const got = claimed.filter(({ claim }) => claim.lane === state.record.lane).length;
      if (got === max || state.wakes !== wakes) continue;
      state.hot = false;
      look ||= state.unknown;
    }
    if (look) void this.#look();
  }

  async #pass(claimed: Claimed): Promise<void> {
    const lane = this.#lanes.get(claimed.claim.lane) as LaneState;
    const { clock, log, runnerOf } = this.#options;
    const { uid } = claimed.claim;
    this.#open += 1;
    lane.running += 1;
    lane.served = this.#served += 1;
    const before = this.#running.get(uid);
    if (before) {
      log.warn("A claim expired under a pass that still ran", { uid });
      before.abort("lease-lost");
      await before.done;
    }
    const { record } = lane;
    const startedAt = clock.now();
    const started = clock.monotonic();
    const pass = startPass(this.#options, runnerOf(record), record, claimed);
    this.#running.set(uid, pass);
    const outcome = await pass.done;
    if (this.#running.get(uid) === pass) this.#running.delete(uid);
    lane.running -= 1;
    const durationMs = Math.round(clock.monotonic() - started);
    await this.#settle(lane, { claimed, record, outcome, startedAt, durationMs });
    this.#close(1);
  }

  async #settle(lane: LaneState, ended: Ended): Promise<void> {
    const { log, changes } = this.#options;
    const settling = settlePass({ ...this.#options, gate: this.#gate }, ended);
    // In the same turn as the settle, so that both share one commit of the store: the freed place is
    // filled without a second one.
    if (ended.outcome.kind === "requeue") heat(lane);
    this.#pump();
    const receipt = await settling;
    if (!receipt) return;
    this.#counts[receipt.record.outcome === "failed" ? "failed" : "done"] += 1;
    if (receipt.readyAt !== undefined) this.#note(lane, receipt.readyAt);
    changes.touch([touchedBy(ended.claimed)]);
    log.info("Reconciled", { ...receipt.record });
  }

  #note(lane: LaneState, readyAt: number): void {
    if (readyAt <= this.#options.clock.now()) {
      heat(lane);
      return this.#pump();
    }
    lane.nextReadyAt = Math.min(lane.nextReadyAt ?? readyAt, readyAt);
    lane.noted = Math.min(lane.noted ?? readyAt, readyAt);
    this.#arm();
  }

  /** Sets the one timer to the earliest waiting row. */
  #arm(): void {
    if (!this.#claiming) return;
    const times = [...this.#lanes.values()].flatMap(({ hot, nextReadyAt }) =>
      hot || nextReadyAt === undefined ? [] : [nextReadyAt],
    );
    const at = Math.min(...times);
    if (at === Number.POSITIVE_INFINITY || (this.#timer && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    const { clock } = this.#options;
    const delay = Math.min(Math.max(0, at - clock.now()), LIMITS.maxTimerMs);
    this.#timer = { at, cancel: clock.schedule(() => this.#due(), delay) };
  }

  #due(): void {
    this.#timer = undefined;
    const now = this.#options.clock.now();
    for (const lane of this.#lanes.values()) {
      if (lane.nextReadyAt === undefined || lane.nextReadyAt > now) continue;
      delete lane.nextReadyAt;
      // Others may wait behind it, so an empty claim looks again.
      lane.unknown = true;
      heat(lane);
    }
    this.#pump();
    this.#arm();
  }

  #beat(): void {
    const { clock } = this.#options;
    this.#heartbeat = clock.schedule(() => this.#beat(), LIMITS.heartbeatMs);
    this.#renew(LIMITS.claimMarginMs);
    void this.#look();
  }

  /** Asks the store what is ready and what will be. */
  async #look(): Promise<void> {
    if (this.#scan !== "none") {
      this.#scan = "again";
      return;
    }
    do {
      this.#scan = "running";
      for (const lane of this.#lanes.values()) delete lane.noted;
      try {
        for (const found of await this.#options.store.lanes()) this.#found(found);
      } catch (thrown) {
        this.#options.log.warn("The queue could not be looked at", { error: thrown });
      }
      // Set meanwhile by another caller.
    } while ((this.#scan as string) === "again");
    this.#scan = "none";
    this.#pump();
    this.#arm();
  }

  #found({ lane: id, ready, nextReadyAt }: Lane): void {
    const lane = this.#lanes.get(id);
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

  /** Extends claims that would run out within `withinMs` under passes that still run (T-3). */
  #renew(withinMs: number): void {
    const { clock, store, log } = this.#options;
    for (const pass of this.#running.values()) {
      const { claimed } = pass;
      const lane = this.#lanes.get(claimed.claim.lane);
      if (!lane || claimed.expiresAt - clock.now() > withinMs) continue;
      const expiresAt = clock.now() + leaseFor([lane]);
      const before = claimed.expiresAt;
      claimed.expiresAt = expiresAt;
      store.renew(claimed.claim, expiresAt).catch((thrown: unknown) => {
        claimed.expiresAt = before;
        const error = toPiWorkflowsError(thrown);
        log.warn("A claim could not be renewed", { uid: claimed.claim.uid, error });
        if (error.code === "LEASE_LOST") pass.abort("lease-lost");
      });
    }
  }

  #close(ended: number): void {
    this.#open -= ended;
    if (this.#open === 0) this.#drained?.();
  }
}

function heat(lane: LaneState): void {
  lane.hot = true;
  lane.wakes += 1;
}
