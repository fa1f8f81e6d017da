import fc from "fast-check";
import { z } from "zod";
import { compile } from "../../src/workflows/compile.ts";
import type { Workflow } from "../../src/workflows/define.ts";
import {
  action,
  checkpoint,
  compute,
  decision,
  defineWorkflow,
  end,
  includeWorkflow,
  loop,
  parallel,
} from "../../src/workflows/index.ts";
import type { Graph } from "../../src/model/graph.ts";

/** A program that a random workflow is made from, and that says what the workflow must do. */
export type Block = Item[];
export type Item =
  | {
      do: "work";
      name: string;
      kind: "compute" | "idempotent" | "manual" | "checkpoint";
      retries: number;
      /** True where a failure leads on like a success. */
      forgiving: boolean;
      compensates: boolean;
    }
  | { do: "choose"; name: string; cases: Block[] }
  | { do: "repeat"; name: string; body: Block; max: number }
  | { do: "fork"; name: string; branches: Block[] }
  | { do: "include"; name: string; body: Block };

export type Kinds = readonly Extract<Item, { do: "work" }>["kind"][];

/** Programs of work of some kinds. Names come from `named`. */
export function programs(kinds: Kinds): fc.Arbitrary<Block> {
  const name = fc.constant("");
  const { block } = fc.letrec<{ block: Block; item: Item }>((tie) => ({
    block: fc.array(tie("item"), { minLength: 1, maxLength: 4 }),
    item: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.record({
        do: fc.constant("work" as const),
        name,
        kind: fc.constantFrom(...kinds),
        retries: fc.integer({ min: 0, max: 2 }),
        forgiving: fc.integer({ min: 0, max: 5 }).map((value) => value > 0),
        compensates: fc.boolean(),
      }),
      fc.record({
        do: fc.constant("choose" as const),
        name,
        cases: fc.array(tie("block"), { minLength: 2, maxLength: 3 }),
      }),
      fc.record({
        do: fc.constant("repeat" as const),
        name,
        body: tie("block"),
        max: fc.integer({ min: 1, max: 3 }),
      }),
      fc.record({
        do: fc.constant("fork" as const),
        name,
        branches: fc.array(tie("block"), { minLength: 2, maxLength: 3 }),
      }),
      fc.record({ do: fc.constant("include" as const), name, body: tie("block") }),
    ),
  }));
  return block.map((made) => named(made));
}

/** Gives the items of one workflow names of their own. */
function named(block: Block): Block {
  let count = 0;
  const inBlock = (items: Block): Block => items.map(inItem);
  const inItem = (item: Item): Item => {
    count += 1;
    const name = `n${count}`;
    switch (item.do) {
      case "work":
        return { ...item, name };
      case "choose":
        return { ...item, name, cases: item.cases.map(inBlock) };
      case "repeat":
        return { ...item, name, body: inBlock(item.body) };
      case "fork":
        return { ...item, name, branches: item.branches.map(inBlock) };
      case "include":
        return { ...item, name, body: named(item.body) };
    }
  };
  return inBlock(block);
}

type Parts = {
  nodes: Record<string, unknown>;
  includes: Record<string, unknown>;
  edges: Record<string, unknown>;
};
type After = string | ReturnType<typeof end>;

/** The workflow that does what the program says. */
export function workflowOf(block: Block): Workflow {
  const parts: Parts = { nodes: {}, includes: {}, edges: {} };
  const startAt = addBlock(parts, block, end("done"));
  return (defineWorkflow as (definition: object) => Workflow)({
    name: "random",
    input: z.unknown(),
    output: z.unknown(),
    startAt,
    ...parts,
    exits: { done: () => null },
  });
}

export function graphOf(block: Block): Graph {
  return compile(workflowOf(block)).graph;
}

function addBlock(parts: Parts, block: Block, after: After): string {
  return block
    .toReversed()
    .reduce<After>((next, item) => addItem(parts, item, next), after) as string;
}

/** What only holds others together never fails. */
export const STEADY = "steady";
const nothing = () => compute({ title: STEADY, run: () => null });

