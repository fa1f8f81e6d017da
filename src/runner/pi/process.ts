import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Clock } from "../../model/ports.ts";
import { COMMAND_MARK, endCommandsOf } from "../command-marks.ts";
import { holdLifeline } from "../lifeline.ts";
import { recordRunner } from "../orphans.ts";
import { createOutputCapture } from "../output.ts";
import { groupEnded, signalGroup } from "../process-group.ts";
import { RUNNER_TOKEN } from "../spawn.ts";
import type { PiLimits } from "./agents.ts";
import { createLineReader } from "./lines.ts";
import { parseRecord, responseOf, type PiCommand, type PiRecord, type PiResponse } from "./wire.ts";

/** How to start a Pi. */
export type PiStart = {
  command: string[];
  cwd: string;
  env: Record<string, string>;
  home: string;
  token: string;
  limits: PiLimits;
  clock: Clock;
  /** Gets every event, in order. */
  onEvent: (record: PiRecord) => void;
};

/** How a Pi ended. `reason` is for people. */
export type PiEnd = { reason: string; stderr: string };

/** After Pi has ended: for the rest of its output, and for its group to be gone. */
const LAST_OUTPUT_MS = 1_000;

// The shell becomes Pi, with its number. By the mark every command is found that Pi's tools start,
// in whatever group (P-1).
const MARKED = `export ${COMMAND_MARK}="$$.pi"; exec "$@"`;

/** One Pi in RPC mode: the leader of a process group of its own. */
export class PiProcess {
  readonly pid: number | undefined;
  /** Resolves when Pi is reaped and nothing that it started runs any more (F-5). */
  readonly gone: Promise<PiEnd>;

  readonly #child: ChildProcessWithoutNullStreams;
  readonly #start: PiStart;
  readonly #answers = new Map<string, (response: PiResponse | undefined) => void>();
  readonly #timers = new Set<() => void>();
  #asked = 0;
  #exited = false;
  /** Why it was told to end. */
  #reason: string | undefined;

  constructor(start: PiStart) {
    this.#start = start;
    const { command, cwd, env, token } = start;
    this.#child = spawn("/bin/sh", ["-c", MARKED, "sh", ...command], {
      cwd,
      env: { ...env, [RUNNER_TOKEN]: token },
      detached: true,
    });
    this.pid = this.#child.pid;
    this.gone = this.#watch();
  }

  /** Sends a command; resolves with its response, or undefined where Pi ends without one. */
  request(command: PiCommand): Promise<PiResponse | undefined> {
    if (this.#exited) return Promise.resolve(undefined);
    this.#asked += 1;
    const id = `ask-${this.#asked}`;
    return new Promise((resolve) => {
      this.#answers.set(id, resolve);
      this.#write({ id, ...command });
    });
  }

  /** Calls off what it is doing, without waiting. */
  abort(): void {
    this.#write({ type: "abort" });
  }

  /**
   * Ends Pi by the ladder: it is asked to stop and its input closed, then SIGTERM, then SIGKILL of
   * its group. `reason` is for people. Resolves when it is gone.
   */
  stop(reason = "it was stopped"): Promise<PiEnd> {
    if (this.#reason !== undefined || this.#exited) return this.gone;
    this.#reason = reason;
    this.abort();
    this.#streams.stdin?.end();
    const { killGraceMs } = this.#start.limits;
    this.#after(killGraceMs, () => {
      this.#signal("SIGTERM");
      this.#after(killGraceMs, () => this.#signal("SIGKILL"));
    });
    return this.gone;
  }

  /** Where files or processes have run out, Node makes no streams at all. */
  get #streams(): Partial<Pick<ChildProcessWithoutNullStreams, "stdin" | "stdout" | "stderr">> {
    return this.#child;
  }

  #write(record: object): void {
    const { stdin } = this.#streams;
    if (stdin?.writable) stdin.write(`${JSON.stringify(record)}\n`);
  }

  async #watch(): Promise<PiEnd> {
    const { home, token, limits, onEvent } = this.#start;
    const ended = this.#ended();
    const stderr = createOutputCapture();
    this.#streams.stderr?.on("data", stderr.push);
    // A broken pipe of a dying Pi is told by its end.
    this.#streams.stdin?.on("error", () => {});
    const read = createLineReader(limits.line, (line, isCut) => {
      const record = parseRecord(line, isCut);
      if (record?.type === "response") this.#onResponse(record);
      else if (record) onEvent(record);
    });
    this.#streams.stdout?.on("data", read);
    const { pid } = this;
    const forget = pid === undefined ? undefined : recordRunner(home, pid, token);
    const letGo = pid === undefined ? undefined : this.#holdLifeline(pid);
    const reason = await ended;
    if (pid !== undefined) {
      await groupEnded(pid, LAST_OUTPUT_MS);
      await endCommandsOf(pid, token);
    }
    letGo?.();
    forget?.();
    for (const answer of this.#answers.values()) answer(undefined);
    this.#answers.clear();
    return { reason: this.#reason ?? reason, stderr: stderr.text() };
  }

  #holdLifeline(pid: number): () => void {
    return holdLifeline(pid, { input: this.#child.stdin, mark: `${COMMAND_MARK}=${pid}.pi` });
  }

  /** Resolves when Pi is reaped and its output read. */
  #ended(): Promise<string> {
    return new Promise((resolve) => {
      this.#child.once("error", (error) => {
        this.#exited = true;
        resolve(`it could not be started: ${error.message}`);
      });
      this.#child.once("exit", () => {
        this.#exited = true;
        for (const cancel of this.#timers) cancel();
        this.#signal("SIGKILL");
        // What it started may hold its output open.
        this.#after(LAST_OUTPUT_MS, () => {
          this.#streams.stdout?.destroy();
          this.#streams.stderr?.destroy();
        });
      });
      this.#child.once("close", (code, signal) => {
        for (const cancel of this.#timers) cancel();
        resolve(signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`);
      });
    });
  }

  #onResponse(record: PiRecord): void {
    const response = responseOf(record);
    const { id = "" } = response;
    this.#answers.get(id)?.(response);
    this.#answers.delete(id);
  }

  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    if (this.pid !== undefined) signalGroup(this.pid, signal);
  }

  #after(delayMs: number, callback: () => void): void {
    const cancel = this.#start.clock.schedule(() => {
      this.#timers.delete(cancel);
      callback();
    }, delayMs);
    this.#timers.add(cancel);
  }
}
