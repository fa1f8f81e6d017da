import type { Json } from "../../model/canonical.ts";
import type { NodeKind } from "../../model/graph.ts";
import { LIMITS } from "../../model/limits.ts";
import type { Clock } from "../../model/ports.ts";
import type { AttemptRef, JournalInput, RunEnding, RunOrders } from "../../model/run.ts";
import type { CompiledNode, CompiledWorkflow } from "../../workflows/compiled.ts";
import type { GraphCommand } from "../../workflows/state.ts";
import type { WatchedAttempt } from "../run-messages.ts";
import type { RunHost, RunPass } from "../run-port.ts";
import { handedOver, refOf, type Attempt, type Verdict } from "./attempt.ts";
import { Checkpoints } from "./checkpoints.ts";
import { makeAttempt, type AttemptParts } from "./make-attempt.ts";
import { resolved } from "./orders.ts";
import { RunProgress } from "./progress.ts";
import { RunLogWriter } from "./run-log.ts";
import { createRunning, type Running } from "./running.ts";
import { Schedule } from "./schedule.ts";

/** What an engine is made from. */
export type EngineOptions = {
  workflow: CompiledWorkflow;
  pass: RunPass;
  /** `pass.input` as the workflow's schema makes it. */
  input: unknown;
  host: RunHost;
  clock: Clock;
  /** Told of an attempt with a limit before the author's code is called. */
  onWatch: (attempt: WatchedAttempt) => void;
  /** Told where code that was given up may still run. */
  onStray: () => void;
  /** Told where something happened outside a call of the engine. */
  onEvent: () => void;
  /** Told once, when a line can't be kept. */
  onLost: (thrown: unknown) => void;
};

/**
 * One pass of a run: does what the step function says, and records what comes of it. It holds only
 * what is under way; what has happened is in the journal.
 */
export class RunEngine {
  readonly #options: EngineOptions;
  readonly #progress: RunProgress;
  readonly #schedule: Schedule;
  readonly #checkpoints: Checkpoints;
  readonly #log: RunLogWriter;
  readonly #parts: AttemptParts;
  readonly #startedAt: number;
  readonly #conversations = new Set<string>();
  #isStopped = false;

