import type { AttemptRef, JournalInput, RunEnding } from "../../model/run.ts";
import type { CompiledWorkflow } from "../../workflows/compiled.ts";
import type { GraphCommand, GraphEvent, GraphState, Visit } from "../../workflows/state.ts";
import { INITIAL_STATE, step } from "../../workflows/step.ts";
import type { RunHost, RunPass } from "../run-port.ts";
import { RunHistory } from "./history.ts";
import { forEachEntry, JournalWriter } from "./journal.ts";

/** What a run's progress is kept with. */
export type ProgressOptions = {
  workflow: CompiledWorkflow;
  /** The run's input as the workflow's schema makes it. */
  input: unknown;
  host: Pick<RunHost, "readJournal" | "appendJournal">;
  now: () => number;
  /** Does what the step function said; may record. */
  obey: (command: Exclude<GraphCommand, { do: "end" }>) => void;
  /** Told once, when a line can't be kept. */
  onLost: (thrown: unknown) => void;
};

/**
 * How far a run has come: its journal, folded. Everything that happens goes through `record`, which
 * journals it, folds it, and has done what follows from it.
 */
export class RunProgress {
  readonly history: RunHistory;
  readonly journal: JournalWriter;
  readonly #options: ProgressOptions;
  #state: GraphState = INITIAL_STATE;
  #ending: RunEnding | undefined;
  #commands: GraphCommand[] = [];
  #isObeying = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.history = new RunHistory(options.workflow, options.input);
    this.journal = new JournalWriter(options.host, options.onLost);
  }

  /** How the pass is to end, unless something more happens. */
  get ending(): RunEnding | undefined {
    return this.#ending;
  }

  get phase(): GraphState["phase"] {
    return this.#state.phase;
  }

  get active(): readonly Visit[] {
    return this.#state.active;
  }

  /** Folds what earlier passes journaled, and takes the run up from there. */
  async open({
    epoch: now,
    doubtedFrom = 0,
  }: Pick<RunPass, "epoch" | "doubtedFrom">): Promise<void> {
    this.#fold({ event: "start" });
    if (now > 1) {
      await forEachEntry(this.#options.host, ({ sequence: _sequence, epoch, ...line }) => {
        // What followed from it was done, or follows again from `recovered`.
        this.#commands = [];
        this.#foldLine(line, epoch >= doubtedFrom);
      });
    }
    if (this.history.entries > 0) {
      this.#commands = [];
      this.record({ event: "recovered", at: this.#options.now() });
    } else this.#obey();
  }

  /** Journals what happened, and does what follows. */
  record(line: JournalInput): void {
    this.journal.append(line);
    this.#foldLine(line);
    this.#obey();
  }

  /** Begins nothing more in this pass, of which the journal keeps nothing. */
  pause(): void {
    this.#fold({ event: "pause" });
    this.#obey();
  }

  /** The visit that an attempt belongs to, where it is the attempt that is being made of it. */
  visitOf({ visit, attempt, compensation }: AttemptRef): Visit | undefined {
    return this.active.find(
      (other) =>
        other.visit === visit && other.attempt === attempt && other.compensation === compensation,
    );
  }

  #foldLine(line: JournalInput, isSure = true): void {
    this.history.fold(line, isSure);
    this.#fold(line);
  }

  #fold(event: GraphEvent): void {
    const next = step(this.#options.workflow.graph, this.#state, event);
    if (next.state !== this.#state) this.#ending = undefined;
    this.#state = next.state;
    this.#commands.push(...next.commands);
  }

  // A loop, not a recursion: what is done may record, and so add to what is to be done.
  #obey(): void {
    if (this.#isObeying) return;
    this.#isObeying = true;
    for (let next = this.#commands.shift(); next; next = this.#commands.shift()) {
      if (next.do === "end") this.#ending = next.ending;
      else this.#options.obey(next);
    }
    this.#isObeying = false;
  }
}
