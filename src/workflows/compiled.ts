import type { z } from "zod";
import type { Graph, NodeKind, Safety } from "../model/graph.ts";
import type { CompensationContext, NodeContext, PureContext } from "./context.ts";
import type { ShellResult } from "./nodes.ts";

/**
 * A definition ready to be executed: the flat graph that the step function walks, and by path what
 * each of its nodes does. `compile` makes one; the engine in `src/runner/run` executes it.
 *
 * What the engine keeps while it does: the value of each node that ended, by `keptAs`; the input of
 * each scope. All of it is in the journal: a node's value is the output of its `succeeded` line.
 */
export type CompiledWorkflow = {
  name: string;
  input: z.ZodType;
  output: z.ZodType;
  /** A run must end within this. */
  deadlineMs: number;
  /** Without output schemas, which only people need: `gives` has them. */
  graph: Graph;
  nodes: ReadonlyMap<string, CompiledNode>;
};

/** One node of the flat graph with its functions. Functions may be the author's: they throw. */
export type CompiledNode = {
  /** Path in the flat graph: `review/run-tests`; `end:done` for a result, `review/end:done` for an exit. */
  path: string;
  kind: NodeKind;
  safety: Safety;
  /**
   * The workflow that it belongs to, by the path of the include around it; empty for the outermost.
   * `ctx.input` is that scope's: the run's input, or the value of the include node.
   */
  scope: string;
  /** The node's own schema of the scope's input, where it is not the workflow's: `ctx.input` is what it makes of it. */
  takes?: z.ZodType;
  /**
   * Checks what the node hands over: the author's output schema; the inner workflow's input for an
   * include, its output for an exit, the outermost output for a result, the choices of a decision.
   */
  gives?: z.ZodType;
  /**
   * The path under which `ctx.output` finds its value: its own, and that of the include for an exit.
   * An include node has none: its value is the input of the scope `path`, and when it ends, whatever
   * is kept below `path/` from an earlier visit is dropped.
   */
  keptAs?: string;
  /**
   * The path under which the value of a constant of the author's (a node or an include) is kept.
   * @throws Error naming it, where the workflow has no such node.
   */
  pathOf: (node: unknown) => string;
  work: Work;
  compensate?: (ctx: CompensationContext) => unknown;
};

/** What is to be done to get a node's value. */
export type Work =
  /** compute, action, decision by code, include, exit, result. */
  | { by: "code"; run: (ctx: NodeContext) => unknown }
  | {
      by: "command";
      call: (ctx: NodeContext) => CommandCall;
      /** Exit codes that are no failure. */
      exitCodes: readonly number[] | "any";
      /** The value; absent: the `ShellResult`. */
      parse?: (result: ShellResult, ctx: PureContext) => unknown;
    }
  | {
      by: "agent";
      ask: (ctx: PureContext) => { prompt: string; cwd?: string };
      /** What the answer must be; `jsonSchemaOf` makes the agent's of it. */
      schema: z.ZodType;
      /** The value, from an answer that fits `schema`. */
      valueOf: (answer: unknown) => unknown;
      tools: readonly string[];
      model?: string;
      /** Absent: each visit is a conversation of its own. */
      conversation?: string;
    }
  | { by: "person"; message: (ctx: PureContext) => string; schema: z.ZodType };

/** A command as it is to be started; `cwd` is relative to the project. */
export type CommandCall = {
  /** Program and arguments; for a shell line `["/bin/sh", "-c", line]`. */
  argv: readonly string[];
  cwd?: string;
  env: Readonly<Record<string, string>>;
};
