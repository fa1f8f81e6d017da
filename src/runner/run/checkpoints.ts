import type { CompiledWorkflow } from "../../workflows/compiled.ts";
import type { Visit } from "../../workflows/state.ts";
import { refOf, type Answer, type Attempt } from "./attempt.ts";
import { createContext, line, type ContextParts } from "./contexts.ts";
import { verdictOf } from "./failures.ts";
import { answered } from "./orders.ts";
import type { RunProgress } from "./progress.ts";
import { prepare, type WorkParts } from "./works.ts";

type CheckpointOptions = {
  nodes: CompiledWorkflow["nodes"];
  progress: RunProgress;
  parts: ContextParts & WorkParts;
  now: () => number;
};

/** Asks the questions of a run's checkpoints, and journals the answers that people gave. */
export class Checkpoints {
  readonly #options: CheckpointOptions;
  #answers: readonly Answer[] = [];
  /** Why the last answer to a visit's question did not fit. */
  readonly #problems = new Map<number, string>();

  constructor(options: CheckpointOptions) {
    this.#options = options;
  }

  /** Takes what people have answered so far, also to questions that are still to be asked. */
  take(answers: readonly Answer[]): void {
    this.#answers = answers;
    for (const visit of this.#options.progress.active) {
      if (visit.state === "begun") this.#answer(visit);
    }
  }

  /** Asks the question of a visit, unless it is answered already. */
  reach(attempt: Attempt): void {
    const { progress, now } = this.#options;
    const { ref, node } = attempt;
    const visit = progress.visitOf(ref);
    if (visit === undefined || this.#answer(visit)) return;
    const about = { ...refOf(ref), kind: node.kind };
    try {
      const input = { message: this.#messageOf(attempt) };
      progress.record({ event: "begun", at: now(), ...about, input });
    } catch (thrown) {
      const verdict = verdictOf(attempt, thrown);
      if (verdict.event !== "failed") return;
      progress.record({ at: now(), startedAt: attempt.startedAt, ...about, ...verdict });
    }
  }

  #messageOf(attempt: Attempt): string {
    const { parts } = this.#options;
    const { input } = prepare(parts, attempt, createContext(parts, attempt).ctx);
    const { message } = input as { message: string };
    const problem = this.#problems.get(attempt.ref.visit);
    return problem === undefined ? message : `${message}\n(${problem})`;
  }

  /** Journals the answer to a visit's question; false where there is none. */
  #answer(visit: Visit): boolean {
    const { nodes, progress, parts, now } = this.#options;
    const node = nodes.get(visit.node);
    if (node?.kind !== "checkpoint") return false;
    const ordinal = progress.history.ordinal(visit);
    const answer = this.#answers.find(
      (given) => given.node === visit.node && given.ordinal === ordinal,
    );
    if (answer === undefined) return false;
    // It is the journal's now: one that does not fit must not be looked at again.
    this.#answers = this.#answers.filter((given) => given !== answer);
    const at = now();
    const times = { at, startedAt: progress.history.begunAt(visit.visit) ?? at };
    const { line: entry, problem } = answered({ node, visit }, answer, times);
    if (problem === undefined) this.#problems.delete(visit.visit);
    else {
      this.#problems.set(visit.visit, problem);
      parts.log(visit, line("warn", problem));
    }
    progress.record(entry);
    return true;
  }
}
