import type { Target } from "../../apply/target.ts";
import { PiWorkflowsError, toPiWorkflowsError } from "../../model/errors.ts";
import type { Clock, Log } from "../../model/ports.ts";
import type { SyncReport, SyncRevision, SyncSet } from "../../model/sync.ts";
import type { WarmResolver } from "../../runner/warm-resolver.ts";
import type { ResourceManagerStore } from "../../store/store.ts";
import type { Changes } from "../changes.ts";
import type { SyncActivity, SyncStatus } from "../protocol.ts";
import { Backoff } from "./backoff.ts";
import { Moved } from "./load.ts";
import type { Memory } from "./memory.ts";
import type { Consent } from "./plan-revision.ts";
import { Recorder } from "./recorder.ts";
import { afterFailure, afterTrouble, underNewName } from "./report.ts";
import { SettleTimer } from "./settle-timer.ts";
import type { Source, SourceServices } from "./source.ts";
import { syncOnce, type SyncJob } from "./sync-once.ts";
import { Waiters, type Waiter } from "./waiters.ts";

/** What every loop needs of the server. */
export type LoopServices = {
  store: ResourceManagerStore;
  target: Target;
  clock: Clock;
  log: Log;
  changes: Changes;
  resolver: Pick<WarmResolver, "prepare" | "resolve">;
  globalFolder: string;
  /** In [0, 1): jitter of backoff. */
  random: () => number;
  /** Called whenever the status of the set is another one. */
  onChange: () => void;
};

// Catches lost hints: one round trip to a git process that is there anyway (notes of the design: a
// sweep each 2 to 5 seconds).
const SWEEP_MS = 5_000;
// A process that starts for nothing takes 100 ms of a core: so often it is 0.2 % (goal M3).
const BETWEEN_PREPARATIONS_MS = 60_000;

/** Opens the source of a set. */
export type OpenSource = (set: SyncSet, services: SourceServices) => Source;

/**
 * Keeps one set in step with its source: dirty → settle → look → load → plan → apply → report, one
 * at a time. Hints and requests only say that it is dirty; what is newer than what is being loaded
 * calls that off.
 */
export class SyncLoop {
  readonly #services: LoopServices;
  readonly #source: Source;
  readonly #settle: SettleTimer;
  readonly #backoff: Backoff;
  #set: SyncSet;
  readonly #recorder: Recorder;
  #activity: SyncActivity;
  #memory: Memory | undefined;
  readonly #waiters = new Waiters();
  #dirty = true;
  /** The store may have changed, or another try is due: the plan is made again, same tree or not. */
  #again = true;
  /** Files changed while they were loaded, so what they are now is looked for. */
  #moved = false;
  #emptyIsMeantAt: string | undefined;
  #loading: { revision: string; controller: AbortController } | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;
  #preparedUntil = Number.NEGATIVE_INFINITY;
  #cancelTimers: (() => void)[] = [];

  constructor(
    services: LoopServices,
    stored: { set: SyncSet; report: SyncReport },
    openSource: OpenSource,
  ) {
    this.#services = services;
    this.#set = stored.set;
    this.#recorder = new Recorder(services, stored.set.project, stored.report);
    this.#activity = { state: "waiting", since: services.clock.now() };
    const { clock, globalFolder } = services;
    this.#source = openSource(stored.set, { clock, globalFolder, onHint: () => this.#hint() });
    this.#settle = new SettleTimer(clock, () => this.#wake());
    this.#backoff = new Backoff(clock, services.random);
  }

  /** `isAwaited`: whoever enabled the set asks for its first sync, and should see what that did. */
  start({ isAwaited = false } = {}): void {
    if (isAwaited) this.#waiters.awaitFirst();
    this.#wake();
  }

