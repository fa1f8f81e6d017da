import type { z } from "zod";
import type { Duration } from "../model/duration.ts";
import type { Safety } from "../model/graph.ts";
import { rememberSite } from "../resource-managers/site.ts";
import type { CompensationContext, NodeContext, PureContext, Typed } from "./context.ts";

/** Marks nodes, whichever copy of this module made them. */
export const NODE: unique symbol = Symbol.for("pi-workflows.Node") as never;

/**
 * A node of a workflow; `output(node)` gives its `TOutput`. `TInput` is what it needs of the workflow's
 * input: nothing where it names no schema of it.
 */
export type WorkflowNode<TOutput = unknown, TInput = unknown> = Typed<TOutput, TInput> & {
  readonly [NODE]: NodeDefinition;
};

/** A node of whatever workflow. */
export type AnyNode = WorkflowNode<unknown, never>;

/** A decision: its edge names what follows each of its choices. */
export type DecisionNode<TChoice extends string = string, TInput = unknown> = WorkflowNode<
  TChoice,
  TInput
> & { readonly choices: readonly TChoice[] };

type OrFrom<TContext, T> = T | ((ctx: TContext) => T);

type CommonOptions<TInput> = {
  /** What people read instead of the node's name. */
  title?: string;
  /**
   * The schema of the workflow's input (or of a part of it): types `ctx.input`. A workflow whose
   * input does not fit is refused by the compiler.
   */
  input?: z.ZodType<TInput>;
};

type AttemptOptions = {
  /** One attempt may last this long. Default: as long as the run may. */
  timeout?: Duration;
  /** Attempts after the first that failed; `delay` (default `"1s"`) doubles from one to the next. */
  retry?: { times: number; delay?: Duration };
};

export type ComputeOptions<TOutput, TInput> = CommonOptions<TInput> &
  AttemptOptions & {
    /** Checks what `run` returns. */
    output?: z.ZodType<TOutput>;
    /** Derives a value from others; changes nothing outside, so that it may run again at any time. */
    run: (ctx: PureContext<TInput>) => TOutput | Promise<TOutput>;
  };

type UndoOptions<TOutput, TInput> = {
  /**
   * Undoes what the node did: in reverse order, when the run is cancelled or out of time. Its safety
   * is that of the node.
   */
  compensate?: (ctx: CompensationContext<TOutput, TInput>) => void | Promise<void>;
};

export type ActionOptions<TOutput, TInput> = CommonOptions<TInput> &
  AttemptOptions &
  UndoOptions<TOutput, TInput> & {
    /**
     * What may be done after a crash in its middle: `pure` and `idempotent` are run again, `manual`
     * waits for a person to say how it ended.
     */
    safety: Safety;
    output?: z.ZodType<TOutput>;
    run: (ctx: NodeContext<TInput>) => TOutput | Promise<TOutput>;
  };

/** What a command came to. Long output is kept with its head and its tail. */
export type ShellResult = { exitCode: number; stdout: string; stderr: string; isCut: boolean };

type CommandOptions<TInput> =
  | {
      /** Program and arguments, as they are: no shell reads them. */
      command: OrFrom<NodeContext<TInput>, readonly string[]>;
      shell?: never;
    }
  | {
      /** A line for `/bin/sh`. Hand values over in `env`: what is put into the line is obeyed. */
      shell: OrFrom<NodeContext<TInput>, string>;
      command?: never;
    };

export type ShellOptions<TOutput, TInput> = CommonOptions<TInput> &
  AttemptOptions &
  UndoOptions<TOutput, TInput> &
  CommandOptions<TInput> & {
    /** As for an action. Default `manual`. */
    safety?: Safety;
    /** Relative to the project. Default: the project. */
    cwd?: OrFrom<NodeContext<TInput>, string>;
    /** Added to the environment. */
    env?: OrFrom<NodeContext<TInput>, Record<string, string>>;
    /** Exit codes that are no failure. Default `[0]`. */
    exitCodes?: readonly number[] | "any";
    /** What the node hands over. Default: the `ShellResult`. */
    parse?: (result: ShellResult, ctx: PureContext<TInput>) => TOutput;
    output?: z.ZodType<TOutput>;
  };