  constructor(options: EngineOptions) {
    const { workflow, input, host, clock, onLost, onEvent } = options;
    this.#options = options;
    this.#startedAt = clock.monotonic();
    this.#schedule = new Schedule(clock, onEvent);
    this.#log = new RunLogWriter(host, clock);
    const obey = (command: Exclude<GraphCommand, { do: "end" }>): void => this.#obey(command);
    const now = (): number => this.#now();
    this.#progress = new RunProgress({ workflow, input, host, now, obey, onLost });
    this.#parts = this.#attemptParts();
    this.#checkpoints = new Checkpoints({
      nodes: workflow.nodes,
      progress: this.#progress,
      parts: this.#parts,
      now,
    });
  }

  /** Takes the run up where its journal ends. */
  async open(): Promise<void> {
    const orders = this.#options.host.runOrders();
    // Awaited below; until then its rejection is nobody's.
    orders.catch(() => {});
    await this.#progress.open(this.#options.pass);
    this.takeOrders(await orders);
  }

  /** Until the run's deadline; negative past it. Milliseconds. */
  remainingMs(): number {
    const { clock, pass } = this.#options;
    return pass.remainingMs - (clock.monotonic() - this.#startedAt);
  }

  /** How the pass ends: known as soon as nothing is under way any more. */
  get ending(): RunEnding | undefined {
    return this.#schedule.isIdle ? this.#progress.ending : undefined;
  }

  /** True where nothing is under way or about to be: then `ending` is there, or the pass was stopped. */
  get isIdle(): boolean {
    return this.#schedule.isIdle;
  }

  /** True where something can begin at once. */
  get hasWork(): boolean {
    return this.#schedule.hasReady && this.#schedule.running.size < LIMITS.attemptsAtOnce;
  }

  /** Begins what is ready, until there is nothing more or `sliceMs` have passed. */
  begin(sliceMs: number): void {
    const until = performance.now() + sliceMs;
    while (this.hasWork && !this.#progress.journal.isFull) {
      const next = this.#schedule.next();
      if (next !== undefined) this.#execute(refOf(next));
      if (performance.now() > until) return;
    }
  }

  /** Sends what was journaled on its way; resolves when the journal takes more. */
  room(): Promise<void> {
    this.#progress.journal.flush();
    return this.#progress.journal.room();
  }

  /** Resolves when all that was journaled is durable, or can't be. */
  async durable(): Promise<void> {
    await this.#progress.journal.durable();
  }

  /** Journals what people want. */
  takeOrders({ cancel, answers, resolutions }: RunOrders): void {
    const { history, active } = this.#progress;
    if (cancel !== undefined && !history.hasCancel) {
      this.#progress.record({ event: "cancel", at: this.#now(), by: cancel.by });
    }
    this.#checkpoints.take(answers);
    for (const order of resolutions) {
      const visit = active.find((other) => other.visit === order.visit);
      const node = visit && this.#nodeOf(visit);
      if (node === undefined || visit?.state !== "ambiguous") continue;
      this.#progress.record(resolved({ node, visit }, order, this.#times(visit)));
    }
  }

  pause(): void {
    this.#progress.pause();
  }

  /** The run's time is up. */
  exceed(): void {
    if (this.#progress.history.hasDeadline || this.#progress.phase !== "running") return;
    this.#progress.record({ event: "deadline", at: this.#now() });
  }

  /**
   * An error that nobody caught, of code that an attempt started and did not await: whose it is can't
   * be told, so all attempts by code fail with it.
   */
  blame(thrown: unknown): void {
    for (const running of this.#schedule.running.values()) running.blame(thrown);
  }

  /** Calls off all that is under way, because the pass ends; what it came to by then is journaled. */
  stop(): void {
    this.#isStopped = true;
    this.#schedule.stop();
  }

  /** Resolves when all is durable, and no agent is left. False where the journal could not be kept. */
  async close(): Promise<boolean> {
    const { host } = this.#options;
    const closed = [...this.#conversations].map((name) => host.closeAgent(name).catch(() => {}));
    await Promise.all([...closed, this.#log.flush()]);
    return this.#progress.journal.durable();
  }

  #attemptParts(): AttemptParts {
    const { pass, host, clock } = this.#options;
    return {
      pass,
      host,
      clock,
      values: this.#progress.history.values,
      conversations: this.#conversations,
      remainingMs: () => this.remainingMs(),
      log: ({ visit, node }, text, stream) =>
        this.#log.write({ visit, node, stream: stream ?? "log", text }),
      begin: (attempt, value) => this.#begin(attempt, value),
      durable: () => this.#progress.journal.durable(),
      isInDoubt: ({ ref }) =>
        pass.doubtedFrom !== undefined && !this.#progress.history.isKnown(ref),
      watch: (attempt) => this.#watch(attempt),
      awaits: ({ ref }) => this.#schedule.running.get(ref.visit)?.limit(),
      resultOf: ({ ref }) => this.#resultOf(ref),
    };
  }

  #obey(command: Exclude<GraphCommand, { do: "end" }>): void {
    switch (command.do) {
      case "execute":
        if (!this.#isStopped) this.#schedule.add(command);
        return;
      case "abort":
        if (!this.#schedule.abort(command.visit) && command.begun) this.#recordAborted(command);
        return;
      case "park":
        this.#progress.record({ event: "ambiguous", at: this.#now(), ...this.#about(command) });
    }
  }

  #execute(ref: AttemptRef): void {
    const { workflow, clock } = this.#options;
    const running = createRunning(workflow, ref, { clock, graceMs: LIMITS.killGraceMs });
    const { attempt } = running;
    if (attempt.node.work.by === "person" && !ref.compensation) {
      return this.#checkpoints.reach(attempt);
    }
    this.#schedule.running.set(ref.visit, running);
    const verdict = makeAttempt(this.#parts, attempt);
    if (verdict instanceof Promise) void this.#await(running, verdict);
    else this.#conclude(running, verdict);
  }

  async #await(running: Running, made: Promise<Verdict>): Promise<void> {
    let isMade = false;
    void made.then(() => (isMade = true));
    const verdict = await Promise.race([made, running.gaveUp]);
    if (!isMade) this.#options.onStray();
    this.#conclude(running, verdict);
    this.#options.onEvent();
  }

  /** Journals what an attempt came to, unless it was forgotten meanwhile. */
  #conclude(running: Running, verdict: Verdict): void {
    const { attempt } = running;
    running.end();
    this.#schedule.running.delete(attempt.ref.visit);
    if (this.#progress.visitOf(attempt.ref) === undefined) return;
    // The next runner finds it begun without an end, and judges it.
    const isOpen = verdict.event === "aborted" || verdict.event === "ambiguous";
    if (this.#isStopped && isOpen) return;
    this.#progress.record(this.#lineOf(attempt, verdict));
    if (attempt.plain.deadlineMs !== undefined) this.#progress.journal.flush();
  }

  #lineOf({ ref, startedAt }: Attempt, verdict: Verdict): JournalInput {
    const line = { at: this.#now(), ...this.#about(ref) };
    switch (verdict.event) {
      case "ambiguous":
        return { ...line, ...verdict };
      case "failed":
      case "aborted":
        return { ...line, startedAt, ...verdict };
      case "succeeded": {
        const { event, output } = verdict;
        return { ...line, startedAt, event, ...handedOver(line.kind, output) };
      }
    }
  }

  #begin(attempt: Attempt, input: Json | undefined): boolean {
    if (attempt.signal.aborted || this.#progress.visitOf(attempt.ref) === undefined) return false;
    const kept = input === undefined ? {} : { input };
    this.#progress.record({
      event: "begun",
      at: this.#now(),
      ...this.#about(attempt.ref),
      ...kept,
    });
    return true;
  }

  /** So that whoever ends a blocked runner can say which attempt it was, and of a whole journal. */
  #watch({ ref, node, plain, startedAt }: Attempt): void {
    if (plain.deadlineMs === undefined) return;
    this.#progress.journal.flush();
    const limitMs = Math.min(plain.deadlineMs, LIMITS.maxTimerMs);
    this.#options.onWatch({
      ...refOf(ref),
      kind: node.kind,
      safety: node.safety,
      startedAt,
      limitMs,
    });
  }

  /** What a visit handed over: only the journal still has it where others came after. */
  async #resultOf({ visit }: AttemptRef): Promise<unknown> {
    const line = this.#progress.history.lineOf(visit);
    if (line === undefined) return undefined;
    await this.#progress.journal.durable();
    const [entry] = await this.#options.host.readJournal(line - 1, 1);
    return entry?.event === "succeeded" ? entry.output : undefined;
  }

  #recordAborted(ref: AttemptRef): void {
    this.#progress.record({ event: "aborted", ...this.#times(ref), ...this.#about(ref) });
  }

  #times({ visit }: AttemptRef): { at: number; startedAt: number } {
    const at = this.#now();
    return { at, startedAt: this.#progress.history.begunAt(visit) ?? at };
  }

  #about(ref: AttemptRef): AttemptRef & { kind: NodeKind } {
    return { ...refOf(ref), kind: this.#nodeOf(ref)?.kind ?? "compute" };
  }

  #nodeOf({ node }: AttemptRef): CompiledNode | undefined {
    return this.#options.workflow.nodes.get(node);
  }

  #now(): number {
    return Math.trunc(this.#options.clock.now());
  }
}
