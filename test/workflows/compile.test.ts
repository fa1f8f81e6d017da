import { describe, expect, it } from "vitest";
import { z } from "zod";
import { compile } from "../../src/workflows/compile.ts";
import type { NodeContext } from "../../src/workflows/context.ts";
import { isWorkflow, type Workflow } from "../../src/workflows/define.ts";
import {
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

const Links = z.object({ links: z.array(z.string()) });
const count = compute({ input: Links, run: ({ input }) => input.links.length });
const inner = defineWorkflow({
  name: "count-links",
  input: Links,
  output: z.number(),
  startAt: "count",
  nodes: { count },
  edges: { count: { next: end("done"), failure: end("failed") } },
  exits: { done: ({ output }) => output(count), failed: () => -1 },
});

const fork = compute({ run: () => null });
const tests = shell({
  shell: ({ node }) => `echo ${node}`,
  cwd: "packages/a",
  env: { CI: "1" },
  timeout: "5m",
  retry: { times: 2 },
  compensate: () => undefined,
});
const opinion = agent({ prompt: "?", output: z.string(), tools: ["read", "edit"], model: "large" });
const ask = checkpoint({ message: "Merge?", answer: z.object({ ok: z.boolean() }) });
const good = decision({ choices: ["yes", "no"], prompt: "Is it good?" });
const first = includeWorkflow(inner, { input: () => ({ links: [] }) });
const second = includeWorkflow(inner, { input: () => ({ links: ["a"] }) });
const outer = defineWorkflow({
  name: "outer",
  input: z.object({}),
  output: z.number(),
  startAt: "fork",
  deadline: "2h",
  nodes: { fork, tests, opinion, ask, good },
  includes: { first, second },
  edges: {
    fork: parallel(["tests", "opinion"], { join: "ask" }),
    tests: "ask",
    opinion: "ask",
    ask: "good",
    good: { yes: "first", no: loop("fork", { max: 3, exhausted: end("done") }) },
    first: { done: "second", failed: "second" },
    second: { done: end("done"), failed: end("done") },
  },
  exits: { done: ({ tryOutput }) => tryOutput(second) ?? 0 },
});

describe("a compiled workflow", () => {
  const { graph, nodes, deadlineMs } = compile(outer);

  it("holds what is included in place, under the include's name, as often as it is included", () => {
    const own = ["fork", "tests", "opinion", "ask", "good", "first", "second", "end:done"];
    const included = ["first", "second"].flatMap((name) => [
      `${name}/count`,
      `${name}/end:done`,
      `${name}/end:failed`,
    ]);
    expect(Object.keys(graph.nodes).toSorted()).toEqual([...own, ...included].toSorted());
    expect(graph.edges["first"]).toEqual({ next: { to: "first/count" } });
    expect(graph.edges["first/count"]).toEqual({
      next: { to: "first/end:done" },
      failure: { to: "first/end:failed" },
    });
    expect(graph.edges["first/end:done"]).toEqual({ next: { to: "second" } });
    expect(graph.edges["second/end:failed"]).toEqual({ next: { to: "end:done" } });
    expect(graph.edges["end:done"]).toBeUndefined();
    expect(deadlineMs).toBe(7_200_000);
  });

  it("says of each node what the step function and people need", () => {
    expect(graph.nodes["tests"]).toEqual({
      kind: "shell",
      safety: "manual",
      deadlineMs: 300_000,
      retry: { times: 2, delayMs: 1_000 },
      compensates: true,
    });
    expect(graph.nodes["opinion"]).toMatchObject({ safety: "manual", tools: ["read", "edit"] });
    expect(graph.nodes["good"]).toMatchObject({ safety: "idempotent", cases: ["yes", "no"] });
    expect(graph.nodes["first"]).toEqual({
      kind: "include",
      safety: "pure",
      title: "count-links",
      cases: ["done", "failed"],
    });
    expect(graph.nodes["first/end:done"]?.kind).toBe("exit");
    expect(graph.nodes["end:done"]?.kind).toBe("result");
    expect(graph.edges["good"]?.cases?.["no"]).toEqual({
      to: "fork",
      loop: { max: 3, exhausted: "end:done" },
    });
  });

  it("finds the output of a constant in the scope of the node that asks", () => {
    expect(nodes.get("second/end:done")?.pathOf(count)).toBe("second/count");
    expect(nodes.get("end:done")?.pathOf(second)).toBe("second");
    expect(nodes.get("second/end:done")?.keptAs).toBe("second");
    expect(nodes.get("second")?.keptAs).toBeUndefined();
    expect(() => nodes.get("end:done")?.pathOf(count)).toThrow(
      'output(…) was asked for a node that the workflow "outer" does not have',
    );
  });

  it("checks values where they are handed over: inputs of includes, choices, answers", () => {
    expect(nodes.get("first")?.gives).toBe(inner.input);
    expect(nodes.get("first/end:done")?.gives).toBe(inner.output);
    expect(nodes.get("end:done")?.gives).toBe(outer.output);
    expect(nodes.get("good")?.gives?.safeParse("maybe").success).toBe(false);
    expect(nodes.get("first/count")?.takes).toBeUndefined();
    const wider = defineWorkflow({
      name: "wider",
      input: Links.extend({ size: z.number() }),
      output: z.number(),
      startAt: "count",
      nodes: { count },
      edges: { count: end("done") },
      exits: { done: ({ output }) => output(count) },
    });
    expect(compile(wider).nodes.get("count")?.takes).toBe(Links);
  });

  it("turns options into what is to be done", () => {
    const ctx = { node: "tests" } as NodeContext;
    const command = nodes.get("tests")?.work;
    expect(command?.by === "command" && command.call(ctx)).toEqual({
      argv: ["/bin/sh", "-c", "echo tests"],
      cwd: "packages/a",
      env: { CI: "1" },
    });
    const decided = nodes.get("good")?.work;
    expect(decided?.by === "agent" && decided.ask(ctx)).toEqual({ prompt: "Is it good?" });
    expect(decided?.by === "agent" && decided.valueOf({ choice: "no", reason: "x" })).toBe("no");
  });

  it("is made once of each definition, and not of one with problems", () => {
    expect(compile(outer)).toBe(compile(outer));
    const broken = (defineWorkflow as (definition: object) => Workflow)({
      ...inner,
      name: "broken",
      startAt: "cuont",
    });
    expect(() => compile(broken)).toThrow(
      'the workflow "broken" can\'t be used:\n  startAt: there is no node "cuont"; did you mean "count"?',
    );
  });

  it("is told from other values, whichever copy of the module made it", () => {
    expect(isWorkflow(outer)).toBe(true);
    expect(isWorkflow({ [Symbol.for("pi-workflows.Workflow")]: true })).toBe(true);
    expect([isWorkflow({ name: "x" }), isWorkflow(null), isWorkflow("outer")]).toEqual([
      false,
      false,
      false,
    ]);
  });
});
