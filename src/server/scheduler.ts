import type { ManagerRecord } from "../model/batch.ts";
import { toPiWorkflowsError } from "../model/errors.ts";
import { LIMITS } from "../model/limits.ts";
import type { PassOutcome, RunnerFault } from "../model/pass.ts";
import type { Clock } from "../model/ports.ts";
import type { RunnerPort } from "../runner/port.ts";
import type { RunNotice } from "../runner/run-port.ts";
import type { Claimed } from "../store/store.ts";
import { parentOf } from "./changes.ts";
import { createGate, type Gate } from "./gate.ts";
import {
  aheadOf,
  heat,
  isOfRuns,
  keepPace,
  laneName,
  leaseFor,
  newLane,
  share,
  type Caps,
  type LaneRecord,
  type LaneState,
  type WaitingPass,
} from "./lanes.ts";
import { Lookout } from "./lookout.ts";
import { SteadyTime } from "../model/steady-time.ts";
import { startPass, touchedBy, type Pass, type PassEnd, type PassServices } from "./pass.ts";
import type { ClaimedRun } from "./runs/pass.ts";
import { settlePass, type Ended } from "./settle.ts";

/** What a scheduler is made of. */
export type SchedulerOptions = PassServices & {
  clock: Clock;
  epoch: number;
  /** The runner of a manager: child processes or this process. */
  runnerOf: (record: ManagerRecord) => RunnerPort;
  /** Starts a pass of a run. */
  startRun: (claimed: ClaimedRun) => Pass;
  caps: Caps;
  /** In [0, 1): jitter of backoff. */
  random: () => number;
};

// A claim with less than this left is renewed before a claim that would hand out its key.
const RENEW_AHEAD_MS = 5_000;

// What was read longer ago than this is looked at again before a pass begins with it.
const FRESH_MS = 50;

