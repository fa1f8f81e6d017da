import { LIMITS } from "../model/limits.ts";
import type { PassOutcome, PassResult, RunnerFault } from "../model/pass.ts";
import type { Clock } from "../model/ports.ts";
import type { ResourceManager } from "../resource-managers/define.ts";
import { crashed, faultOf } from "./fault.ts";
import { startPass } from "./pass.ts";
import { mapKeys } from "./map-keys.ts";
import type { RunOutcome, RunPass } from "./run-port.ts";
import type { MapHost, MapOutcome, MapRequest, PassHost, PassRequest, RunnerPort } from "./port.ts";

/**
 * Runs passes of managers that a host program hands over as objects, in that program's process.
 *
 * JavaScript can't be killed. A pass that ignores its abort signal is given up after the grace that
 * a child gets before SIGTERM, so that it holds no one else's place, but its resource stays
 * blocked: later passes of it wait, within their own deadline, until the old function has ended
 * (F-5). What the old function still asks of its context is refused.
 */
export function createInProcessRunner(
  managers: ResourceManager[],
  clock: Clock,
  graceMs: number = LIMITS.killGraceMs,
): RunnerPort {
  return new InProcessRunner(new Map(managers.map((m) => [m.name, m])), clock, graceMs);
}

/** What ends a pass from outside. */
type Limit = {
  signal: AbortSignal;
  /** Resolves when it does. */
  passed: Promise<void>;
  fault: () => RunnerFault;
  cancel: () => void;
};

class InProcessRunner implements RunnerPort {
  readonly #managers: Map<string, ResourceManager>;
  readonly #clock: Clock;
  readonly #graceMs: number;
  /** By uid: the author's function that runs for it, which may have outlived its pass. */
  readonly #running = new Map<string, Promise<PassResult>>();
  readonly #stop = new AbortController();
  #busy = 0;

  constructor(managers: Map<string, ResourceManager>, clock: Clock, graceMs: number) {
    this.#managers = managers;
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  stats(): { alive: number; busy: number } {
    return { alive: 0, busy: this.#busy };
  }

  async stop(): Promise<void> {
    this.#stop.abort("shutdown");
    const grace = this.#alarm(this.#graceMs);
    await Promise.race([Promise.allSettled(this.#running.values()), grace.rung]);
    grace.cancel();
  }

  async run(pass: PassRequest, host: PassHost, signal: AbortSignal): Promise<PassOutcome> {
    const manager = this.#managers.get(pass.manager.name);
    if (manager === undefined) {
      return crashed("load-failed", `no manager ${pass.manager.name} was handed to this server`);
    }
    const limit = this.#limit(pass.manager.deadlineMs, signal);
    this.#busy += 1;
    try {
      return await this.#runWithin(manager, { pass, host, limit });
    } finally {
      this.#busy -= 1;
      limit.cancel();
    }
  }

  async map(request: MapRequest, _host: MapHost, signal: AbortSignal): Promise<MapOutcome> {
    const { name } = request.manager;
    const manager = this.#managers.get(name);
    if (manager === undefined) {
      return crashed("load-failed", `no manager ${name} was handed to this server`);
    }
    const limit = this.#limit(request.deadlineMs, signal);
    try {
      const late = limit.passed.then(() => crashed(limit.fault(), "the map did not end in time"));
      return await Promise.race([mapKeys(manager, request, process.env), late]);
    } finally {
      limit.cancel();
    }
  }

  /** Workflows are files; what a host program hands over are managers. */
  async execute({ workflow }: RunPass): Promise<RunOutcome> {
    return crashed("load-failed", `no workflow ${workflow} was handed to this server`);
  }

  async #runWithin(
    manager: ResourceManager,
    { pass, host, limit }: { pass: PassRequest; host: PassHost; limit: Limit },
  ): Promise<PassOutcome> {
    const { uid } = pass.resource.metadata;
    await Promise.race([this.#running.get(uid), limit.passed]);
    if (this.#running.has(uid))
      return crashed(limit.fault(), "an earlier pass has still not ended");
    if (limit.signal.aborted) return crashed(limit.fault(), "called off before it began");

    const options = { pass, host, signal: limit.signal, now: () => this.#clock.now() };
    const { result, abandon } = startPass(manager, options);
    this.#running.set(uid, result);
    void result.finally(() => this.#running.delete(uid));

    await Promise.race([result, limit.passed]);
    if (!limit.signal.aborted) return result;
    const grace = this.#alarm(this.#graceMs);
    await Promise.race([result, grace.rung]);
    grace.cancel();
    abandon();
    return crashed(limit.fault(), `the pass did not end in time: ${limit.fault()}`);
  }

  /** Passes when the deadline does, the pass is called off, or the server stops. */
  #limit(deadlineMs: number, signal: AbortSignal): Limit {
    const controller = new AbortController();
    let fault: RunnerFault = "deadline";
    const end = (why: RunnerFault): void => {
      if (controller.signal.aborted) return;
      fault = why;
      controller.abort(new DOMException(`the pass ends: ${why}`, "AbortError"));
    };
    const passed = new Promise<void>((resolve) => {
      controller.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    const cancelDeadline = this.#clock.schedule(() => end("deadline"), deadlineMs);
    const callOff = (): void => end(faultOf(signal));
    const stop = (): void => end("shutdown");
    signal.addEventListener("abort", callOff);
    this.#stop.signal.addEventListener("abort", stop);
    if (signal.aborted) callOff();
    if (this.#stop.signal.aborted) stop();
    return {
      signal: controller.signal,
      passed,
      fault: () => fault,
      cancel: () => {
        cancelDeadline();
        signal.removeEventListener("abort", callOff);
        this.#stop.signal.removeEventListener("abort", stop);
      },
    };
  }

  #alarm(delayMs: number): { rung: Promise<void>; cancel: () => void } {
    let cancel = (): void => {};
    const rung = new Promise<void>((resolve) => {
      cancel = this.#clock.schedule(resolve, delayMs);
    });
    return { rung, cancel };
  }
}