/** Pi's tools that change nothing. */
export const READ_ONLY_TOOLS: readonly string[] = ["read", "grep", "find", "ls"];

type AskingOptions<TInput> = AttemptOptions & {
  prompt: OrFrom<PureContext<TInput>, string>;
  /** Pi's tools that the agent may use. Default: those that change nothing. */
  tools?: readonly string[];
  model?: string;
  /** Where it works, relative to the project. Default: the project. */
  cwd?: OrFrom<PureContext<TInput>, string>;
  /** Agents of one conversation remember what was said in it. Default: each visit begins anew. */
  conversation?: string;
};

export type AgentOptions<TOutput, TInput> = CommonOptions<TInput> &
  AskingOptions<TInput> & {
    /** What the answer must be; the agent is told, and an answer that does not fit is sent back. */
    output: z.ZodType<TOutput>;
    /** Default `idempotent` where all tools are read-only, else `manual`. */
    safety?: Safety;
  };

export type DecisionOptions<TChoice extends string, TInput> = CommonOptions<TInput> & {
  choices: readonly TChoice[];
} & (
    | ({
        /** Decides by code. */
        choose: (ctx: PureContext<TInput>) => NoInfer<TChoice> | Promise<NoInfer<TChoice>>;
      } & AttemptOptions)
    | AskingOptions<TInput>
  );

export type CheckpointOptions<TAnswer, TInput> = CommonOptions<TInput> & {
  /** What a person is asked. */
  message: OrFrom<PureContext<TInput>, string>;
  /** What the answer must be. */
  answer: z.ZodType<TAnswer>;
};

/** A node as the constructors keep it: nothing of it is checked yet. */
export type NodeDefinition =
  | { kind: "compute"; options: ComputeOptions<unknown, never> }
  | { kind: "action"; options: ActionOptions<unknown, never> }
  | { kind: "shell"; options: ShellOptions<unknown, never> }
  | { kind: "agent"; options: AgentOptions<unknown, never> }
  | { kind: "decision"; options: DecisionOptions<string, never> }
  | { kind: "checkpoint"; options: CheckpointOptions<unknown, never> };

/** A node that derives a value by code and changes nothing. */
export function compute<TOutput, TInput = unknown>(
  options: ComputeOptions<TOutput, TInput>,
): WorkflowNode<TOutput, TInput> {
  return node("compute", options);
}

/** A node that acts by code; `safety` says what may be done after a crash in its middle. */
export function action<TOutput, TInput = unknown>(
  options: ActionOptions<TOutput, TInput>,
): WorkflowNode<TOutput, TInput> {
  return node("action", options);
}

/** A node that runs a command of the machine. */
export function shell<TOutput = ShellResult, TInput = unknown>(
  options: ShellOptions<TOutput, TInput>,
): WorkflowNode<TOutput, TInput> {
  return node("shell", options);
}

/** A node that asks a coding agent. */
export function agent<TOutput, TInput = unknown>(
  options: AgentOptions<TOutput, TInput>,
): WorkflowNode<TOutput, TInput> {
  return node("agent", options);
}

/** A node that takes one of a fixed set of ways, by code (`choose`) or by an agent (`prompt`). */
export function decision<const TChoice extends string, TInput = unknown>(
  options: DecisionOptions<TChoice, TInput>,
): DecisionNode<TChoice, TInput> {
  return node("decision", options);
}

/** A node that waits for a person's answer. */
export function checkpoint<TAnswer, TInput = unknown>(
  options: CheckpointOptions<TAnswer, TInput>,
): WorkflowNode<TAnswer, TInput> {
  return node("checkpoint", options);
}

// What the compiler knows of a node is not in the value.
function node(kind: NodeDefinition["kind"], options: object): never {
  const made = {
    [NODE]: Object.freeze({ kind, options }),
    ...(kind === "decision" && "choices" in options ? { choices: options.choices } : {}),
  };
  return Object.freeze(rememberSite(made)) as never;
}

export function isNode(value: unknown): value is AnyNode {
  return typeof value === "object" && value !== null && NODE in value;
}
