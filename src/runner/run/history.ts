import type { NodeKind } from "../../model/graph.ts";
import type { AttemptRef, JournalInput } from "../../model/run.ts";
import type { CompiledWorkflow } from "../../workflows/compiled.ts";
import { RunValues } from "./values.ts";

/**
 * What the engine must know of a run's past beside what the step function knows: the same for the
 * same journal, and small whatever its length.
 */
export class RunHistory {
  readonly values: RunValues;
  /** Lines so far: the sequence of the last one. */
  entries = 0;
  /** Orders that the journal has already. */
  hasCancel = false;
  hasDeadline = false;
  readonly #nodes: CompiledWorkflow["nodes"];
  /** When what has begun and not ended did begin, by visit. */
  readonly #begunAt = new Map<number, number>();
  /** Times that each checkpoint was reached, and which time it was for each visit. */
  readonly #reached = new Map<string, number>();
  readonly #ordinals = new Map<number, number>();
  /** Visits of which an attempt was seen to fail, or was released, since the run is in doubt. */
  readonly #known = new Set<string>();
  /** Where in the journal the value of a visit is that may have to be undone. */
  readonly #undoable = new Map<number, number>();

  constructor(workflow: CompiledWorkflow, input: unknown) {
    this.#nodes = workflow.nodes;
    this.values = new RunValues(workflow, input);
  }

  /**
   * Takes in one line, in the order of the journal. `isSure` where nothing can have happened since that
   * the journal does not say.
   */
  fold(entry: JournalInput, isSure = true): void {
    this.entries += 1;
    if (isSure && (entry.event === "failed" || entry.event === "released")) {
      this.#known.add(visitKey(entry));
    }
    this.values.fold(entry);
    if ("visit" in entry && "kind" in entry) this.#reach(entry);
    switch (entry.event) {
      case "begun":
        this.#begunAt.set(entry.visit, entry.at);
        return;
      case "succeeded":
        if (!entry.compensation && this.#nodes.get(entry.node)?.compensate) {
          this.#undoable.set(entry.visit, this.entries);
        }
        return this.#end(entry);
      case "failed":
      case "aborted":
      case "released":
        return this.#end(entry);
      case "cancel":
        this.hasCancel = true;
        return;
      case "deadline":
        this.hasDeadline = true;
        return;
      case "ambiguous":
      case "recovered":
    }
  }

  /** When the attempt that a visit is at began, where it has. */
  begunAt(visit: number): number | undefined {
    return this.#begunAt.get(visit);
  }

  /** Which time a checkpoint is reached by this visit, from 1. */
  ordinal({ visit, node }: AttemptRef): number {
    return this.#ordinals.get(visit) ?? (this.#reached.get(node) ?? 0) + 1;
  }

  /**
   * Whether the attempt that a visit is about to make can't have been made before, in a run whose store
   * was restored: the one before it was seen to end, or a person said that it may be made.
   */
  isKnown(ref: AttemptRef): boolean {
    return this.#known.has(visitKey(ref));
  }

  /** The line of the journal that holds what a visit handed over, which is to be undone. */
  lineOf(visit: number): number | undefined {
    return this.#undoable.get(visit);
  }

  #reach(entry: AttemptRef & { kind: NodeKind }): void {
    if (entry.kind !== "checkpoint" || this.#ordinals.has(entry.visit)) return;
    const ordinal = this.ordinal(entry);
    this.#reached.set(entry.node, ordinal);
    this.#ordinals.set(entry.visit, ordinal);
  }

  #end({ visit, compensation }: AttemptRef): void {
    this.#begunAt.delete(visit);
    if (compensation) this.#undoable.delete(visit);
  }
}

function visitKey({ visit, compensation }: AttemptRef): string {
  return compensation ? `undo ${visit}` : String(visit);
}
