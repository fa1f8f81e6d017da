import type { z } from "zod";
import type { Duration } from "../model/duration.ts";
import { rememberSite } from "../resource-managers/site.ts";
import type { PureContext, Typed } from "./context.ts";
import type { EdgeOf } from "./edges.ts";
import type { AnyNode, WorkflowNode } from "./nodes.ts";

const WORKFLOW: unique symbol = Symbol.for("pi-workflows.Workflow") as never;
const INCLUDE: unique symbol = Symbol.for("pi-workflows.Include") as never;

type Nodes<TInput> = Record<string, WorkflowNode<unknown, TInput>>;
type Includes<TInput> = Record<string, Include<unknown, string, TInput>>;
type Exits<TInput, TOutput> = Record<string, (ctx: PureContext<TInput>) => TOutput>;
type NameOf<T> = keyof T & string;

/** What the author of a workflow writes. */
export type WorkflowDefinition<
  TInput extends z.ZodType,
  TOutput extends z.ZodType,
  TNodes extends Nodes<z.output<TInput>>,
  TIncludes extends Includes<z.output<TInput>>,
  TExits extends Exits<z.output<TInput>, z.input<TOutput>>,
> = {
  /** Must equal the file's name before `.workflow.ts`. */
  name: string;
  /** Checked before a run begins. */
  input: TInput;
  /** Of every exit; checked before a run ends. */
  output: TOutput;
  /** The node or include with which a run begins. */
  startAt: NameOf<NoInfer<TNodes>> | NameOf<NoInfer<TIncludes>>;
  /** A run must end within this, its waiting included. Default `"1d"`. */
  deadline?: Duration;
  nodes: TNodes;
  /** Other workflows that run as a part of this one. */
  includes?: TIncludes;
  /** What follows each node and each include. */
  edges: {
    readonly [N in NameOf<NoInfer<TNodes>> | NameOf<NoInfer<TIncludes>>]: EdgeOf<
      (TNodes & TIncludes)[N],
      NameOf<NoInfer<TNodes>> | NameOf<NoInfer<TIncludes>>,
      NameOf<NoInfer<TExits>>
    >;
  };
  /** The ends of a run, and what it hands over at each. */
  exits: TExits;
};

/** A workflow as `defineWorkflow` makes it. */
export type Workflow<
  TInput extends z.ZodType = z.ZodType,
  TOutput extends z.ZodType = z.ZodType,
  TExit extends string = string,
> = {
  readonly [WORKFLOW]: true;
  readonly name: string;
  readonly input: TInput;
  readonly output: TOutput;
  /** As the author wrote them; `checkWorkflow` says whether they hold together. */
  readonly startAt: string;
  readonly deadline?: string;
  readonly nodes: Readonly<Record<string, AnyNode>>;
  readonly includes: Readonly<Record<string, AnyInclude>>;
  readonly edges: Readonly<Record<string, unknown>>;
  readonly exits: Readonly<Record<TExit, (ctx: PureContext<never>) => z.input<TOutput>>>;
};

/** Another workflow as a part of one; `output(include)` gives what it ended with. */
export type Include<TOutput = unknown, TExit extends string = string, TInput = unknown> = Typed<
  TOutput,
  TInput
> & {
  readonly [INCLUDE]: true;
  readonly workflow: Workflow<z.ZodType, z.ZodType, TExit>;
  readonly input: (ctx: PureContext<TInput>) => unknown;
  readonly title?: string;
};

/** An include of whatever workflow. */
export type AnyInclude = Include<unknown, string, never>;

/**
 * Declares a workflow: a graph of nodes that starts with an input, follows its edges and ends by one
 * of its exits. Export it as the default of `NAME.workflow.ts`.
 */
export function defineWorkflow<
  TInput extends z.ZodType,
  TOutput extends z.ZodType,
  TNodes extends Nodes<z.output<NoInfer<TInput>>>,
  TExits extends Exits<z.output<NoInfer<TInput>>, z.input<NoInfer<TOutput>>>,
  // oxlint-disable-next-line typescript/no-empty-object-type -- no include has no name
  TIncludes extends Includes<z.output<NoInfer<TInput>>> = {},
>(
  definition: WorkflowDefinition<TInput, TOutput, TNodes, TIncludes, TExits>,
): Workflow<TInput, TOutput, NameOf<TExits>> {
  const made = { ...definition, includes: definition.includes ?? {}, [WORKFLOW]: true as const };
  return Object.freeze(rememberSite(made));
}

/**
 * Makes another workflow a part of one, in the same run: `input` computes its input from what the
 * outer workflow has, and the include's edge says what follows each of its exits.
 */
export function includeWorkflow<
  TInput extends z.ZodType,
  TOutput extends z.ZodType,
  TExit extends string,
  TOuter = unknown,
>(
  workflow: Workflow<TInput, TOutput, TExit>,
  options: {
    input: (ctx: PureContext<TOuter>) => z.input<NoInfer<TInput>>;
    title?: string;
  },
): Include<z.output<TOutput>, TExit, TOuter> {
  const made = { ...options, workflow, [INCLUDE]: true as const };
  return Object.freeze(rememberSite(made)) as unknown as Include<z.output<TOutput>, TExit, TOuter>;
}

/** Whether `value` is a workflow, whichever copy of this module made it. */
export function isWorkflow(value: unknown): value is Workflow {
  return typeof value === "object" && value !== null && WORKFLOW in value;
}

export function isInclude(value: unknown): value is AnyInclude {
  return typeof value === "object" && value !== null && INCLUDE in value;
}
