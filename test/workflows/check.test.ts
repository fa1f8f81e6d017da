import { describe, expect, it } from "vitest";
import { z } from "zod";
import { declarationSite } from "../../src/resource-managers/site.ts";
import { checkWorkflow } from "../../src/workflows/check.ts";
import type { Workflow } from "../../src/workflows/define.ts";
import {
  action,
  agent,
  checkpoint,
  compute,
  decision,
  defineWorkflow,
  end,
  includeWorkflow,
  loop,
  parallel,
  shell,
} from "../../src/workflows/index.ts";

// Definitions are bundled without a type check: these are what a compiler would not have let through.
const define = defineWorkflow as (definition: object) => Workflow;
const make = (constructor: unknown, options: unknown) =>
  (constructor as (o: unknown) => unknown)(options);
const step = () => compute({ run: () => 1 });

/** A workflow that is whole, with some of its parts replaced. */
function workflow(parts: Record<string, unknown>): Workflow {
  return define({
    name: "check-links",
    input: z.object({}),
    output: z.number(),
    startAt: "a",
    nodes: { a: step() },
    edges: { a: end("done") },
    exits: { done: () => 1 },
    ...parts,
  });
}

const lines = (made: Workflow) =>
  checkWorkflow(made).map(({ path, message }) => `${path}: ${message}`);
/** Nodes of these names in a row of edges. */
function graph(edges: Record<string, unknown>, nodes: Record<string, unknown> = {}): string[] {
  const named = Object.fromEntries(Object.keys(edges).map((name) => [name, step()]));
  return lines(workflow({ nodes: { ...named, ...nodes }, edges }));
}
const yesOrNo = () => decision({ choices: ["yes", "no"], choose: () => "yes" });
const inner = workflow({
  name: "inner",
  nodes: { x: yesOrNo() },
  startAt: "x",
  edges: { x: { yes: end("good"), no: end("bad") } },
  exits: { good: () => 1, bad: () => 2 },
});

