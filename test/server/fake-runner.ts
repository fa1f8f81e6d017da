import type { PassOutcome } from "../../src/model/pass.ts";
import type {
  MapOutcome,
  MapRequest,
  PassHost,
  PassRequest,
  RunnerPort,
} from "../../src/runner/port.ts";

import type { RunOutcome } from "../../src/runner/run-port.ts";

/** One pass that a fake runner was given. */
export type FakePass = {
  key: string;
  manager: string;
  request: PassRequest;
  host: PassHost;
  signal: AbortSignal;
  end(outcome?: PassOutcome): void;
};

/** A runner whose passes end when the test says so, or at once with `answer`. */
export class FakeRunner implements RunnerPort {
  /** Passes under way, oldest first. */
  readonly running: FakePass[] = [];
  /** Every pass that was begun: `manager/key`. */
  readonly begun: string[] = [];
  /** Most passes at once, in all and by manager. */
  readonly peak = new Map<string, number>();
  /** Ends passes by itself; undefined leaves them to the test. */
  answer: ((pass: FakePass) => PassOutcome | undefined) | undefined;

  /** Every question of a source. */
  readonly asked: MapRequest[] = [];
  /** Answers a source; by default with no keys. */
  keysOf: (request: MapRequest) => MapOutcome = () => ({ kind: "keys", keys: [] });

  map(request: MapRequest): Promise<MapOutcome> {
    this.asked.push(request);
    return Promise.resolve(this.keysOf(request));
  }

  /** Runs of workflows are not for this runner. */
  execute(): Promise<RunOutcome> {
    return Promise.resolve({ kind: "failed", message: "no runs here", terminal: true });
  }

  run(request: PassRequest, host: PassHost, signal: AbortSignal): Promise<PassOutcome> {
    return new Promise((resolve) => {
      const { key } = request.resource.metadata;
      const pass: FakePass = {
        key,
        manager: request.manager.name,
        request,
        host,
        signal,
        end: (outcome = { kind: "settled" }) => {
          const index = this.running.indexOf(pass);
          if (index >= 0) this.running.splice(index, 1);
          resolve(outcome);
        },
      };
      this.running.push(pass);
      this.begun.push(`${pass.manager}/${key}`);
      this.#count(pass.manager);
      const outcome = this.answer?.(pass);
      if (outcome) pass.end(outcome);
    });
  }

  /** The pass of `key` that runs. */
  of(key: string): FakePass {
    const found = this.running.find((pass) => pass.key === key);
    if (!found) throw new Error(`${key} does not run; running: ${this.keys().join(", ")}`);
    return found;
  }

  keys(): string[] {
    return this.running.map(({ key }) => key);
  }

  /** Ends every pass that runs now. */
  endAll(outcome?: PassOutcome): void {
    for (const pass of this.running.splice(0)) pass.end(outcome);
  }

  stats(): { alive: number; busy: number } {
    return { alive: 0, busy: this.running.length };
  }

  stop(): Promise<void> {
    this.endAll({ kind: "crashed", fault: "shutdown", message: "the server stops" });
    return Promise.resolve();
  }

  #count(manager: string): void {
    const own = this.running.filter((pass) => pass.manager === manager).length;
    this.peak.set(manager, Math.max(this.peak.get(manager) ?? 0, own));
    this.peak.set("", Math.max(this.peak.get("") ?? 0, this.running.length));
  }
}
