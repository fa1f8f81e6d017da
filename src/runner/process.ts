import type { ChildProcess } from "node:child_process";
import type { Duplex } from "node:stream";
import { byteLength, LIMITS } from "../model/limits.ts";
import type { PassOutcome, PassResult, RunnerFault } from "../model/pass.ts";
import type { Clock } from "../model/ports.ts";
import { createAttemptWatch, overdue } from "./attempt-watch.ts";
import { exitReason, type Reason } from "./exit-reason.ts";
import { createFrameReader, encodeFrame } from "./frames.ts";
import type { Crash } from "./fault.ts";
import { createChildOutput, type ChildOutput } from "./child-output.ts";
import { answerCall, answerRunCall } from "./host-calls.ts";
import { clean } from "./message.ts";
import type { MapHost, MapOutcome, MapRequest, MapResult, PassHost, PassRequest } from "./port.ts";
import { groupEnded, signalGroup } from "./process-group.ts";
import { endCommandsOf } from "./command-marks.ts";
import { parseFromRunner, type FromRunner, type HostCall, type ToRunner } from "./protocol.ts";
import type { RunResult, WatchedAttempt } from "./run-messages.ts";
import type { RunHost, RunNotice, RunOutcome, RunPass } from "./run-port.ts";
import { spawnRunner, type SpawnOptions } from "./spawn.ts";
import { ANSWER_TO, limitOf, startOf, type Ending, type Task } from "./task.ts";

/** The limits that a runner is held to; those of the product unless a test says otherwise. */
export type ProcessLimits = {
  runnerMessage: number;
  childOutput: number;
  killGraceMs: number;
  readyMs: number;
};

/** A task under way. A map may call nothing. */
type Pass = Task & {
  number: number;
  answering: number;
  /** Questions to agents that are not answered. */
  asking: number;
  /** The attempt for whose sake the runner was ended. */
  blockedBy?: WatchedAttempt;
  finish: (ending: Ending) => void;
};

/** starting → ready ⇄ busy → stopping → gone; every state may pass to stopping. */
type State = "starting" | "ready" | "busy" | "stopping" | "gone";

/** Calls of one pass that are answered at once; more wait in the channel. */
const CALLS_AT_ONCE = 32;
/** After a runner has exited: for the rest of its output, and for its group to be gone. */
const LAST_OUTPUT_MS = 1_000;

/** One supervised child process. */
export class RunnerProcess {
  readonly pid: number | undefined;
  /** Resolves when the child is ready, or as soon as it is to end. */
  readonly ready: Promise<void>;
  /** Resolves when the child is reaped and its process group is empty (F-5). */
  readonly gone: Promise<void>;

  #state: State = "starting";
  #reason: Reason | undefined;
  #pass: Pass | undefined;
  #passes = 0;
  #exited = false;
  #hasExecuted = false;
  readonly #token: string;
  readonly #child: ChildProcess;
  readonly #channel: Duplex | undefined;
  readonly #output: ChildOutput;
  readonly #limits: ProcessLimits;
  readonly #clock: Clock;
  readonly #timers = new Set<() => void>();
  #settleReady!: () => void;
  #settleGone!: () => void;

