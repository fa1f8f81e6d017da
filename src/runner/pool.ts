import { LIMITS } from "../model/limits.ts";
import type { PassOutcome, RunnerFault } from "../model/pass.ts";
import type { Clock, Log } from "../model/ports.ts";
import { crashed, faultOf, type Crash } from "./fault.ts";
import { holdLifeline } from "./lifeline.ts";
import { messageOf } from "./message.ts";
import { recordRunner } from "./orphans.ts";
import type { MapHost, MapOutcome, MapRequest, PassHost, PassRequest, RunnerPort } from "./port.ts";
import { RunnerProcess, type ProcessLimits } from "./process.ts";
import type { RunControl, RunHost, RunNotice, RunOutcome, RunPass } from "./run-port.ts";
import type { Ending } from "./task.ts";

/** The limits of a pool; each defaults to the one of LIMITS. */
export type PoolLimits = ProcessLimits & {
  runnerHeapMiB: number;
  runnerRecycleBytes: number;
  runnerRecycleMs: number;
  runnerIdleMs: number;
  /** Most runners alive at once. */
  concurrency: number;
};

export type RunnerPoolOptions = {
  /** The state folder, under which live runners are noted for `reapOrphans`. */
  home: string;
  /** Tells this server's runners from every other process; a fresh one for each server start. */
  token: string;
  /** Absolute path of the bundle with this digest. */
  bundlePath: (digest: string) => string;
  /** What runners get as their environment, whole: definitions need GITHUB_TOKEN, PATH, HOME. */
  env: NodeJS.ProcessEnv;
  limits?: Partial<PoolLimits>;
  clock: Clock;
  log: Log;
};

type Member = {
  process: RunnerProcess;
  digest: string;
  startedAt: number;
  cancelIdle: () => void;
};
/** A runner to use, or the outcome of a pass that can't have one. */
type Room = Member | Crash;
type Waiter = { digest: string; take(room: Room): void };

/**
 * Runs passes in child processes, which are kept warm by bundle digest and run one pass at a time.
 * A runner is let go when its digest is not the one wanted and room is needed, when it is too old or
 * too large, when it has been idle, and whenever something of a pass may still run in it.
 */
export function createRunnerPool(options: RunnerPoolOptions): RunnerPort {
  return new RunnerPool(options);
}

class RunnerPool implements RunnerPort {
  readonly #options: RunnerPoolOptions;
  readonly #limits: PoolLimits;
  readonly #members = new Set<Member>();
  /** Warm runners without a pass, most recently used last. */
  readonly #idle: Member[] = [];
  readonly #waiters: Waiter[] = [];
  #stopped = false;

  constructor(options: RunnerPoolOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  stats(): { alive: number; busy: number } {
    return { alive: this.#members.size, busy: this.#members.size - this.#idle.length };
  }

  run(pass: PassRequest, host: PassHost, signal: AbortSignal): Promise<PassOutcome> {
    return this.#use(pass.manager.digest, signal, (process) => process.run(pass, host));
  }

  execute(pass: RunPass, host: RunHost, { signal, onNotice }: RunControl): Promise<RunOutcome> {
    let early: RunNotice[] = [];
    let tell = (notice: RunNotice): void => void early.push(notice);
    onNotice((notice) => tell(notice));
    return this.#use(pass.digest, signal, (process) => {
      const outcome = process.execute(pass, host);
      tell = (notice) => process.notice(notice);
      early.forEach(tell);
      early = [];
      return outcome;
    });
  }

  map(request: MapRequest, host: MapHost, signal: AbortSignal): Promise<MapOutcome> {
    return this.#use(request.manager.digest, signal, (process) => process.map(request, host));
  }