function addItem(parts: Parts, item: Item, after: After): string {
  const { name } = item;
  switch (item.do) {
    case "work":
      parts.nodes[name] = workOf(item);
      parts.edges[name] = item.forgiving ? { next: after, failure: after } : after;
      return name;
    case "choose": {
      const choices = item.cases.map((_case, index) => `c${index}`);
      parts.nodes[name] = decision({ choices, choose: () => "c0" });
      parts.edges[name] = Object.fromEntries(
        item.cases.map((body, index) => [`c${index}`, addBlock(parts, body, after)]),
      );
      return name;
    }
    case "repeat": {
      const first = addBlock(parts, item.body, name);
      parts.nodes[name] = decision({ choices: ["c0", "c1"], choose: () => "c0" });
      parts.edges[name] = { c0: loop(first, { max: item.max, exhausted: after }), c1: after };
      return first;
    }
    case "fork": {
      const join = `${name}-join`;
      parts.nodes[name] = nothing();
      parts.nodes[join] = nothing();
      const branches = item.branches.map((body) => addBlock(parts, body, join));
      parts.edges[name] = parallel(branches, { join });
      parts.edges[join] = after;
      return name;
    }
    case "include":
      parts.includes[name] = includeWorkflow(workflowOf(item.body), { input: () => null });
      parts.edges[name] = after;
      return name;
  }
}

function workOf({ kind, retries, compensates }: Extract<Item, { do: "work" }>): unknown {
  const retry = retries === 0 ? {} : { retry: { times: retries } };
  const undo = compensates ? { compensate: () => undefined } : {};
  const run = () => null;
  switch (kind) {
    case "compute":
      return compute({ run, ...retry });
    case "checkpoint":
      return checkpoint({ message: "?", answer: z.unknown() });
    case "idempotent":
    case "manual":
      return action({ safety: kind, run, ...retry, ...undo });
  }
}

/** What a node comes to when it is visited for the nth time, whoever asks and however often. */
export type Outcomes = (path: string, nth: number) => { failures: number; choice: number };

export function outcomes(seed: number): Outcomes {
  return (path, nth) => {
    const value = hash(`${seed}/${path}/${nth}`);
    return { failures: [0, 0, 0, 0, 0, 0, 1, 1, 2, 3][value % 10] as number, choice: value >>> 8 };
  };
}

function hash(text: string): number {
  let value = 2_166_136_261;
  for (const character of text) value = Math.imul(value ^ character.charCodeAt(0), 16_777_619);
  value ^= value >>> 15;
  value = Math.imul(value, 2_246_822_519);
  return (value ^ (value >>> 13)) >>> 0;
}

export class RunFails extends Error {}

/** Does what the program says: how often each node is entered. @throws RunFails where the run fails. */
export function interpret(block: Block, come: Outcomes): Map<string, number> {
  const entered = new Map<string, number>();
  const enter = (path: string) => {
    const nth = (entered.get(path) ?? 0) + 1;
    entered.set(path, nth);
    return come(path, nth);
  };
  const runBlock = (items: Block, scope: string) => items.forEach((item) => runItem(item, scope));
  const runItem = (item: Item, scope: string): void => {
    const path = scope + item.name;
    switch (item.do) {
      case "work": {
        const { failures } = enter(path);
        const allowed = item.kind === "checkpoint" ? Infinity : item.retries;
        if (failures > allowed && !item.forgiving) throw new RunFails(path);
        return;
      }
      case "choose": {
        const { choice } = enter(path);
        runBlock(item.cases[choice % item.cases.length] as Block, scope);
        return;
      }
      case "repeat": {
        let taken = 0;
        for (;;) {
          runBlock(item.body, scope);
          const { choice } = enter(path);
          if (choice % 2 === 1 || taken === item.max) return;
          taken += 1;
        }
      }
      // oxlint-disable-next-line no-fallthrough -- the loop above does not end
      case "fork":
        enter(path);
        for (const branch of item.branches) runBlock(branch, scope);
        enter(`${path}-join`);
        return;
      case "include":
        enter(path);
        runBlock(item.body, `${path}/`);
        enter(`${path}/end:done`);
    }
  };
  runBlock(block, "");
  enter("end:done");
  return entered;
}