  constructor(spawn: SpawnOptions, limits: ProcessLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#output = createChildOutput(limits.childOutput);
    this.ready = new Promise((resolve) => (this.#settleReady = resolve));
    this.gone = new Promise((resolve) => (this.#settleGone = resolve));
    this.#token = spawn.token;
    const { child, channel } = spawnRunner(spawn);
    this.#child = child;
    this.#channel = channel;
    this.pid = child.pid;
    this.#listen();
    this.#after(limits.readyMs, () => {
      if (this.#state !== "starting") return;
      this.#end({ fault: "never-ready", message: `not ready after ${limits.readyMs} ms` });
    });
  }

  get state(): State {
    return this.#state;
  }

  /** What the child wrote, for the log. */
  get output(): { stdout: string; stderr: string } {
    return this.#output.text();
  }

  /** Why it ended or is to end, where that is known. */
  get reason(): Reason | undefined {
    return this.#reason;
  }

  /**
   * Runs one pass in a ready runner. Resolves with its result while the runner stays usable, and in
   * every other case only when the runner is gone.
   */
  run(request: PassRequest, host: PassHost): Promise<Ending<PassOutcome>> {
    return this.#begin({ type: "run", request, host }) as Promise<Ending<PassOutcome>>;
  }

  /** Executes one pass of a run, in the same way. */
  execute(request: RunPass, host: RunHost): Promise<Ending<RunOutcome>> {
    const watch = createAttemptWatch(
      {
        after: (delayMs, callback) => this.#after(delayMs, callback),
        ping: () => this.#sendTo("execute", (pass) => ({ type: "ping", pass })),
        blocked: (attempt) => this.#onBlocked(attempt),
      },
      this.#limits.killGraceMs,
    );
    return this.#begin({ type: "execute", request, host, watch }) as Promise<Ending<RunOutcome>>;
  }

  /** Tells the run that this runner executes; without one it is nobody's. */
  notice(notice: RunNotice): void {
    this.#sendTo("execute", (pass) => ({ type: "notice", pass, notice }));
  }

  /** Asks a source of the definition for keys, in the same way. */
  map(request: MapRequest, host: MapHost): Promise<Ending<MapOutcome>> {
    return this.#begin({ type: "map", request, host }) as Promise<Ending<MapOutcome>>;
  }

  #begin(task: Task): Promise<Ending> {
    if (this.#state !== "ready" || this.#exited) return this.#crashed();
    this.#state = "busy";
    if (task.type !== "map") this.#output.hide(task.host.secrets ?? []);
    if (task.type === "execute") this.#hasExecuted = true;
    const limitMs = limitOf(task);
    this.#passes += 1;
    const number = this.#passes;
    return new Promise((resolve) => {
      const cancel = this.#after(limitMs, () =>
        this.abort("deadline", `no answer after ${limitMs} ms`),
      );
      this.#pass = {
        ...task,
        number,
        answering: 0,
        asking: 0,
        finish: (ending) => {
          cancel();
          if (task.type === "execute") task.watch.stop();
          this.#pass = undefined;
          resolve(ending);
        },
      };
      this.#send(startOf(task, number));
    });
  }

  /**
   * Ends the runner by the ladder: the pass is asked to stop, then SIGTERM, then SIGKILL of the
   * group. A runner without a pass, or with a map, has nothing to finish and is killed at once.
   */
  abort(fault: RunnerFault, message: string): void {
    if (this.#reason !== undefined) return;
    const pass = this.#pass;
    if (this.#state !== "busy" || pass === undefined || pass.type === "map") {
      return this.#end({ fault, message });
    }
    this.#reason = { fault, message };
    this.#state = "stopping";
    this.#send({ type: "abort", pass: pass.number, reason: fault });
    this.#after(this.#limits.killGraceMs, () => {
      this.#signal("SIGTERM");
      this.#after(this.#limits.killGraceMs, () => this.#signal("SIGKILL"));
    });
  }

  /** Ends a runner that is not to be used again. Resolves when it is gone. */
  stop(fault: RunnerFault, message: string): Promise<void> {
    this.#end({ fault, message });
    return this.gone;
  }