  async #use<T>(
    digest: string,
    signal: AbortSignal,
    work: (process: RunnerProcess) => Promise<Ending<T>>,
  ): Promise<T | Crash> {
    const member = await this.#acquire(digest, signal);
    if ("kind" in member) return member;
    const abort = (): void => member.process.abort(faultOf(signal), "the pass was called off");
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
    try {
      await member.process.ready;
      const { outcome, rss, retire } = await work(member.process);
      if (retire || this.#isSpent(member, rss)) await this.#discard(member, retire);
      else this.#release(member);
      return outcome;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const waiter of this.#waiters.splice(0)) waiter.take(calledOff("shutdown"));
    const members = [...this.#members];
    for (const { process } of members) process.abort("shutdown", "the server stops");
    await Promise.all(members.map(({ process }) => process.gone));
  }

  async #acquire(digest: string, signal: AbortSignal): Promise<Room> {
    if (this.#stopped) return calledOff("shutdown");
    if (signal.aborted) return calledOff(faultOf(signal));
    const fits = (member: Member): boolean =>
      member.digest === digest && member.process.state === "ready";
    const warm = this.#takeIdle(this.#idle.findLastIndex(fits));
    if (warm) return warm;
    if (this.#members.size < this.#limits.concurrency) return this.#start(digest);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        digest,
        take: (room) => {
          signal.removeEventListener("abort", leave);
          resolve(room);
        },
      };
      const leave = (): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        waiter.take(calledOff(faultOf(signal)));
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiters.push(waiter);
      const oldest = this.#takeIdle(0);
      if (oldest) void this.#discard(oldest, false);
    });
  }

  #start(digest: string): Room {
    const { token, env, clock, log, bundlePath } = this.#options;
    const heapMiB = this.#limits.runnerHeapMiB;
    let process: RunnerProcess;
    try {
      process = new RunnerProcess(
        { bundlePath: bundlePath(digest), env, token, heapMiB },
        this.#limits,
        clock,
      );
    } catch (error) {
      return crashed("never-ready", `could not be started: ${messageOf(error)}`);
    }
    const member: Member = { process, digest, startedAt: clock.monotonic(), cancelIdle: () => {} };
    this.#members.add(member);
    log.debug("runner started", { pid: process.pid, digest });
    void this.#bury(member, this.#note(process.pid));
    return member;
  }

  /** Notes a runner for the day on which this server is killed; returns what takes that back. */
  #note(pid: number | undefined): (() => void)[] {
    if (pid === undefined) return [];
    const { home, token, log } = this.#options;
    const notes = [holdLifeline(pid)];
    try {
      notes.push(recordRunner(home, pid, token));
    } catch (error) {
      // A full disk must not stop passes that would make room on it; the lifeline holds.
      log.warn("runner not recorded", { pid, error: messageOf(error) });
    }
    return notes;
  }

  async #bury(member: Member, notes: (() => void)[]): Promise<void> {
    const { process, digest } = member;
    await process.gone;
    for (const forget of notes) forget();
    this.#members.delete(member);
    this.#takeIdle(this.#idle.indexOf(member));
    const { log } = this.#options;
    const ended = { pid: process.pid, digest, ...process.reason, ...process.output };
    if (process.reason?.fault === "shutdown") log.info("runner ended", ended);
    else log.warn("runner ended", ended);
    this.#serveWaiter();
  }

  #takeIdle(index: number): Member | undefined {
    const [member] = index < 0 ? [] : this.#idle.splice(index, 1);
    member?.cancelIdle();
    return member;
  }

  #isSpent({ startedAt }: Member, rss: number): boolean {
    const age = this.#options.clock.monotonic() - startedAt;
    return age >= this.#limits.runnerRecycleMs || rss >= this.#limits.runnerRecycleBytes;
  }

  #discard({ process }: Member, broken: boolean): Promise<void> {
    return process.stop(
      "shutdown",
      broken ? "something of a pass still ran" : "not needed any more",
    );
  }

  #release(member: Member): void {
    const next = this.#waiters[0];
    if (next === undefined) return this.#rest(member);
    if (next.digest !== member.digest) return void this.#discard(member, false);
    this.#waiters.shift();
    next.take(member);
  }

  #rest(member: Member): void {
    member.cancelIdle = this.#options.clock.schedule(() => {
      this.#takeIdle(this.#idle.indexOf(member));
      void this.#discard(member, false);
    }, this.#limits.runnerIdleMs);
    this.#idle.push(member);
  }

  /** Gives the room of a runner that is gone to the pass that has waited longest. */
  #serveWaiter(): void {
    if (this.#stopped || this.#members.size >= this.#limits.concurrency) return;
    const waiter = this.#waiters.shift();
    waiter?.take(this.#start(waiter.digest));
  }
}

function calledOff(fault: RunnerFault): Crash {
  return crashed(fault, "called off before it began");
}