  status(): SyncStatus {
    return { set: this.#set, report: this.#recorder.report, activity: this.#activity };
  }

  /** What a resolver must know to read what is applied; nothing where that can't be told. */
  reading(): ReturnType<Source["reading"]> {
    const { applied } = this.#recorder.report;
    return applied && this.#memory ? this.#source.reading(applied.revision) : {};
  }

  /** Takes over what can change without another source: `suspended`. */
  configure(set: SyncSet): void {
    this.#set = set;
    this.recheck();
  }

  /** Somebody changed the store: what drifted is set right. */
  recheck(): void {
    this.#again = true;
    this.#hint();
  }

  /** Syncs whatever there is, and resolves when that is done. */
  now(consent: Consent = {}): Promise<SyncStatus> {
    if (this.#stopped) return Promise.reject(ended());
    const answer = this.#waiters.add(consent);
    this.#backoff.reset();
    this.#wake();
    return answer;
  }

  /** Ends it; what is being applied is applied to its end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#settle.cancel();
    this.#clearTimers();
    this.#loading?.controller.abort();
    // A look may wait for files to settle, and closing ends that wait.
    await Promise.all([this.#running, this.#source.close()]);
    this.#waiters.refuse(ended());
  }

  #hint(): void {
    if (this.#stopped) return;
    if (!this.#running) this.#enter({ state: "settling" });
    this.#settle.touch();
    this.#prepare();
  }

  // Git shows that it is at work some milliseconds before a branch moves; but most hints are about
  // something else, such as an editor that asks git for its status.
  #prepare(): void {
    const now = this.#services.clock.monotonic();
    if (now < this.#preparedUntil) return;
    this.#preparedUntil = now + BETWEEN_PREPARATIONS_MS;
    this.#services.resolver.prepare(this.#set.project);
  }

  /** Begins a turn; during one, sees to it that another follows. */
  #wake(): void {
    if (this.#stopped) return;
    this.#dirty = true;
    if (this.#running) {
      void this.#supersede();
      return;
    }
    this.#running = this.#turn().finally(() => {
      this.#running = undefined;
      // Between the turn's last look and here somebody may have asked for another.
      if (this.#dirty) this.#wake();
    });
  }

  async #turn(): Promise<void> {
    this.#clearTimers();
    while (this.#dirty && !this.#stopped) {
      this.#dirty = false;
      await this.#step();
    }
    if (!this.#stopped) this.#rest();
  }

  /** Calls off what is being loaded where the source has moved on. */
  async #supersede(): Promise<void> {
    const loading = this.#loading;
    if (!loading) return;
    const look = await this.#source.look(false);
    if (!("revision" in look) || look.revision.id === loading.revision) return;
    loading.controller.abort();
  }

