import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../model/ports.ts";
import type { RunEnding } from "../../model/run.ts";
import { tame } from "../../model/thrown.ts";
import type { CompiledWorkflow } from "../../workflows/compiled.ts";
import { crashed, faultOf } from "../fault.ts";
import { clean, messageOf } from "../message.ts";
import type { WatchedAttempt } from "../run-messages.ts";
import type { RunControl, RunHost, RunOutcome, RunPass } from "../run-port.ts";
import { RunEngine } from "./engine.ts";
import { conform, HandOverError } from "./hand-over.ts";

/** What one pass of a run is executed with. */
export type RunExecution = {
  workflow: CompiledWorkflow;
  pass: RunPass;
  host: RunHost;
  control: RunControl & {
    /** Called once; what it is given gets errors of the author's code that nobody caught. */
    onUncaught?: (listen: (thrown: unknown) => void) => void;
  };
  clock: Clock;
  /** Told of an attempt with a limit of its own before its code is called. */
  onWatch?: (attempt: WatchedAttempt) => void;
  /** Told where code of an attempt that was given up may still run. */
  onStray?: () => void;
};

/**
 * Executes one pass of a run: takes it up where its journal ends, and carries it on to its end or to
 * where only a person can help. Never rejects; when it resolves everything is durable, and nothing
 * of it runs but what `onStray` told of.
 */
export async function executeRun(execution: RunExecution): Promise<RunOutcome> {
  const { workflow, pass } = execution;
  try {
    const what = `the run of ${pass.workflow} was given an input`;
    const input = conform(pass.input, workflow.input, { what, reason: "InvalidInput" });
    return await new Pass(execution, input).run();
  } catch (value) {
    const thrown = tame(value);
    if (thrown instanceof HandOverError) {
      return ran({ state: "failed", reason: "InvalidInput", message: clean(thrown.message) });
    }
    const stack = thrown instanceof Error ? { stack: clean(thrown.stack) } : {};
    return { kind: "failed", message: messageOf(thrown), ...stack, terminal: false };
  }
}

/** So long at most a chain of nodes keeps the event loop from orders, answers and timers. */
const SLICE_MS = 5;

class Pass {
  readonly #execution: RunExecution;
  readonly #engine: RunEngine;
  #wake: () => void = () => {};
  #isAwake = false;
  /** Why the pass ends before its run does. */
  #outcome: RunOutcome | undefined;
  #mustLook = false;
  #cancelDeadline: () => void = () => {};

  constructor(execution: RunExecution, input: unknown) {
    const { workflow, pass, host, clock, onWatch = () => {}, onStray = () => {} } = execution;
    this.#execution = execution;
    this.#engine = new RunEngine({
      workflow,
      pass,
      input,
      host,
      clock,
      onWatch,
      onStray,
      onEvent: () => this.#notify(),
      onLost: (thrown) =>
        this.#end({ kind: "failed", message: messageOf(thrown), terminal: false }),
    });
  }

  async run(): Promise<RunOutcome> {
    const { signal, onNotice, onUncaught } = this.#execution.control;
    const abort = (): void => {
      const fault = faultOf(signal);
      this.#end(crashed(fault, `the pass was called off: ${fault}`));
    };
    let isOpen = false;
    let isPaused = false;
    onNotice((notice) => {
      if (notice === "orders") this.#mustLook = true;
      else if (isOpen) this.#engine.pause();
      else isPaused = true;
      this.#notify();
    });
    onUncaught?.((thrown) => this.#engine.blame(thrown));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      await this.#engine.open();
      isOpen = true;
      if (isPaused) this.#engine.pause();
      this.#armDeadline();
      const ending = await this.#carryOn();
      const isKept = await this.#engine.close();
      if (this.#outcome !== undefined) return this.#outcome;
      return isKept && ending !== undefined ? ran(ending) : NOT_ENDED;
    } finally {
      this.#cancelDeadline();
      signal.removeEventListener("abort", abort);
    }
  }

  /** Until nothing is under way and nothing more can be done in this pass. */
  async #carryOn(): Promise<RunEnding | undefined> {
    const engine = this.#engine;
    for (;;) {
      if (this.#mustLook) await this.#look();
      if (this.#outcome === undefined) engine.begin(SLICE_MS);
      if (engine.isIdle) {
        const { ending } = engine;
        if (this.#outcome !== undefined || ending === undefined || isFinal(ending)) return ending;
        // What a person says must not be missed between the last look and the end of the pass.
        await this.#look();
        if (engine.ending === ending && !this.#mustLook) return ending;
        continue;
      }
      await engine.room();
      if (engine.hasWork && this.#outcome === undefined) await nextTurn();
      else await this.#event();
    }
  }

  async #look(): Promise<void> {
    this.#mustLook = false;
    if (this.#outcome !== undefined) return;
    try {
      // What the journal has is taken from the orders: none may be seen a second time.
      await this.#engine.durable();
      this.#engine.takeOrders(await this.#execution.host.runOrders());
    } catch (thrown) {
      // What is under way must end before the pass does.
      this.#end({ kind: "failed", message: messageOf(thrown), terminal: false });
    }
  }

  #armDeadline(): void {
    const { clock } = this.#execution;
    const remaining = this.#engine.remainingMs();
    if (remaining <= 0) {
      this.#engine.exceed();
      this.#notify();
      return;
    }
    // A clock cuts what is longer than a timer may be, so this may be early.
    this.#cancelDeadline = clock.schedule(() => this.#armDeadline(), remaining);
  }

  #end(outcome: RunOutcome): void {
    this.#outcome ??= outcome;
    this.#engine.stop();
    this.#notify();
  }

  #notify(): void {
    this.#isAwake = true;
    this.#wake();
  }

  /** Resolves with the next event, or at once where one was not awaited. */
  async #event(): Promise<void> {
    if (!this.#isAwake) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#isAwake = false;
  }
}

const NOT_ENDED: RunOutcome = {
  kind: "failed",
  message: "the run could not go on, and came to no end",
  terminal: false,
};

function ran(ending: RunEnding): RunOutcome {
  if (ending.state === "succeeded") return { kind: "ran", ending };
  return { kind: "ran", ending: { ...ending, message: clean(ending.message) } };
}

function isFinal({ state }: RunEnding): boolean {
  return state === "succeeded" || state === "failed";
}
