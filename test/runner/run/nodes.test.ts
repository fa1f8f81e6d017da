import { describe, expect, it } from "vitest";
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
  shell,
  type Include,
  type PureContext,
  type WorkflowNode,
} from "../../../src/workflows/index.ts";
import { MemoryRunHost } from "./support/host.ts";
import { gate, run, start } from "./support/run.ts";

const anything = z.object({}).loose();

/** A workflow of one node whose value it ends with. */
function single(node: ReturnType<typeof compute>, output: z.ZodType = z.unknown()) {
  return defineWorkflow({
    name: "single",
    input: anything,
    output,
    startAt: "only",
    nodes: { only: node },
    edges: { only: end("done") },
    exits: { done: ({ tryOutput }) => tryOutput(node) ?? null },
  });
}

describe("a run", () => {
  it("of every kind of node ends with what its exit makes of their values", async () => {
    const twice = compute<number, { n: number }>({ run: ({ input }) => input.n * 2 });
    const double = defineWorkflow({
      name: "double",
      input: z.object({ n: z.number() }),
      output: z.number(),
      startAt: "twice",
      nodes: { twice },
      edges: { twice: end("done") },
      exits: { done: ({ output }) => output(twice) },
    });
    const add: WorkflowNode<number, { n: number }> = compute({
      run: ({ input, tryOutput }: PureContext<{ n: number }>) => (tryOutput(add) ?? input.n) + 1,
    });
    const again = decision({
      choices: ["yes", "no"],
      choose: ({ output }) => (output(add) < 4 ? "yes" : "no"),
    });
    const left = shell({ command: ({ output }) => ["echo", `sum ${output(add)}`] });
    const right = agent({
      prompt: ({ output }) => `is ${output(add)} even?`,
      output: z.object({ even: z.boolean() }),
    });
    const both = action({
      safety: "manual",
      run: ({ output }) => `${output(left).stdout.trim()}, ${output(right).even}`,
    });
    const ask = checkpoint({ message: ({ output }) => `${output(both)}?`, answer: z.string() });
    const inner = includeWorkflow(double, {
      input: ({ output }) => ({ n: output(add) }),
    });
    const workflow = defineWorkflow({
      name: "all",
      input: z.object({ n: z.number() }),
      output: z.object({ both: z.string(), answer: z.string(), doubled: z.number() }),
      startAt: "add",
      nodes: { add, again, left, right, both, ask, fork: compute({ run: () => null }) },
      includes: { inner },
      edges: {
        add: "again",
        again: { yes: loop("add", { max: 10, exhausted: end("done") }), no: "fork" },
        fork: parallel(["left", "right"], { join: "both" }),
        left: "both",
        right: "both",
        both: "inner",
        inner: "ask",
        ask: end("done"),
      },
      exits: {
        done: ({ output }) => ({
          both: output(both),
          answer: output(ask),
          doubled: output(inner),
        }),
      },
    });
    const host = new MemoryRunHost();
    host.agent = () => ({ state: "answered", value: { even: true } });
    host.orders.answers.push({ node: "ask", ordinal: 1, value: "ok", by: "ann" });

    const { outcome } = await run(workflow, { host, input: { n: 1 } });

    expect(outcome).toEqual({
      kind: "ran",
      ending: {
        state: "succeeded",
        exit: "done",
        output: { both: "sum 4, true", answer: "ok", doubled: 8 },
      },
    });
    expect(host.questions).toMatchObject([
      { prompt: "is 4 even?", node: "right", tools: ["read", "grep", "find", "ls"] },
    ]);
    expect(host.said("stdout")).toBe("sum 4\n");
    expect(host.entries.at(-2)).toMatchObject({ event: "succeeded", node: "ask", by: "ann" });
  });

  it("of pure nodes writes one line for each, in few appends", async () => {
    const tick: WorkflowNode<number, unknown> = compute({
      run: ({ tryOutput }) => (tryOutput(tick) ?? 0) + 1,
    });
    const more = decision({
      choices: ["yes", "no"],
      choose: ({ output }) => (output(tick) < 200 ? "yes" : "no"),
    });
    const workflow = defineWorkflow({
      name: "ticks",
      input: anything,
      output: z.number(),
      startAt: "tick",
      nodes: { tick, more },
      edges: {
        tick: "more",
        more: { yes: loop("tick", { max: 1_000, exhausted: end("done") }), no: end("done") },
      },
      exits: { done: ({ output }) => output(tick) },
    });

    const { host, outcome } = await run(workflow);

    expect(outcome).toMatchObject({ ending: { output: 200 } });
    expect(host.entries.length).toBe(401);
    expect(host.appends).toBeLessThan(60);
  });

  it("can't change what a node handed over", async () => {
    const list = compute({ run: () => ({ items: [3, 1, 2] }) });
    const sort = compute({ run: ({ output }) => output(list).items.sort((a, b) => a - b) });
    const workflow = defineWorkflow({
      name: "sorts",
      input: anything,
      output: z.unknown(),
      startAt: "list",
      nodes: { list, sort },
      edges: { list: "sort", sort: end("done") },
      exits: { done: ({ output }) => output(sort) },
    });

    const { outcome } = await run(workflow);

    expect(outcome).toMatchObject({
      ending: {
        state: "failed",
        reason: "NodeFailed",
        message: expect.stringContaining("read only"),
      },
    });
  });
});