  async #crashed(): Promise<Ending<Crash>> {
    await this.gone;
    const { fault, message } = this.#reason as Reason;
    return { outcome: { kind: "crashed", fault, message: clean(message) }, rss: 0, retire: true };
  }

  async #finishCrashed(pass: Pass): Promise<void> {
    const { blockedBy } = pass;
    // Nobody knows how far a manual one came: the next runner finds it ambiguous.
    if (pass.type === "execute" && blockedBy && blockedBy.safety !== "manual") {
      // The runner is gone, so this is still the only writer. Without it the next runner would make
      // the same attempt, and be blocked again.
      const line = overdue(blockedBy, this.#clock.now());
      await pass.host.appendJournal([line]).catch(() => {});
    }
    pass.finish(await this.#crashed());
  }

  #onBlocked(attempt: WatchedAttempt): void {
    if (this.#pass === undefined || this.#reason !== undefined) return;
    this.#pass.blockedBy = attempt;
    this.#end({ fault: "deadline", message: `blocked by node ${attempt.node}` });
  }

  #end(reason: Reason): void {
    if (this.#state === "gone") return;
    this.#reason ??= reason;
    this.#state = "stopping";
    this.#settleReady();
    this.#signal("SIGKILL");
  }

  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    if (this.pid !== undefined) signalGroup(this.pid, signal);
  }

  #listen(): void {
    const reader = createFrameReader(
      this.#limits.runnerMessage,
      (frame, bytes) => this.#onFrame(frame, bytes),
      (bytes) => {
        const message = `a message of ${bytes} bytes or more, at most ${this.#limits.runnerMessage}`;
        this.#end({ fault: "oversized-message", message });
      },
    );
    this.#child.on("error", (error) => {
      this.#end({ fault: "never-ready", message: `could not be started: ${error.message}` });
      if (this.pid === undefined) this.#onGone();
    });
    this.#output.listen(this.#child);
    this.#child.once("exit", (code, signal) => void this.#onExit(code, signal));
    this.#channel?.on("data", reader.push);
    // A broken channel of a dying child is told by its exit.
    this.#channel?.on("error", () => {});
    this.#channel?.once("close", () =>
      this.#after(LAST_OUTPUT_MS, () =>
        this.#end({ fault: "bad-message", message: "it closed its channel" }),
      ),
    );
  }

  /** The child is reaped: ends its group, reads what it still said, and only then is it gone. */
  async #onExit(code: number | null, signal: string | null): Promise<void> {
    this.#exited = true;
    this.#signal("SIGKILL");
    await this.#closed();
    this.#reason ??= exitReason(code, signal, this.output.stderr);
    if (this.pid !== undefined) {
      await groupEnded(this.pid, LAST_OUTPUT_MS);
      if (this.#hasExecuted) await endCommandsOf(this.pid, this.#token);
    }
    this.#onGone();
  }

  #closed(): Promise<void> {
    return new Promise((resolve) => {
      this.#child.once("close", () => resolve());
      this.#after(LAST_OUTPUT_MS, () => {
        for (const stream of [this.#child.stdout, this.#child.stderr, this.#channel]) {
          stream?.destroy();
        }
        resolve();
      });
    });
  }

  #onGone(): void {
    this.#state = "gone";
    this.#settleReady();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#settleGone();
    const pass = this.#pass;
    if (pass) void this.#finishCrashed(pass);
  }

  #onFrame(frame: string, bytes: number): void {
    let message: FromRunner;
    try {
      message = parseFromRunner(frame);
    } catch (error) {
      const what = error instanceof Error ? error.message : String(error);
      return this.#end({ fault: "bad-message", message: `an invalid message: ${what}` });
    }
    switch (message.type) {
      case "ready":
        if (this.#state === "starting") this.#state = "ready";
        return this.#settleReady();
      case "loadFailed":
        return this.#end({ fault: "load-failed", message: message.message });
      case "log":
        if (message.pass !== this.#pass?.number) return;
        return this.#pass.host.log(message.level, message.message, message.fields);
      case "call":
        return this.#onCall(message);
      case "watch":
      case "pong":
        return this.#onWatch(message);
      case "result":
      case "executed":
      case "mapped":
        return this.#onResult(message, bytes);
    }
  }

  #onWatch(message: Extract<FromRunner, { type: "watch" | "pong" }>): void {
    const pass = this.#pass;
    if (pass?.type !== "execute" || pass.number !== message.pass) return;
    if (message.type === "pong") pass.watch.pong();
    else pass.watch.begin(message.attempt);
  }

  /** Answers a call of the present pass; a late one of an earlier pass is nobody's. */
  #onCall(call: HostCall): void {
    const pass = this.#pass;
    if (pass === undefined || pass.type === "map" || pass.number !== call.pass) return;
    if (call.method === "askAgent") return void this.#ask(pass, call);
    if (call.method === "appendJournal" && pass.type === "execute") {
      pass.watch.journaled(call.params.entries);
    }
    pass.answering += 1;
    if (pass.answering === CALLS_AT_ONCE) this.#channel?.pause();
    void this.#answer(pass, call);
  }

  /** Agents take minutes, so their questions must not keep the channel from other calls. */
  async #ask(pass: CallingPass, call: HostCall): Promise<void> {
    if (pass.asking === LIMITS.attemptsAtOnce) {
      return this.#end({ fault: "bad-message", message: "too many questions to agents at once" });
    }
    pass.asking += 1;
    const reply = await answer(pass, call);
    pass.asking -= 1;
    if (this.#pass === pass) this.#send(reply);
  }

  async #answer(pass: CallingPass, call: HostCall): Promise<void> {
    const reply = await answer(pass, call);
    pass.answering -= 1;
    if (pass.answering === CALLS_AT_ONCE - 1) this.#channel?.resume();
    if (this.#pass === pass) this.#send(reply);
  }

  #onResult(message: Extract<FromRunner, { type: keyof typeof ANSWER_TO }>, bytes: number): void {
    const pass = this.#pass;
    if (pass?.number !== message.pass || ANSWER_TO[message.type] !== pass.type) {
      return this.#end({ fault: "bad-message", message: "a result of no pass" });
    }
    const { result, rss, retire } = message;
    if (bytes > LIMITS.status && statusBytes(result) > LIMITS.status) {
      return this.#end({ fault: "bad-message", message: `a status over ${LIMITS.status} bytes` });
    }
    // A pass that was told to end has nothing more to do; its outcome is the reason it was told.
    if (this.#state !== "busy") return this.#signal("SIGKILL");
    this.#state = "ready";
    pass.finish({ outcome: result, rss, retire: retire || this.#exited });
  }

  #sendTo(type: Task["type"], message: (pass: number) => ToRunner): void {
    if (this.#pass?.type === type) this.#send(message(this.#pass.number));
  }

  #send(message: ToRunner): void {
    if (this.#channel?.writable) this.#channel?.write(encodeFrame(message));
  }

  /** Runs `callback` later unless the runner is gone by then. */
  #after(delayMs: number, callback: () => void): () => void {
    const cancel = this.#clock.schedule(() => {
      this.#timers.delete(cancel);
      callback();
    }, delayMs);
    this.#timers.add(cancel);
    return () => {
      cancel();
      this.#timers.delete(cancel);
    };
  }
}

type CallingPass = Exclude<Pass, { type: "map" }>;

function answer(pass: CallingPass, call: HostCall): Promise<ToRunner> {
  return pass.type === "run" ? answerCall(pass.host, call) : answerRunCall(pass.host, call);
}

function statusBytes(result: PassResult | MapResult | RunResult): number {
  return "resourceManagerStatus" in result
    ? byteLength(JSON.stringify(result.resourceManagerStatus))
    : 0;
}