/** A pass that has begun, or is over before; times are of the wall and the monotonic clock. */
type Begun = { startedAt: number; started: number; ending: Promise<PassEnd> };

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
  readonly #steady: SteadyTime;
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
    this.#steady = new SteadyTime(clock);
    this.#gate = createGate(clock, log, onHot);
    this.#lookout = new Lookout({ clock, log, store, lanes: this.#lanes, onHot });
  }

  /** Begins to claim. */
  start(): void {
    this.#claiming = true;
    this.#beat();
  }

  /**
   * Makes a lane claimable, or takes over what changed in its definition. Runs of other code than a
   * workflow's are told to stop where they can: they will be parked.
   */
  register(record: LaneRecord): void {
    const known = this.#lanes.get(record.lane);
    const isReplaced = known !== undefined && known.record.digest !== record.digest;
    if (known) known.record = record;
    else this.#lanes.set(record.lane, newLane(record));
    for (const { claimed, run } of isReplaced ? this.#running.values() : []) {
      if (claimed.claim.lane === record.lane) run?.replaced(record.digest);
    }
    this.wake({ project: record.project, manager: laneName(record) });
  }

  /** Tells the runner that works on a run; does nothing where none does. */
  notify(runId: string, notice: RunNotice): void {
    for (const pass of this.#running.values()) {
      if (pass.claimed.claim.uid === runId) pass.run?.notify(notice);
    }
  }

  /** Something of this lane, or of any lane, may be ready. */
  wake(target?: { project: string; manager: string }): void {
    for (const lane of this.#lanes.values()) {
      const { record } = lane;
      const isMeant =
        !target || (record.project === target.project && laneName(record) === target.manager);
      if (isMeant) heat(lane);
    }
    this.#pump();
  }

  /**
   * True when nothing runs, nothing is ready, and nothing will become ready by itself. A run that
   * waits for a person is looked at again at its deadline, which may be far away: that keeps no
   * server. What waits in its lane for a retry is ready within the longest backoff.
   */
  isIdle(): boolean {
    const soon = this.#options.clock.now() + LIMITS.backoffCapMs;
    const waiting = [...this.#lanes.values()].some(
      ({ hot, unknown, record, nextReadyAt = Number.POSITIVE_INFINITY }) =>
        hot || unknown || nextReadyAt <= (isOfRuns(record) ? soon : Number.MAX_SAFE_INTEGER),
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
    // A run may have hours to go: it stops between two nodes, and goes on at the next start.
    for (const pass of this.#running.values()) pass.run?.yield();
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
      const { record } = lane;
      lane.waiting.push(...own.map((one) => ({ claimed: one, since, record })));
      if (own.length === places + ahead || lane.wakes !== wakes) continue;
      lane.hot = false;
      if (lane.unknown) unknown.push(lane);
    }
    if (unknown.length > 0) void this.#lookout.look(unknown);
  }

  async #run(lane: LaneState, waiting: WaitingPass): Promise<void> {
    const { clock } = this.#options;
    const { record } = lane;
    const { claimed } = waiting;
    lane.running += 1;
    lane.served = this.#served += 1;
    const { startedAt, started, ending } = await this.#begin(lane, waiting);
    const end = await ending;
    const durationMs = clock.monotonic() - started;
    lane.running -= 1;
    keepPace(lane, durationMs);
    const ended = { claimed, record, ...end, startedAt, durationMs: Math.round(durationMs) };
    const settled = this.#settle(lane, ended);
    // In the same turn as the settle, so that both share one commit of the store: the freed place is
    // filled without a second one.
    this.#pump();
    await settled;
    this.#end(1);
  }

  /** How a pass ends that should not begin; it counts as no attempt, and its key stays ready. */
  async #calledOff(claimed: Claimed, since: number): Promise<PassOutcome | undefined> {
    const lost = this.#isOvertaken(claimed) ? "lease-lost" : undefined;
    const shutdown = claimed.run && !this.#claiming ? "shutdown" : undefined;
    const fault = this.#aborted ?? lost ?? shutdown;
    if (fault) return { kind: "crashed", fault, message: "called off before it began" };
    // A run is looked at again when its pass begins.
    const isFresh = this.#options.clock.monotonic() - since <= FRESH_MS;
    if (isFresh || claimed.run || (await this.#isAsClaimed(claimed))) return undefined;
    const message = "called off before it began: its resource changed while it waited for a place";
    return { kind: "crashed", fault: "shutdown", message };
  }

  async #isAsClaimed({ project, manager, resource }: Claimed): Promise<boolean> {
    const ref = { project, resourceManager: manager, key: resource.metadata.key };
    const now = await this.#options.store.get(ref).catch(() => undefined);
    const found = now?.resource.metadata;
    const { uid, generation } = resource.metadata;
    return found?.uid === uid && found.generation === generation && !now?.suspended;
  }

  /**
   * Begins a pass, unless it is called off. No key runs twice at once, also where a claim expired under
   * a pass that still runs, or that still waited here (F-5), or where the resource of that pass was
   * deleted and made anew.
   */
  async #begin(lane: LaneState, waiting: WaitingPass): Promise<Begun> {
    const { claimed, since } = waiting;
    const key = keyOf(claimed);
    for (;;) {
      await this.#predecessor(claimed);
      const outcome = await this.#calledOff(claimed, since);
      const startedAt = this.#options.clock.now();
      const started = this.#options.clock.monotonic();
      if (outcome) return { startedAt, started, ending: Promise.resolve({ outcome }) };
      // Another of its key may have begun since.
      if (this.#running.has(key)) continue;
      // As it is now: it may have been replaced while this waited.
      const pass = this.#start(lane.record, waiting);
      this.#running.set(key, pass);
      const over = (): boolean => this.#running.delete(key);
      return { startedAt, started, ending: pass.done.finally(over) };
    }
  }

  #start(record: LaneRecord, { claimed, record: before }: WaitingPass): Pass {
    if (!isOfRuns(record)) {
      return startPass(this.#options, this.#options.runnerOf(record), record, claimed);
    }
    const pass = this.#options.startRun(claimed as ClaimedRun);
    // Replaced while the run was on its way to a runner.
    if (before.digest !== record.digest) pass.run?.replaced(record.digest);
    return pass;
  }

  /** A newer claim of its key has begun. */
  #isOvertaken(claimed: Claimed): boolean {
    const newest = this.#running.get(keyOf(claimed))?.claimed.claim.generation ?? 0;
    return newest > claimed.claim.generation;
  }

  /** Ends what runs of the key by an older claim. */
  async #predecessor(claimed: Claimed): Promise<void> {
    const key = keyOf(claimed);
    for (let before = this.#running.get(key); before; before = this.#running.get(key)) {
      if (this.#isOvertaken(claimed)) return;
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
    const { run, project } = ended.claimed;
    changes.touch([touchedBy(ended.claimed), ...(run ? parentOf(run) : [])]);
    // The end of a child run has made its parent ready, or let it go, in that same transaction.
    if (run?.parent) this.wake({ project, manager: run.parent.resourceManager });
    log.info(run ? "A run was worked on" : "Reconciled", { ...receipt.record });
  }

  #beat(): void {
    this.#heartbeat = this.#options.clock.schedule(() => this.#beat(), LIMITS.heartbeatMs);
    this.#renew(LIMITS.claimMarginMs);
    void this.#lookout.look();
  }

  /** Extends claims that would run out within `withinMs` while they are needed (T-3). */
  #renew(withinMs: number): void {
    const { time } = this.#steady.read();
    for (const lane of this.#lanes.values()) {
      for (const { claimed } of lane.waiting) {
        if (claimed.expiresAt - time <= withinMs) this.#extend(lane, claimed);
      }
    }
    for (const { claimed, abort } of this.#running.values()) {
      if (claimed.expiresAt - time > withinMs) continue;
      const lane = this.#lanes.get(claimed.claim.lane) as LaneState;
      this.#extend(lane, claimed, () => abort("lease-lost"));
    }
  }

  #extend(lane: LaneState, claimed: Claimed, lost: () => void = () => undefined): void {
    const { store, log } = this.#options;
    const { now, time } = this.#steady.read();
    const before = claimed.expiresAt;
    const lease = leaseFor([lane]);
    claimed.expiresAt = time + lease;
    store.renew(claimed.claim, now + lease).catch((thrown: unknown) => {
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
