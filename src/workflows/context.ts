import type { NodeError } from "../model/run.ts";
import type { LogFields } from "../model/ports.ts";
import type { AppliedEffect, EffectRequest } from "../resource-managers/context.ts";

// Only for the compiler: no value has it.
declare const TYPE: unique symbol;

/** Anything whose output may be asked for: a node, or an include. */
export type OutputOf<TOutput> = { readonly [TYPE]: { output(): TOutput } };

/** The same with what it takes: a node fits into workflows whose input is at least `TInput`. */
export type Typed<TOutput, TInput> = {
  readonly [TYPE]: { output(): TOutput; input: (input: TInput) => void };
};

/**
 * What the functions of a node get. Everything in it follows from the run's journal, but for the
 * clock: a function that was interrupted is called again with the same.
 */
export type PureContext<TInput = unknown> = {
  /** The input of the workflow that the node belongs to, after its schema. */
  readonly input: TInput;
  /**
   * What `node`, a node or an include of the same workflow, handed over when it last ended.
   * @throws Error where it has not ended in this run.
   */
  readonly output: <TOutput>(node: OutputOf<TOutput>) => TOutput;
  /** Like `output`, but undefined where the node has not ended, as on the way around it. */
  readonly tryOutput: <TOutput>(node: OutputOf<TOutput>) => TOutput | undefined;
  /** Why `node` failed when it last did; for the nodes that a `failure` edge leads to. */
  readonly failure: (node: OutputOf<unknown>) => NodeError | undefined;
  /** Aborts when the attempt is called off: its timeout, a cancel, the end of the run. Pass it on. */
  readonly signal: AbortSignal;
  /** From 1; rises with every retry. */
  readonly attempt: number;
  readonly runId: string;
  /** The node's own path: `review/run-tests` where it is included. */
  readonly node: string;
  /** Canonical path of the project. */
  readonly project: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Kept with the run: `pi-workflows run logs`. */
  readonly log: {
    readonly debug: (message: string, fields?: LogFields) => void;
    readonly info: (message: string, fields?: LogFields) => void;
    readonly warn: (message: string, fields?: LogFields) => void;
    readonly error: (message: string, fields?: LogFields) => void;
  };
};

/** What the functions of nodes that act on the outside world get. */
export type NodeContext<TInput = unknown> = PureContext<TInput> & {
  /** The same for all attempts of one visit of the node: give it to providers that take one. */
  readonly idempotencyKey: string;
  /** The effect ledger, as resource managers have it. */
  readonly effects: { readonly ensure: (request: EffectRequest) => Promise<AppliedEffect> };
};

/** What a compensation gets: also what the node handed over. */
export type CompensationContext<TOutput = unknown, TInput = unknown> = NodeContext<TInput> & {
  readonly result: TOutput;
};