describe("a definition is refused with what is wrong and how to mend it", () => {
  it("but not one that is whole", () => {
    expect(lines(workflow({}))).toEqual([]);
    expect(
      lines(
        workflow({
          nodes: { a: step(), b: step(), c: step(), d: step(), e: yesOrNo() },
          includes: { in: includeWorkflow(inner, { input: () => ({}) }) },
          edges: {
            a: parallel(["b", "c"], { join: "e" }),
            b: { next: "d", failure: "d" },
            d: loop("b", { max: 2, exhausted: "e" }),
            c: "e",
            e: { yes: "in", no: loop("a", { max: 3, exhausted: "in" }) },
            in: { good: end("done"), bad: loop("e", { max: 1, exhausted: end("done") }) },
          },
        }),
      ),
    ).toEqual([]);
  });

  it.each<[string, Record<string, unknown>, string[]]>([
    ["a misspelt field", { exit: {} }, [': unknown option "exit"; did you mean "exits"?']],
    [
      "a name that no file can have",
      { name: "Check Links" },
      ['name: must be lower-case letters, digits and dashes, not "Check Links"'],
    ],
    [
      "no schema",
      { input: {} },
      ["input: must be a zod schema, such as z.object({ url: z.string() })"],
    ],
    [
      "a deadline that is none",
      { deadline: "5 minutes" },
      ['deadline: must be a positive whole number and s, m, h or d, such as "5m", not "5 minutes"'],
    ],
    ["no nodes", { nodes: {} }, ["nodes: must name at least one node: { fetch: action({ … }) }"]],
    [
      "a name that a path can't hold",
      { nodes: { "a/b": step() }, edges: { "a/b": end("done") } },
      [
        "nodes.a/b: its name must begin with a lower-case letter, and hold only letters, digits, - and _",
      ],
    ],
    [
      "a node that is none",
      { nodes: { a: { run: () => 1 } } },
      [
        "nodes.a: must be made by compute(…), action(…), shell(…), agent(…), decision(…) or checkpoint(…), not an object",
      ],
    ],
    [
      "a workflow that is not wrapped",
      { includes: { b: inner } },
      [
        "includes.b: must be made by includeWorkflow(workflow, { input }): wrap it, and say what its input is",
      ],
    ],
    [
      "an exit that is no function",
      { exits: { done: 1 } },
      ["exits.done: must be a function that returns the output, not 1"],
    ],
    [
      "a start that does not exist",
      { startAt: "b" },
      ['startAt: there is no node "b"; there are: a'],
    ],
    [
      "no start",
      { startAt: undefined },
      ['startAt: must be the name of a node, such as "a", not missing'],
    ],
  ])("%s", (_what, parts, expected) => {
    expect(lines(workflow(parts))).toEqual(expected);
  });

  it("one node under two names, and one name for two", () => {
    const one = step();
    expect(
      lines(workflow({ nodes: { a: one, b: one }, edges: { a: "b", b: end("done") } })),
    ).toEqual([
      "nodes.b: is the same as nodes.a: output(…) could not tell them apart; make a second one",
    ]);
    const a = includeWorkflow(inner, { input: () => ({}) });
    expect(lines(workflow({ includes: { a } }))).toEqual([
      "includes.a: a node has the same name; rename one of them",
    ]);
  });

  it.each<[string, unknown, string]>([
    [
      "a node without work",
      make(compute, {}),
      "nodes.a.run: is missing: the function that does the node's work",
    ],
    [
      "an action of unknown safety",
      make(action, { run: () => 1 }),
      'nodes.a.safety: is missing: "idempotent" where it may run again after a crash in its middle, else "manual"',
    ],
    [
      "a misspelt option",
      make(compute, { run: () => 1, retrys: { times: 2 } }),
      'nodes.a.retrys: compute(…) has no such option; did you mean "retry"?',
    ],
    [
      "a retry without times",
      make(compute, { run: () => 1, retry: 3 }),
      'nodes.a.retry: must be { times: 3 } or { times: 3, delay: "10s" }',
    ],
    [
      "a line given as a program",
      make(shell, { command: "npm test" }),
      'nodes.a.command: must be the program and its arguments, such as ["npm", "test"]; a line for a shell is `shell`',
    ],
    [
      "two commands",
      make(shell, { command: ["a"], shell: "a" }),
      "nodes.a: has both command and shell; leave one out",
    ],
    [
      "an agent that may answer anything",
      make(agent, { prompt: "?" }),
      "nodes.a.output: is missing: the zod schema of what the agent must answer",
    ],
    [
      "no choices",
      make(decision, { choices: [], choose: () => 1 }),
      'nodes.a.choices: must name at least one choice: ["yes", "no"]',
    ],
    [
      "a choice twice",
      make(decision, { choices: ["a", "a"], choose: () => 1 }),
      'nodes.a.choices: "a" is there twice',
    ],
    [
      "a choice that the edge can't tell",
      make(decision, { choices: ["failure"], choose: () => 1 }),
      'nodes.a.choices: "failure" is where the edge leads on failure; rename the choice',
    ],
    [
      "a question without an answer",
      make(checkpoint, { message: "Merge?" }),
      "nodes.a.answer: is missing: the zod schema of the answer",
    ],
  ])("%s", (_what, node, expected) => {
    expect(lines(workflow({ nodes: { a: node } }))[0]).toBe(expected);
  });

  it.each<[string, Record<string, unknown>, string]>([
    [
      "a dead end",
      { a: "b", b: undefined },
      'edges.b: is missing: nothing follows b; give a node\'s name, end("done") or loop("node", { max, exhausted }), or parallel([…], { join })',
    ],
    [
      "an edge to nowhere",
      { a: "chekc", check: end("done") },
      'edges.a: there is no node "chekc"; did you mean "check"?',
    ],
    [
      "an edge from nowhere",
      { a: end("done"), b: end("done") },
      "nodes.b: is never reached; let an edge lead to it, or remove it",
    ],
    [
      "an unknown exit",
      { a: end("dnoe") },
      'edges.a: there is no exit "dnoe"; did you mean "done"?',
    ],
    [
      "an exit named like a node",
      { a: "done" },
      'edges.a: there is no node "done"; the exit is end("done")',
    ],
    [
      "a ring",
      { a: "b", b: "c", c: "b" },
      'edges.c: goes round without a bound: b → c → b; make it loop("b", { max: 10, exhausted: … })',
    ],
    [
      "a loop without a bound",
      { a: "b", b: make((o: object) => loop("a", o as never), { exhausted: end("done") }) },
      "edges.b.max: must be a whole number from 1 to 1000000, not missing: every loop is bounded",
    ],
    [
      "a loop without a way out",
      { a: "b", b: make((o: object) => loop("a", o as never), { max: 2 }) },
      "edges.b.exhausted: where it leads after going round 2 times: is missing",
    ],
    [
      "a loop that leads on",
      { a: loop("b", { max: 2, exhausted: "b" }), b: end("done") },
      'edges.a: loop("b") does not lead back: a does not follow b; write "b"',
    ],
    [
      "a ring through what a loop leads to at last",
      { a: "b", b: loop("a", { max: 2, exhausted: "a" }) },
      'edges.b.exhausted: goes round without a bound: a → b → a; make it loop("a", { max: 10, exhausted: … })',
    ],
    [
      "cases of what is no decision",
      { a: { yes: "b" }, b: end("done") },
      'edges.a.yes: a is a compute, which has no cases; give a node\'s name, end("done") or loop("node", { max, exhausted }), or { next, failure }',
    ],
    [
      "one branch",
      { a: parallel(["b"], { join: "c" }), b: "c", c: end("done") },
      "edges.a: parallel(…) takes from 2 to 100 branches; for one write its name",
    ],
    [
      "a branch that ends",
      { a: parallel(["b", "c"], { join: "d" }), b: end("done"), c: "d", d: end("done") },
      'edges.b: the branch "b" of a leaves by an exit here; it must lead to the join "d"',
    ],
    [
      "branches that meet too soon",
      { a: parallel(["b", "c"], { join: "e" }), b: "d", c: "d", d: "e", e: end("done") },
      'edges.c: the branches "b" and "c" of a meet at d before their join "e"; lead both to the join, or make d the join',
    ],
    [
      "a branch that leads back out",
      {
        a: parallel(["b", "c"], { join: "d" }),
        b: loop("a", { max: 1, exhausted: "d" }),
        c: "d",
        d: end("done"),
      },
      'edges.b: the branch "b" of a leads back to the fork here; its loops must stay in it',
    ],
    [
      "an edge into a branch",
      {
        a: parallel(["b", "c"], { join: "d" }),
        b: "d",
        c: "d",
        d: loop("b", { max: 1, exhausted: end("done") }),
      },
      'edges.d: leads into a branch of a from outside, where its join would never begin; lead to "a" instead, or to what follows the join',
    ],
    [
      "a join that does not exist",
      { a: parallel(["b", "c"], { join: "dd" }), b: "d", c: "d", d: end("done") },
      'edges.a.join: there is no node "dd"; there are: a, b, c, d',
    ],
  ])("%s", (_what, edges, expected) => {
    expect(graph(edges)[0]).toBe(expected);
  });

  it("a start in the middle of a branch", () => {
    const edges = {
      a: parallel(["b", "c"], { join: "d" }),
      b: "d",
      c: "d",
      d: loop("a", { max: 1, exhausted: end("done") }),
    };
    const nodes = { a: step(), b: step(), c: step(), d: step() };
    expect(lines(workflow({ nodes, edges, startAt: "b" }))).toEqual([
      'startAt: lies in a branch of a; begin at "a" or before',
    ]);
  });

  it("choices without an edge, and edges without a choice", () => {
    const nodes = { a: yesOrNo() };
    const found = (edge: unknown) => lines(workflow({ nodes, edges: { a: edge } }));
    expect(found({ yes: end("done"), on: end("done") })).toEqual([
      'edges.a.no: is missing: nothing follows the choice "no" of a; give a node\'s name, end("done") or loop("node", { max, exhausted })',
      'edges.a.on: a has no choice "on"; there are: yes, no',
    ]);
    expect(found(end("done"))).toEqual([
      "edges.a: must say what follows each choice of a: { yes: …, no: … }",
    ]);
    expect(found({ yes: end("done"), no: parallel(["a", "a"], { join: "a" }) })).toEqual([
      "edges.a.no: only what always follows a node may fork; lead to a node that does",
    ]);
    expect(found({ yes: end("done"), no: end("done"), failure: nodes.a })).toEqual([
      'edges.a.failure: edges lead to names; write "a"',
    ]);
  });

  it("exits of an include without an edge", () => {
    const includes = { in: includeWorkflow(inner, { input: () => ({}) }) };
    const found = (edge: unknown) => lines(workflow({ includes, edges: { a: "in", in: edge } }));
    expect(found({ good: end("done"), bad: end("done") })).toEqual([]);
    expect(found(end("done"))).toEqual([
      "edges.in: must say what follows each exit of in: { good: …, bad: … }",
    ]);
    expect(found({ good: end("done") })).toEqual([
      'edges.in.bad: is missing: nothing follows the exit "bad" of in; give a node\'s name, end("done") or loop("node", { max, exhausted })',
    ]);
  });

  it("what is wrong with an included workflow, once, with its place", () => {
    const broken = workflow({ name: "broken", edges: { a: "b" } });
    const include = () => includeWorkflow(broken, { input: () => ({}) });
    const outer = workflow({
      includes: { one: include(), two: include() },
      edges: { a: "one", one: "two", two: end("done") },
    });
    expect(lines(outer)).toEqual(['includes.one.edges.a: there is no node "b"; there are: a']);
  });

  it("a workflow that includes itself", () => {
    const includes: Record<string, unknown> = {};
    const outer = workflow({ name: "outer", includes, edges: { a: "again", again: end("done") } });
    const between = workflow({
      name: "between",
      includes: { outer: includeWorkflow(outer as never, { input: () => ({}) }) },
      edges: { a: "outer", outer: end("done") },
    });
    includes["again"] = includeWorkflow(between as never, { input: () => ({}) });
    expect(lines(outer)).toEqual([
      "includes.again.includes.outer: a workflow can't include itself: outer → between → outer; use a loop instead",
    ]);
  });

  it("names the line of the node or edge that is at fault", () => {
    const lineOf = (value: unknown) =>
      Number(/check\.test\.ts:(\d+)/.exec(declarationSite(value) ?? "")?.[1]);
    const made = workflow({
      nodes: { a: step(), b: make(action, { run: () => 1 }), c: step() },
      edges: {
        a: "b",
        b: "c",
        c: end("dnoe"),
      },
    });
    const places = checkWorkflow(made).map(({ path, declared }) => [path, lineOf(declared)]);
    const first = lineOf(made.nodes["a"]);
    expect(places.map(([path]) => path)).toEqual(["nodes.b.safety", "edges.c"]);
    expect(lineOf(made.edges["c"])).toBeGreaterThan(0);
    expect(places[1]?.[1]).toBe(lineOf(made.edges["c"]));
    expect(first).toBeGreaterThan(0);
  });
});
