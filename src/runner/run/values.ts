import type { JournalInput, NodeError } from "../../model/run.ts";
import type { Json } from "../../model/canonical.ts";
import type { CompiledWorkflow } from "../../workflows/compiled.ts";

/**
 * What the nodes of a run handed over: the latest of each, as its journal has it. Nobody may change
 * what is in it, or a run that is taken up again would see other values than before.
 */
export class RunValues {
  readonly #nodes: CompiledWorkflow["nodes"];
  /** By `keptAs`. */
  readonly #outputs = new Map<string, Json | undefined>();
  readonly #failures = new Map<string, NodeError>();
  /** By scope. */
  readonly #inputs: Map<string, unknown>;

  constructor({ nodes }: CompiledWorkflow, input: unknown) {
    this.#nodes = nodes;
    this.#inputs = new Map([["", deepFreeze(input)]]);
  }

  /** Takes in one line of the journal. */
  fold(entry: JournalInput): void {
    if (entry.event === "failed" && !entry.compensation) {
      this.#failures.set(entry.node, entry.error);
    }
    if (entry.event !== "succeeded" || entry.compensation) return;
    this.#failures.delete(entry.node);
    const keptAs = this.#nodes.get(entry.node)?.keptAs;
    const output = deepFreeze(entry.output);
    if (keptAs !== undefined) this.#outputs.set(keptAs, output);
    if (entry.kind === "include") this.#enter(entry.node, output);
  }

  /** Whether `path` has ended well, and what it handed over. */
  output(path: string): { value: Json | undefined } | undefined {
    return this.#outputs.has(path) ? { value: this.#outputs.get(path) } : undefined;
  }

  failure(path: string): NodeError | undefined {
    return this.#failures.get(path);
  }

  /** The input of a scope: of the run, or of the workflow included at that path. */
  input(scope: string): unknown {
    return this.#inputs.get(scope);
  }

  /** An included workflow begins anew: what an earlier visit of it left is gone. */
  #enter(path: string, input: unknown): void {
    this.#inputs.set(path, input);
    for (const kept of [this.#outputs, this.#failures]) {
      for (const key of kept.keys()) if (key.startsWith(`${path}/`)) kept.delete(key);
    }
  }
}

/** Keeps `value` from being changed, all the way down. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
  return value;
}
