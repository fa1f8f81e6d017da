import type { PassOutcome } from "../../src/model/pass.ts";
import type {
  MapOutcome,
  MapRequest,
  PassHost,
  PassRequest,
  RunnerPort,
} from "../../src/runner/port.ts";

import type {
  RunControl,
  RunHost,
  RunNotice,
  RunOutcome,
  RunPass,
} from "../../src/runner/run-port.ts";

/** One pass that a fake runner was given. */
export type FakePass = {
  key: string;
  manager: string;
  request: PassRequest;
  host: PassHost;
  signal: AbortSignal;
  end(outcome?: PassOutcome): void;
};

/** One pass of a run that a fake runner was given. */
export type FakeRun = {
  request: RunPass;
  host: RunHost;
  signal: AbortSignal;
  notices: RunNotice[];
  end(outcome: RunOutcome): void;
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

  /** Passes of runs under way, oldest first. */
  readonly executing: FakeRun[] = [];

  execute(request: RunPass, host: RunHost, control: RunControl): Promise<RunOutcome> {
    return new Promise((resolve) => {
      const run: FakeRun = {
        request,
        host,
        signal: control.signal,
        notices: [],
        end: (outcome) => {
          const index = this.executing.indexOf(run);
          if (index >= 0) this.executing.splice(index, 1);
          resolve(outcome);
        },
      };
      control.onNotice((notice) => void run.notices.push(notice));
      this.executing.push(run);
    });
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
    const gone = { kind: "crashed", fault: "shutdown", message: "the server stops" } as const;
    this.endAll(gone);
    for (const run of this.executing.splice(0)) run.end(gone);
    return Promise.resolve();
  }

  #count(manager: string): void {
    const own = this.running.filter((pass) => pass.manager === manager).length;
    this.peak.set(manager, Math.max(this.peak.get(manager) ?? 0, own));
    this.peak.set("", Math.max(this.peak.get("") ?? 0, this.running.length));
  }
}
