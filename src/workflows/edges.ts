import { rememberSite } from "../resource-managers/site.ts";
import type { Include } from "./define.ts";
import type { DecisionNode } from "./nodes.ts";

/** Marks what `end`, `loop` and `parallel` make, whichever copy of this module did. */
export const EDGE: unique symbol = Symbol.for("pi-workflows.Edge") as never;

/** Leads out of the workflow by one of its exits. */
export type End<TExit extends string = string> = { readonly [EDGE]: "end"; readonly exit: TExit };

/** Leads back, a bounded number of times, and then elsewhere. */
export type Loop<TTo extends string = string, TExhausted = string | End> = {
  readonly [EDGE]: "loop";
  readonly to: TTo;
  readonly max: number;
  readonly exhausted: TExhausted;
};

/** Branches that run side by side. */
export type Parallel<TName extends string = string> = {
  readonly [EDGE]: "parallel";
  readonly branches: readonly TName[];
  readonly join: TName;
};

/** Ends the workflow by its exit `exit`. */
export function end<const TExit extends string>(exit: TExit): End<TExit> {
  return edge({ [EDGE]: "end" as const, exit });
}

/**
 * Goes back to the node `to`, at most `max` times in a row; after that to `exhausted`. The count begins
 * anew once the loop's node has gone on by another way.
 */
export function loop<const TTo extends string, const TExhausted extends string | End>(
  to: TTo,
  { max, exhausted }: { max: number; exhausted: TExhausted },
): Loop<TTo, TExhausted> {
  return edge({ [EDGE]: "loop" as const, to, max, exhausted });
}

/** Runs branches side by side; the node `join` begins when each of them has led to it. */
export function parallel<const TName extends string>(
  branches: readonly TName[],
  { join }: { join: TName },
): Parallel<TName> {
  return edge({ [EDGE]: "parallel" as const, branches, join });
}

function edge<T extends object>(made: T): T {
  return Object.freeze(rememberSite(made));
}

/** The kind of edge that `value` is, where one of the three constructors made it. */
export function edgeKind(value: unknown): "end" | "loop" | "parallel" | undefined {
  if (typeof value !== "object" || value === null || !(EDGE in value)) return undefined;
  return value[EDGE] as "end" | "loop" | "parallel";
}

/** Where an edge may lead. */
export type EdgeTarget<TName extends string, TExit extends string> =
  | TName
  | End<TExit>
  | Loop<TName, TName | End<TExit>>;

type Onward<TName extends string, TExit extends string> =
  | EdgeTarget<TName, TExit>
  | Parallel<TName>;

type Cases<TCase extends string, TName extends string, TExit extends string> = {
  readonly [C in TCase]: EdgeTarget<TName, TExit>;
};

type IsSingle<T extends string, TAll extends string = T> = T extends unknown
  ? [TAll] extends [T]
    ? true
    : false
  : never;

/** What may follow a node: by its choices, by the exits of an include, or one way. */
export type EdgeOf<TNode, TName extends string, TExit extends string> =
  TNode extends DecisionNode<infer TChoice, never>
    ? Cases<TChoice, TName, TExit> & {
        /** Where it leads once its attempts have failed; absent: the run fails. */
        readonly failure?: EdgeTarget<TName, TExit>;
      }
    : TNode extends Include<unknown, infer TInner, never>
      ? | Cases<TInner, TName, TExit>
        | (IsSingle<TInner> extends true ? EdgeTarget<TName, TExit> : never)
      : | Onward<TName, TExit>
        | {
            readonly next: Onward<TName, TExit>;
            /** Where it leads once its attempts have failed; absent: the run fails. */
            readonly failure?: EdgeTarget<TName, TExit>;
          };