describe("an included workflow that is entered again", () => {
  it("has its new input, and nothing of what it did before", async () => {
    const once: WorkflowNode<number, { n: number }> = compute({
      run: ({ input, tryOutput }) => (tryOutput(once) ?? 0) + input.n,
    });
    const included = defineWorkflow({
      name: "included",
      input: z.object({ n: z.number() }),
      output: z.number(),
      startAt: "once",
      nodes: { once },
      edges: { once: end("done") },
      exits: { done: ({ output }) => output(once) },
    });
    const inner: Include<number, "done", unknown> = includeWorkflow(included, {
      input: ({ tryOutput }) => ({ n: (tryOutput(inner) ?? 0) + 10 }),
    });
    const after = compute({ run: ({ output }) => output(inner) });
    const workflow = defineWorkflow({
      name: "again",
      input: anything,
      output: z.number(),
      startAt: "inner",
      nodes: { after },
      includes: { inner },
      edges: { inner: "after", after: loop("inner", { max: 1, exhausted: end("done") }) },
      exits: { done: ({ output }) => output(after) },
    });
    expect((await run(workflow)).outcome).toMatchObject({ ending: { output: 20 } });
  });
});

it("what a branch comes to after another has failed the run is not journaled", async () => {
  const failed = gate();
  const late = compute({ run: async () => (await failed.opened, "too late") });
  const fails = compute({
    run: () => {
      throw new Error("no");
    },
  });
  const [fork, join] = [compute({ run: () => null }), compute({ run: () => null })];
  const workflow = defineWorkflow({
    name: "branches",
    input: anything,
    output: z.unknown(),
    startAt: "fork",
    nodes: { fork, late, fails, join },
    edges: {
      fork: parallel(["late", "fails"], { join: "join" }),
      late: "join",
      fails: "join",
      join: end("done"),
    },
    exits: { done: () => null },
  });
  const { host, outcome } = start(workflow);
  host.onLine = ({ event }) => event === "failed" && failed.open();
  expect(await outcome).toMatchObject({ ending: { state: "failed", node: "fails" } });
  expect(host.story).toEqual(["succeeded fork", "failed fails"]);
});

describe("what is handed over", () => {
  it.each<[string, Parameters<typeof run>[0], RegExp]>([
    [
      "an output that does not fit its schema",
      single(
        compute({
          output: z.object({ list: z.array(z.number()) }),
          run: () => ({ list: ["a"] }) as never,
        }),
      ),
      /only: node only handed over an output that does not fit: list\[0\]: must be a number, not "a"/,
    ],
    [
      "an output that JSON can't hold",
      single(compute({ run: () => ({ at: new Date() }) })),
      /only: node only handed over an output that JSON can't hold: at is Date/,
    ],
    [
      "a choice that is none",
      defineWorkflow({
        name: "chooses",
        input: anything,
        output: z.unknown(),
        startAt: "pick",
        nodes: { pick: decision({ choices: ["a", "b"], choose: () => "c" as never }) },
        edges: { pick: { a: end("done"), b: end("done") } },
        exits: { done: () => null },
      }),
      /pick: node pick handed over a choice that does not fit/,
    ],
    [
      "a result that does not fit the workflow's output",
      single(compute({ run: () => 7 }), z.string()),
      /^end:done: the workflow ended with an output that does not fit: must be a string, not 7$/,
    ],
  ])("%s fails the run, naming the node and the place", async (_what, workflow, message) => {
    const { outcome } = await run(workflow);
    expect(outcome).toMatchObject({
      kind: "ran",
      ending: { state: "failed", message: expect.stringMatching(message) },
    });
  });

  it("an input that does not fit fails the run before anything of it begins", async () => {
    const workflow = defineWorkflow({
      name: "typed",
      input: z.object({ url: z.url() }),
      output: z.unknown(),
      startAt: "only",
      nodes: { only: compute({ run: () => null }) },
      edges: { only: end("done") },
      exits: { done: () => null },
    });

    const { host, outcome } = await run(workflow, { input: { url: "nowhere" } });

    expect(outcome).toEqual({
      kind: "ran",
      ending: {
        state: "failed",
        reason: "InvalidInput",
        message: expect.stringMatching(
          /was given an input that does not fit: url: must be a valid url$/,
        ),
      },
    });
    expect(host.entries).toEqual([]);
  });
});
