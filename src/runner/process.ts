import type { ChildProcess } from "node:child_process";
import type { Duplex } from "node:stream";
import { byteLength, LIMITS } from "../model/limits.ts";
import type { PassOutcome, PassResult, RunnerFault } from "../model/pass.ts";
import type { Clock } from "../model/ports.ts";
import { maskSecrets } from "../model/secret-text.ts";
import { createFrameReader, encodeFrame } from "./frames.ts";
import type { Crash } from "./fault.ts";
import { answerCall } from "./host-calls.ts";
import { clean } from "./message.ts";
import { createOutputCapture, type OutputCapture } from "./output.ts";
import type { MapHost, MapOutcome, MapRequest, MapResult, PassHost, PassRequest } from "./port.ts";
import { groupEnded, signalGroup } from "./process-group.ts";
import { parseFromRunner, type FromRunner, type HostCall, type ToRunner } from "./protocol.ts";
import { spawnRunner, type SpawnOptions } from "./spawn.ts";

/** The limits that a runner is held to; those of the product unless a test says otherwise. */
export type ProcessLimits = {
  runnerMessage: number;
  childOutput: number;
  killGraceMs: number;
  readyMs: number;
};

/** How a runner ended a pass or a map, and what that says about using it again. */
export type Ending<T = PassOutcome | MapOutcome> = { outcome: T; rss: number; retire: boolean };

/** Why a runner ends: set once, the first reason wins. */
type Reason = { fault: RunnerFault; message: string };

/** What a runner is to do. Only a pass may call its host. */
type Task =
  | { type: "run"; request: PassRequest; host: PassHost }
  | { type: "map"; request: MapRequest; host: MapHost };
type Pass = Task & {
  number: number;
  answering: number;
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
  /** Of every pass that ran here: what a child writes is read when it has ended. */
  readonly #secrets = new Set<string>();
  readonly #child: ChildProcess;
  readonly #channel: Duplex | undefined;
  readonly #stdout: OutputCapture;
  readonly #stderr: OutputCapture;
  readonly #limits: ProcessLimits;
  readonly #clock: Clock;
  readonly #timers = new Set<() => void>();
  #settleReady!: () => void;
  #settleGone!: () => void;

  constructor(spawn: SpawnOptions, limits: ProcessLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#stdout = createOutputCapture(limits.childOutput);
    this.#stderr = createOutputCapture(limits.childOutput);
    this.ready = new Promise((resolve) => (this.#settleReady = resolve));
    this.gone = new Promise((resolve) => (this.#settleGone = resolve));
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
    return { stdout: this.#textOf(this.#stdout), stderr: this.#textOf(this.#stderr) };
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
    const { deadlineMs } = request.manager;
    for (const secret of host.secrets ?? []) this.#secrets.add(secret);
    return this.#begin({ type: "run", request, host }, deadlineMs) as Promise<Ending<PassOutcome>>;
  }

  /** Asks a source of the definition for keys, in the same way. */
  map(request: MapRequest, host: MapHost): Promise<Ending<MapOutcome>> {
    const task = { type: "map", request, host } as const;
    return this.#begin(task, request.deadlineMs) as Promise<Ending<MapOutcome>>;
  }

  #begin(task: Task, deadlineMs: number): Promise<Ending> {
    if (this.#state !== "ready" || this.#exited) return this.#crashed();
    this.#state = "busy";
    this.#passes += 1;
    const number = this.#passes;
    return new Promise((resolve) => {
      const cancel = this.#after(deadlineMs, () =>
        this.abort("deadline", `no answer after ${deadlineMs} ms`),
      );
      this.#pass = {
        ...task,
        number,
        answering: 0,
        finish: (ending) => {
          cancel();
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
    if (this.#state !== "busy" || pass?.type !== "run") return this.#end({ fault, message });
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

  #textOf(stream: OutputCapture): string {
    const longestFirst = [...this.#secrets].sort((a, b) => b.length - a.length);
    return maskSecrets(stream.text(), longestFirst);
  }

  async #crashed(): Promise<Ending<Crash>> {
    await this.gone;
    const { fault, message } = this.#reason as Reason;
    return { outcome: { kind: "crashed", fault, message: clean(message) }, rss: 0, retire: true };
  }

  async #finishCrashed(pass: Pass): Promise<void> {
    pass.finish(await this.#crashed());
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
    this.#child.stdout?.on("data", this.#stdout.push);
    this.#child.stderr?.on("data", this.#stderr.push);
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
    this.#reason ??= exitReason(code, signal, this.#textOf(this.#stderr));
    if (this.pid !== undefined) await groupEnded(this.pid, LAST_OUTPUT_MS);
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
      case "result":
      case "mapped":
        return this.#onResult(message, bytes);
    }
  }

  /** Answers a call of the present pass; a late one of an earlier pass is nobody's. */
  #onCall(call: HostCall): void {
    const pass = this.#pass;
    if (pass?.type !== "run" || pass.number !== call.pass) return;
    pass.answering += 1;
    if (pass.answering === CALLS_AT_ONCE) this.#channel?.pause();
    void this.#answer(pass, call);
  }

  async #answer(pass: Pass & { type: "run" }, call: HostCall): Promise<void> {
    const reply = await answerCall(pass.host, call);
    pass.answering -= 1;
    if (pass.answering === CALLS_AT_ONCE - 1) this.#channel?.resume();
    if (this.#pass === pass) this.#send(reply);
  }

  #onResult(message: Extract<FromRunner, { type: "result" | "mapped" }>, bytes: number): void {
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

const ANSWER_TO = { result: "run", mapped: "map" } as const;

function startOf(task: Task, pass: number): ToRunner {
  if (task.type === "run") return { type: "run", pass, request: task.request };
  const { source, input } = task.request;
  return { type: "map", pass, request: { source, input } };
}

function statusBytes(result: PassResult | MapResult): number {
  return "resourceManagerStatus" in result
    ? byteLength(JSON.stringify(result.resourceManagerStatus))
    : 0;
}

/** What an exit means that nobody asked for. */
function exitReason(code: number | null, signal: string | null, stderr: string): Reason {
  const said = lastLines(stderr);
  if (stderr.includes("heap out of memory")) {
    return { fault: "out-of-memory", message: "its heap was used up" };
  }
  if (signal !== null) return { fault: "signal", message: `ended by ${signal}${said}` };
  return { fault: "exit", message: `exited with code ${code}${said}` };
}

function lastLines(text: string): string {
  const lines = text.trim().split("\n").slice(-5).join("\n");
  return lines === "" ? "" : `: ${lines}`;
}
