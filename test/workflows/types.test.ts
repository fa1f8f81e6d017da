import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { checkWorkflow } from "../../src/workflows/check.ts";
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
  type Workflow,
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

/** What is found at load, where nobody asks the compiler. */
const faults = (workflow: Workflow) => checkWorkflow(workflow).map(({ path }) => path);

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
    expect(faults(outer)).toEqual([]);
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
    const one = () => 1;
    const nodeWith = {
      // @ts-expect-error -- a number is no string
      output: action({ safety: "manual", output: z.string(), run: one }),
      // @ts-expect-error -- no such choice
      choice: decision({ choices: ["yes", "no"], choose: () => "maybe" }),
      // @ts-expect-error -- an action must say how safe it is
      safety: action({ run: one }),
      // @ts-expect-error -- no unit
      timeout: shell({ command: ["true"], timeout: "5" }),
      // @ts-expect-error -- one of command and shell
      command: shell({ command: ["true"], shell: "true" }),
      // @ts-expect-error -- no such option
      option: compute({ run: one, retries: { times: 2 } }),
    };
    expect(Object.keys(nodeWith)).toHaveLength(6);
  });

  it("refuses a choice without an edge, an edge without a choice, and a node without an edge", () => {
    const missing = { ...edges, good: { yes: "review" } } as const;
    // @ts-expect-error -- `no` is missing
    expect(faults(defineWorkflow({ ...common, edges: missing }))).toEqual(["edges.good.no"]);

    expect(
      faults(
        defineWorkflow({
          ...common,
          edges: {
            ...edges,
            // @ts-expect-error -- `maybe` is no choice
            good: { yes: "review", no: end("gaveUp"), maybe: "ask" },
          },
        }),
      ),
    ).toEqual(["edges.good.maybe"]);

    const { ask: _ask, ...deadEnd } = edges;
    // @ts-expect-error -- `ask` leads nowhere
    expect(faults(defineWorkflow({ ...common, edges: deadEnd }))).toEqual(["edges.ask"]);
  });

  it("refuses edges to nodes and exits that do not exist", () => {
    const wrongNode = { ...edges, ask: "cuont" } as const;
    // @ts-expect-error -- no such node
    expect(faults(defineWorkflow({ ...common, edges: wrongNode }))).toEqual(["edges.ask"]);

    const wrongExit = { ...edges, ask: end("dnoe") };
    // @ts-expect-error -- no such exit
    expect(faults(defineWorkflow({ ...common, edges: wrongExit }))).toEqual(["edges.ask"]);

    const wrongLoop = { ...edges, ask: loop("fetch", { max: 3, exhausted: "good" }) };
    // @ts-expect-error -- no such node to go back to
    expect(faults(defineWorkflow({ ...common, edges: wrongLoop }))).toEqual(["edges.ask"]);

    const wrongLast = { ...edges, ask: loop("fetchLinks", { max: 3, exhausted: "goood" }) };
    // @ts-expect-error -- no such node when exhausted
    expect(faults(defineWorkflow({ ...common, edges: wrongLast }))).toEqual([
      "edges.ask.exhausted",
    ]);

    const wrongBranch = { ...edges, fetchLinks: parallel(["test", "opinion"], { join: "ask" }) };
    // @ts-expect-error -- no such branch
    expect(faults(defineWorkflow({ ...common, edges: wrongBranch }))).toEqual([
      "edges.fetchLinks.branches[0]",
    ]);

    const wrongInner = { ...edges, review: { finished: end("done") } };
    // @ts-expect-error -- no such exit of the included workflow
    expect(faults(defineWorkflow({ ...common, edges: wrongInner }))).toEqual([
      "edges.review.done",
      "edges.review.finished",
    ]);

    // @ts-expect-error -- no such node to start at
    expect(faults(defineWorkflow({ ...common, edges, startAt: "fetch" }))).toEqual(["startAt"]);
  });

  it("refuses a loop without its bound", () => {
    // @ts-expect-error -- `max` is missing
    expect(loop("fetchLinks", { exhausted: "ask" }).max).toBeUndefined();
    // @ts-expect-error -- `exhausted` is missing
    expect(loop("fetchLinks", { max: 3 }).exhausted).toBeUndefined();
  });

  it("refuses nodes that take another input than the workflow has", () => {
    const other = compute({
      input: z.object({ size: z.number() }),
      run: ({ input }) => input.size,
    });
    const wide = includeWorkflow(inner, {
      input: ({ input }: PureContext<{ size: number }>) => ({ links: [String(input.size)] }),
    });
    const workflowWith = {
      // @ts-expect-error -- the workflow's input has no size
      node: defineWorkflow({ ...common, edges, nodes: { ...nodes, count: other } }),
      // @ts-expect-error -- an exit must give the workflow's output
      exit: defineWorkflow({ ...common, edges, exits: { done: () => "1", gaveUp: () => 0 } }),
      // @ts-expect-error -- the included workflow takes links
      input: includeWorkflow(inner, { input: () => ({ link: [] }) }),
      // @ts-expect-error -- the workflow's input has no size
      include: defineWorkflow({ ...common, edges, includes: { review: wide } }),
    };
    expect(Object.keys(workflowWith)).toHaveLength(4);
  });

  it("lets nodes of a loop read each other once one says its type", () => {
    const draft: WorkflowNode<string> = compute({
      run: ({ tryOutput }) => tryOutput(critique) ?? "",
    });
    const critique = compute({ run: ({ output }) => output(draft).toUpperCase() });
    expectTypeOf(critique).toEqualTypeOf<WorkflowNode<string>>();
  });
});