  async #step(): Promise<void> {
    const waiters = this.#waiters.take();
    const again = this.#again || waiters.length > 0;
    this.#again = false;
    let isOver = true;
    try {
      const look = await this.#source.look(waiters.length > 0 || this.#moved);
      this.#moved = false;
      if (this.#stopped) {
        isOver = false;
      } else if ("trouble" in look) {
        const { report } = this.#recorder;
        await this.#recorder.put(afterTrouble(report, look.trouble, this.#services.clock.now()));
        this.#again = true;
      } else {
        isOver = await this.#sync(look.revision, again, waiters);
      }
    } catch (thrown) {
      this.#services.log.error("A sync could not be recorded", {
        project: this.#set.project,
        error: toPiWorkflowsError(thrown),
      });
      this.#again = true;
    }
    if (isOver) this.#waiters.answer(waiters, this.status());
    else this.#waiters.giveBack(waiters);
  }

  /** False where it was called off: another one takes its place, and its waiters. */
  async #sync(revision: SyncRevision, again: boolean, waiters: Waiter[]): Promise<boolean> {
    const { report } = this.#recorder;
    const { attempted } = report;
    if (attempted?.revision.id !== revision.id) this.#backoff.reset();
    else if (!again) return true;
    if (!again && this.#memory && attempted && isSettled(attempted, revision)) {
      this.#memory = { ...this.#memory, revision };
      await this.#recorder.put(underNewName(report, revision, this.#services.clock.now()));
      return true;
    }
    const controller = new AbortController();
    // Starts while files are listed.
    this.#services.resolver.prepare(this.#set.project);
    this.#preparedUntil = Number.NEGATIVE_INFINITY;
    try {
      const consent = this.#consent(revision, waiters);
      const { record, memory, retry } = await syncOnce(this.#job(revision, consent, controller));
      this.#memory = memory;
      this.#source.include(memory.modules);
      if (retry) this.#backoff.failed();
      else this.#backoff.reset();
      await this.#recorder.put(record);
    } catch (thrown) {
      this.#moved = thrown instanceof Moved;
      if (controller.signal.aborted || this.#moved || this.#stopped) {
        this.#again = again;
        this.#dirty = true;
        return false;
      }
      await this.#failed(revision, thrown);
    } finally {
      this.#loading = undefined;
    }
    return true;
  }

  #job(revision: SyncRevision, consent: Consent, controller: AbortController): SyncJob {
    const { store, target, clock, resolver, globalFolder } = this.#services;
    const { signal } = controller;
    const set = this.#set;
    return {
      set,
      revision,
      context: {
        project: set.project,
        source: this.#source,
        resolve: resolver.resolve,
        globalFolder,
        signal,
      },
      memory: this.#memory,
      consent,
      before: this.#recorder.report,
      store,
      target,
      clock,
      onPhase: (state) => {
        this.#loading = state === "applying" ? undefined : { revision: revision.id, controller };
        this.#enter({ state, revision: revision.id });
      },
    };
  }

  /** What the waiting persons allowed; that an empty set is meant holds for its revision. */
  #consent(revision: SyncRevision, waiters: readonly Waiter[]): Consent {
    const given = Object.assign({}, ...waiters.map(({ consent }) => consent)) as Consent;
    if (given.allowEmpty === true) this.#emptyIsMeantAt = revision.id;
    return this.#emptyIsMeantAt === revision.id ? { ...given, allowEmpty: true } : given;
  }

  async #failed(revision: SyncRevision, thrown: unknown): Promise<void> {
    const error = toPiWorkflowsError(thrown);
    this.#backoff.failed();
    const { project } = this.#set;
    this.#services.log.warn("A sync failed", { project, revision: revision.id, error });
    const { report } = this.#recorder;
    await this.#recorder.put(afterFailure(report, revision, error, this.#services.clock.now()));
  }

  /** Waits for a hint, the next sweep, or the time of another try. */
  #rest(): void {
    const { clock } = this.#services;
    this.#cancelTimers.push(clock.schedule(() => this.#wake(), SWEEP_MS));
    const delay = this.#backoff.delay();
    if (delay === undefined) {
      this.#enter({ state: "waiting" });
      return;
    }
    this.#enter({ state: "retrying", retryAt: clock.now() + Math.round(delay) });
    const retry = (): void => {
      this.#backoff.begun();
      this.#again = true;
      this.#wake();
    };
    this.#cancelTimers.push(clock.schedule(retry, delay));
  }

  #clearTimers(): void {
    for (const cancel of this.#cancelTimers.splice(0)) cancel();
  }

  #enter(activity: Omit<SyncActivity, "since">): void {
    const { state, revision } = this.#activity;
    if (state === activity.state && revision === activity.revision) return;
    this.#activity = { ...activity, since: this.#services.clock.now() };
    this.#services.onChange();
  }
}

/** True where a revision that was applied whole has the same tree, so that there is nothing to do. */
function isSettled(
  attempted: NonNullable<SyncReport["attempted"]>,
  { tree }: SyncRevision,
): boolean {
  return attempted.outcome === "applied" && tree !== undefined && attempted.revision.tree === tree;
}

function ended(): PiWorkflowsError {
  return new PiWorkflowsError("SERVER_STOPPING", "this sync has ended");
}
