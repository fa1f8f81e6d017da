import type { RunnerFault } from "../../src/model/pass.ts";
import type { PassOutcome } from "../../src/model/pass.ts";
import { LIMITS } from "../../src/model/limits.ts";
import { crashed, faultOf, type Crash } from "../../src/runner/fault.ts";
import { startPass } from "../../src/runner/pass.ts";
import type { MapOutcome, PassHost, PassRequest, RunnerPort } from "../../src/runner/port.ts";
import type { RunControl, RunHost, RunOutcome, RunPass } from "../../src/runner/run-port.ts";
import { executeRun } from "../../src/runner/run/execute-run.ts";
import { Channel } from "./channel.ts";
import type { Oracle } from "./oracle.ts";
import { Proc } from "./proc.ts";
import { compiledWorkflow, managersAt, placeRun, type MANAGERS } from "./programs.ts";
import type { Provider } from "./provider.ts";
import { never, type World } from "./world.ts";

export type RunnerOptions = {
  world: World;
  provider: Provider;
  oracle: Oracle;
  /** The server's own process. */
  server: Proc;
  /** Uids that a process of the machine works on, whichever server started it. */
  working: Map<string, Proc>;
};

const LONGEST_SILENCE_MS = 60_000;

type Task<T> = { uid: string; deadlineMs: number; signal: AbortSignal; begin: Begin<T> };
type Begin<T> = (proc: Proc, channel: Channel, signal: AbortSignal) => Promise<T>;

/** Runners as processes of the simulated machine: real passes and runs, that die, hang and are late. */
export class SimulatedRunner implements RunnerPort {
  readonly #options: RunnerOptions;
  /** How each is killed by somebody. */
  readonly #live = new Map<Proc, (fault: RunnerFault) => void>();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  run(request: PassRequest, host: PassHost, signal: AbortSignal): Promise<PassOutcome> {
    const { world, provider } = this.#options;
    const { uid } = request.resource.metadata;
    const { deadlineMs, name } = request.manager;
    return this.#start<PassOutcome>({
      uid,
      deadlineMs,
      signal,
      begin: (proc, channel, ownSignal) => {
        const manager = managersAt({ world, provider, proc })[name as (typeof MANAGERS)[number]];
        const pass = structuredClone(request);
        const { result, abandon } = startPass(manager, {
          pass,
          host: channel.passHost(host),
          signal: ownSignal,
          now: world.wall,
        });
        proc.onDeath(abandon);
        return result;
      },
    });
  }

  execute(pass: RunPass, host: RunHost, control: RunControl): Promise<RunOutcome> {
    const { world, provider } = this.#options;
    return this.#start<RunOutcome>({
      uid: pass.runId,
      deadlineMs: Math.max(0, pass.remainingMs) + LIMITS.endRunMs,
      signal: control.signal,
      begin: (proc, channel, signal) => {
        placeRun(pass.runId, { world, provider, proc });
        return executeRun({
          workflow: compiledWorkflow(pass.workflow),
          pass: structuredClone(pass),
          host: channel.runHost(host),
          control: {
            signal,
            onNotice: (listen) =>
              control.onNotice((notice) => void channel.notify(() => listen(notice))),
          },
          clock: proc.clock,
        });
      },
    });
  }

  map(): Promise<MapOutcome> {
    return Promise.resolve(crashed("load-failed", "nothing is mapped here"));
  }

  stats(): { alive: number; busy: number } {
    return { alive: this.#live.size, busy: this.#live.size };
  }

  stop(): Promise<void> {
    for (const kill of this.#live.values()) kill("shutdown");
    return Promise.resolve();
  }

  /** One of the runners is killed by somebody. */
  killOne(): void {
    const { world } = this.#options;
    const kills = [...this.#live.values()];
    if (kills.length === 0) return;
    world.note("runner killed");
    world.random.pick(kills)("signal");
  }

  #start<T>(task: Task<T>): Promise<T | Crash> {
    const { world, server, working, oracle } = this.#options;
    const { random, faults } = world;
    // It died a moment ago, and has not come to where it waits for something.
    if (!server.isAlive) return never();
    if (working.get(task.uid)?.isAlive) {
      oracle.fail(`F-5, Q-7: ${task.uid} is worked on twice at once`);
    }
    if (random.chance(faults.neverReady)) {
      world.note("runner never ready");
      return Promise.resolve(crashed("never-ready", "simulated"));
    }
    const proc = new Proc(world);
    working.set(task.uid, proc);
    // Runners end with their server.
    server.onDeath(() => proc.die());
    return new Promise((resolve) => this.#live.set(proc, this.#supervise(proc, task, resolve)));
  }

  #supervise<T>(
    proc: Proc,
    task: Task<T>,
    resolve: (outcome: T | Crash) => void,
  ): (fault: RunnerFault) => void {
    const { world, server } = this.#options;
    const own = new AbortController();
    let fault: RunnerFault | undefined;
    const end = (outcome: T | Crash): void => {
      if (!this.#live.delete(proc)) return;
      proc.die();
      cancelDeadline();
      task.signal.removeEventListener("abort", onAbort);
      resolve(outcome);
    };
    const kill = (why: RunnerFault): void => end(crashed(why, `simulated: ${why}`));
    const callOff = (why: RunnerFault): void => {
      if (fault) return;
      fault = why;
      own.abort(why);
      server.clock.schedule(() => kill(why), LIMITS.killGraceMs);
    };
    const onAbort = (): void => callOff(faultOf(task.signal));
    const cancelDeadline = server.clock.schedule(() => callOff("deadline"), task.deadlineMs);
    task.signal.addEventListener("abort", onAbort);
    if (task.signal.aborted) onAbort();
    // A runner that can't speak to its server exits; one that hangs meets the deadline of its pass.
    const onBroken = (): void => {
      const left = world.random.between(0, LONGEST_SILENCE_MS);
      server.clock.schedule(() => kill("exit"), left);
    };
    const isSlow = world.random.chance(world.faults.runnerSlow);
    if (isSlow) world.note("runner slow");
    const channel = new Channel({ world, server, proc, isSlow, onBroken });
    void proc
      .awaiting(task.begin(proc, channel, own.signal))
      .then((outcome) => channel.tell(() => end(fault ? crashed(fault, "called off") : outcome)));
    return kill;
  }
}
