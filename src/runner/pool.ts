import { LIMITS } from "../model/limits.ts";
import type { PassOutcome } from "../model/pass.ts";
import type { Clock, Log } from "../model/ports.ts";
import { crashed, faultOf } from "./fault.ts";
import { holdLifeline } from "./lifeline.ts";
import { recordRunner } from "./orphans.ts";
import type { PassHost, PassRequest, RunnerPort } from "./port.ts";
import { RunnerProcess, type ProcessLimits } from "./process.ts";

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
type Waiter = { digest: string; take(member: Member | undefined): void };

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

  async run(pass: PassRequest, host: PassHost, signal: AbortSignal): Promise<PassOutcome> {
    const member = await this.#acquire(pass.manager.digest, signal);
    if (member === undefined) {
      return crashed(this.#stopped ? "shutdown" : faultOf(signal), "called off before it began");
    }
    const abort = (): void => member.process.abort(faultOf(signal), "the pass was called off");
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
    try {
      await member.process.ready;
      const { outcome, rss, retire } = await member.process.run(pass, host);
      if (retire || this.#isSpent(member, rss)) await this.#discard(member, retire);
      else this.#release(member);
      return outcome;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const waiter of this.#waiters.splice(0)) waiter.take(undefined);
    const members = [...this.#members];
    for (const { process } of members) process.abort("shutdown", "the server stops");
    await Promise.all(members.map(({ process }) => process.gone));
  }

  /** A runner of this digest with no pass, or nothing where the pass was called off first. */
  async #acquire(digest: string, signal: AbortSignal): Promise<Member | undefined> {
    if (this.#stopped || signal.aborted) return undefined;
    const warm = this.#takeIdle(this.#idle.findLastIndex((member) => member.digest === digest));
    if (warm) return warm;
    if (this.#members.size < this.#limits.concurrency) return this.#start(digest);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        digest,
        take: (member) => {
          signal.removeEventListener("abort", leave);
          resolve(member);
        },
      };
      const leave = (): void => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        waiter.take(undefined);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiters.push(waiter);
      const oldest = this.#takeIdle(0);
      if (oldest) void this.#discard(oldest, false);
    });
  }

  #start(digest: string): Member {
    const { home, token, env, clock, log, bundlePath } = this.#options;
    const spawn = {
      bundlePath: bundlePath(digest),
      env,
      token,
      heapMiB: this.#limits.runnerHeapMiB,
    };
    const process = new RunnerProcess(spawn, this.#limits, clock);
    const member: Member = { process, digest, startedAt: clock.monotonic(), cancelIdle: () => {} };
    this.#members.add(member);
    const { pid } = process;
    const notes = pid === undefined ? [] : [recordRunner(home, pid, token), holdLifeline(pid)];
    log.debug("runner started", { pid, digest });
    void this.#bury(member, notes);
    return member;
  }

  async #bury(member: Member, notes: (() => void)[]): Promise<void> {
    const { process, digest } = member;
    await process.gone;
    for (const forget of notes) forget();
    this.#members.delete(member);
    this.#takeIdle(this.#idle.indexOf(member));
    this.#options.log.info("runner ended", {
      pid: process.pid,
      digest,
      ...process.reason,
      ...process.output,
    });
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
