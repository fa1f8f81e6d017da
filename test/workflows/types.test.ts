import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
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
  type PureContext,
  shell,
  type ShellResult,
  type WorkflowNode,
} from "../../src/workflows/index.ts";

const Input = z.object({ url: z.string() });
const fetchLinks = action({
  input: Input,
  safety: "idempotent",
  output: z.array(z.string()),
  run: ({ input }) => [input.url],
});
const count = compute({ run: ({ output }) => output(fetchLinks).length });
const tests = shell({ command: ["npm", "test"], safety: "idempotent", timeout: "5m" });
const parsed = shell({ shell: "echo 1", parse: ({ stdout }) => Number(stdout) });
const opinion = agent({ prompt: "?", output: z.object({ ok: z.boolean() }) });
const ask = checkpoint({ message: "Merge?", answer: z.object({ ok: z.boolean() }) });
const good = decision({
  choices: ["yes", "no"],
  choose: ({ output }) => (output(count) > 1 ? "yes" : "no"),
});

const inner = defineWorkflow({
  name: "inner",
  input: z.object({ links: z.array(z.string()) }),
  output: z.object({ broken: z.array(z.string()) }),
  startAt: "count",
  nodes: { count: compute({ run: () => 1 }) },
  edges: { count: end("done") },
  exits: { done: () => ({ broken: [] }) },
});
const review = includeWorkflow(inner, { input: ({ output }) => ({ links: output(fetchLinks) }) });
const nodes = { fetchLinks, count, tests, opinion, ask, good };
const common = {
  name: "outer",
  input: Input,
  output: z.number(),
  startAt: "fetchLinks" as const,
  nodes,
  includes: { review },
  exits: { done: ({ output }: PureContext) => output(count), gaveUp: () => 0 },
};
const edges = {
  fetchLinks: parallel(["tests", "opinion"], { join: "ask" }),
  tests: "ask",
  opinion: { next: "ask", failure: "ask" },
  ask: "count",
  count: "good",
  good: { yes: "review", no: loop("fetchLinks", { max: 3, exhausted: end("gaveUp") }) },
  review: { done: end("done") },
} as const;

describe("what the compiler says of a workflow", () => {
  it("knows what each node hands over", () => {
    compute({
      run: ({ output, tryOutput }) => {
        expectTypeOf(output(fetchLinks)).toEqualTypeOf<string[]>();
        expectTypeOf(output(count)).toEqualTypeOf<number>();
        expectTypeOf(output(tests)).toEqualTypeOf<ShellResult>();
        expectTypeOf(output(parsed)).toEqualTypeOf<number>();
        expectTypeOf(output(opinion)).toEqualTypeOf<{ ok: boolean }>();
        expectTypeOf(output(ask)).toEqualTypeOf<{ ok: boolean }>();
        expectTypeOf(output(good)).toEqualTypeOf<"yes" | "no">();
        expectTypeOf(output(review)).toEqualTypeOf<{ broken: string[] }>();
        expectTypeOf(tryOutput(count)).toEqualTypeOf<number | undefined>();
        // @ts-expect-error -- not a node
        output({ title: "x" });
        return 1;
      },
    });
  });

  it("takes a whole one", () => {
    const outer = defineWorkflow({ ...common, edges });
    expectTypeOf(outer.input).toEqualTypeOf<typeof Input>();
    defineWorkflow({ ...common, edges: { ...edges, review: end("done") } });
    defineWorkflow({
      ...common,
      edges,
      exits: {
        done({ input, output }) {
          expectTypeOf(input).toEqualTypeOf<{ url: string }>();
          return output(count);
        },
        gaveUp: ({ input }) => input.url.length,
      },
    });
  });

  it("refuses what a node gives back that its schema does not have", () => {
    action({
      safety: "manual",
      output: z.string(),
      // @ts-expect-error -- a number is no string
      run: () => 1,
    });
    decision({
      choices: ["yes", "no"],
      // @ts-expect-error -- no such choice
      choose: () => "maybe",
    });
    // @ts-expect-error -- an action must say how safe it is
    action({ run: () => 1 });
    // @ts-expect-error -- no unit
    shell({ command: ["true"], timeout: "5" });
    // @ts-expect-error -- one of command and shell
    shell({ command: ["true"], shell: "true" });
  });

  it("refuses a choice without an edge, an edge without a choice, and a node without an edge", () => {
    defineWorkflow({
      ...common,
      edges: {
        ...edges,
        // @ts-expect-error -- `no` is missing
        good: { yes: "review" },
      },
    });
    defineWorkflow({
      ...common,
      edges: {
        ...edges,
        // @ts-expect-error -- `maybe` is no choice
        good: { yes: "review", no: "ask", maybe: "ask" },
      },
    });
    const { ask: _ask, ...missing } = edges;
    defineWorkflow({
      ...common,
      // @ts-expect-error -- `ask` leads nowhere
      edges: missing,
    });
  });

  it("refuses edges to nodes and exits that do not exist", () => {
    // @ts-expect-error -- no such node
    defineWorkflow({ ...common, edges: { ...edges, ask: "cuont" } });
    // @ts-expect-error -- no such exit
    defineWorkflow({ ...common, edges: { ...edges, ask: end("dnoe") } });
    defineWorkflow({
      ...common,
      // @ts-expect-error -- no such node to go back to
      edges: { ...edges, ask: loop("fetch", { max: 3, exhausted: "good" }) },
    });
    defineWorkflow({
      ...common,
      // @ts-expect-error -- no such node when exhausted
      edges: { ...edges, ask: loop("fetchLinks", { max: 3, exhausted: "goood" }) },
    });
    defineWorkflow({
      ...common,
      // @ts-expect-error -- no such branch
      edges: { ...edges, fetchLinks: parallel(["test"], { join: "ask" }) },
    });
    defineWorkflow({
      ...common,
      // @ts-expect-error -- no such exit of the included workflow
      edges: { ...edges, review: { finished: end("done") } },
    });
    // @ts-expect-error -- no such node to start at
    defineWorkflow({ ...common, edges, startAt: "fetch" });
  });

  it("refuses a loop without its bound", () => {
    // @ts-expect-error -- `max` is missing
    loop("fetchLinks", { exhausted: "ask" });
    // @ts-expect-error -- `exhausted` is missing
    loop("fetchLinks", { max: 3 });
  });

  it("refuses nodes that take another input than the workflow has", () => {
    const other = compute({
      input: z.object({ size: z.number() }),
      run: ({ input }) => input.size,
    });
    // @ts-expect-error -- the workflow's input has no size
    defineWorkflow({ ...common, edges, nodes: { ...nodes, count: other } });
    // @ts-expect-error -- an exit must give the workflow's output
    defineWorkflow({ ...common, edges, exits: { done: () => "1", gaveUp: () => 0 } });
    // @ts-expect-error -- the included workflow takes links
    includeWorkflow(inner, { input: () => ({ link: [] }) });
    const wide = includeWorkflow(inner, {
      input: ({ input }: PureContext<{ size: number }>) => ({ links: [String(input.size)] }),
    });
    // @ts-expect-error -- the workflow's input has no size
    defineWorkflow({ ...common, edges, includes: { review: wide } });
  });

  it("lets nodes of a loop read each other once one says its type", () => {
    const draft: WorkflowNode<string, unknown> = compute({
      run: ({ tryOutput }) => tryOutput(critique) ?? "",
    });
    const critique = compute({ run: ({ output }) => output(draft).toUpperCase() });
    expectTypeOf(critique).toEqualTypeOf<WorkflowNode<string, unknown>>();
  });
});
