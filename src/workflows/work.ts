import { z } from "zod";
import type { Safety } from "../model/graph.ts";
import type { CommandCall, Work } from "./compiled.ts";
import type { NodeContext, PureContext } from "./context.ts";
import {
  type AgentOptions,
  type DecisionOptions,
  type NodeDefinition,
  READ_ONLY_TOOLS,
  type ShellOptions,
  type ShellResult,
} from "./nodes.ts";

/** What a node's functions do, and what it hands over. */
export type NodeWork = { work: Work; gives?: z.ZodType; safety: Safety };

/** The work of a node that `checkWorkflow` found nothing wrong with. */
export function workOf({ kind, options }: NodeDefinition): NodeWork {
  switch (kind) {
    case "compute":
      return {
        work: byCode(options.run),
        ...given(options.output),
        safety: "pure",
      };
    case "action":
      return {
        work: byCode(options.run),
        ...given(options.output),
        safety: options.safety,
      };
    case "shell":
      return {
        work: command(options),
        ...given(options.output),
        safety: options.safety ?? "manual",
      };
    case "agent":
      return {
        work: asking(options, options.output, (answer) => answer),
        gives: options.output,
        safety: options.safety ?? safetyOfTools(options),
      };
    case "decision":
      return decided(options);
    case "checkpoint":
      return {
        work: { by: "person", message: textOf(options.message), schema: options.answer },
        gives: options.answer,
        safety: "idempotent",
      };
  }
}

/** The author's function as work; what it takes was checked by the compiler. */
export function byCode(run: (ctx: never) => unknown): Work {
  return { by: "code", run: run as (ctx: NodeContext) => unknown };
}

function given(output: z.ZodType | undefined): { gives?: z.ZodType } {
  return output === undefined ? {} : { gives: output };
}

function command(options: ShellOptions<unknown, never>): Work {
  const { command: argv, shell: line, parse } = options;
  const argvOf = (ctx: NodeContext): readonly string[] =>
    argv === undefined ? ["/bin/sh", "-c", evaluate(line, ctx)] : evaluate(argv, ctx);
  return {
    by: "command",
    call(ctx): CommandCall {
      const cwd = evaluate(options.cwd, ctx);
      const env = evaluate(options.env, ctx);
      return { argv: argvOf(ctx), ...(cwd === undefined ? {} : { cwd }), env: env ?? {} };
    },
    exitCodes: options.exitCodes ?? [0],
    ...(parse === undefined
      ? {}
      : { parse: parse as (result: ShellResult, ctx: PureContext) => unknown }),
  };
}

function asking(
  options: Omit<AgentOptions<unknown, never>, "output" | "safety">,
  schema: z.ZodType,
  valueOf: (answer: unknown) => unknown,
): Work {
  const prompt = textOf(options.prompt);
  return {
    by: "agent",
    ask(ctx) {
      const cwd = evaluate(options.cwd, ctx);
      return { prompt: prompt(ctx), ...(cwd === undefined ? {} : { cwd }) };
    },
    schema,
    valueOf,
    tools: options.tools ?? READ_ONLY_TOOLS,
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.conversation === undefined ? {} : { conversation: options.conversation }),
  };
}

function decided(options: DecisionOptions<string, never>): NodeWork {
  const choice = z.enum(options.choices as [string, ...string[]]);
  if ("choose" in options) {
    return { work: byCode(options.choose), gives: choice, safety: "pure" };
  }
  const schema = z.object({ choice, reason: z.string().describe("Why, in a sentence or two") });
  const valueOf = (answer: unknown) => (answer as z.output<typeof schema>).choice;
  return {
    work: asking(options, schema, valueOf),
    gives: choice,
    safety: safetyOfTools(options),
  };
}

function safetyOfTools({ tools }: { tools?: readonly string[] }): Safety {
  const changes = (tools ?? []).some((tool) => !READ_ONLY_TOOLS.includes(tool));
  return changes ? "manual" : "idempotent";
}

function textOf(text: string | ((ctx: never) => string)): (ctx: PureContext) => string {
  return (ctx) => evaluate(text, ctx);
}

/** A value that the author wrote, or computes. */
function evaluate<T>(value: T | ((ctx: never) => T), ctx: PureContext): T {
  return typeof value === "function" ? (value as (ctx: PureContext) => T)(ctx) : value;
}
