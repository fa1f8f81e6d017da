import { describe, expect, it } from "vitest";
import { z } from "zod";
import { LIMITS } from "../../src/model/limits.ts";
import { checkWorkflow } from "../../src/workflows/check.ts";
import { compile } from "../../src/workflows/compile.ts";
import type { Workflow } from "../../src/workflows/define.ts";
import {
  compute,
  decision,
  defineWorkflow,
  end,
  loop,
  parallel,
} from "../../src/workflows/index.ts";

const define = defineWorkflow as (definition: object) => Workflow;
const step = () => compute({ run: () => null });

function workflow(parts: object): Workflow {
  return define({
    name: "limits",
    input: z.object({}),
    output: z.null(),
    startAt: "a",
    nodes: { a: step() },
    edges: { a: end("done") },
    exits: { done: () => null },
    ...parts,
  });
}

const paths = (made: Workflow) => checkWorkflow(made).map(({ path }) => path);
const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

describe("limits of a workflow", () => {
  it("runDeadlineMs: how long a run may take where its workflow does not say", () => {
    expect(compile(workflow({})).deadlineMs).toBe(LIMITS.runDeadlineMs);
    expect(compile(workflow({ deadline: "2h" })).deadlineMs).toBe(7_200_000);
  });

  it("maxRunDeadlineMs: the longest deadline", () => {
    const days = LIMITS.maxRunDeadlineMs / 86_400_000;
    expect(paths(workflow({ deadline: `${days}d` }))).toEqual([]);
    expect(paths(workflow({ deadline: `${days + 1}d` }))).toEqual(["deadline"]);
  });

  it("graphNodes: nodes with all that is included, exits counted", () => {
    const chain = (count: number) => {
      const all = names(count);
      return workflow({
        startAt: "n0",
        nodes: Object.fromEntries(all.map((name) => [name, step()])),
        edges: Object.fromEntries(all.map((name, index) => [name, all[index + 1] ?? end("done")])),
      });
    };
    expect(paths(chain(LIMITS.graphNodes - 1))).toEqual([]);
    expect(paths(chain(LIMITS.graphNodes))).toEqual(["nodes"]);
  });

  it("loopTimes: how often a loop may go round", () => {
    const looping = (max: number) =>
      workflow({ edges: { a: loop("a", { max, exhausted: end("done") }) } });
    expect(paths(looping(LIMITS.loopTimes))).toEqual([]);
    expect(paths(looping(LIMITS.loopTimes + 1))).toEqual(["edges.a.max"]);
  });

  it("nodeRetries: how often a node may be tried again", () => {
    const retried = (times: number) =>
      workflow({ nodes: { a: compute({ run: () => null, retry: { times } }) } });
    expect(paths(retried(LIMITS.nodeRetries))).toEqual([]);
    expect(paths(retried(LIMITS.nodeRetries + 1))).toEqual(["nodes.a.retry"]);
  });

  it("branches: of one fork", () => {
    const forked = (count: number) => {
      const all = names(count);
      return workflow({
        nodes: Object.fromEntries(["a", "z", ...all].map((name) => [name, step()])),
        edges: {
          a: parallel(all, { join: "z" }),
          ...Object.fromEntries(all.map((name) => [name, "z"])),
          z: end("done"),
        },
      });
    };
    expect(paths(forked(LIMITS.branches))).toEqual([]);
    expect(paths(forked(LIMITS.branches + 1))[0]).toBe("edges.a");
  });

  it("choices: of one decision", () => {
    const deciding = (count: number) => {
      const choices = names(count);
      return workflow({
        nodes: { a: decision({ choices, choose: () => "n0" }) },
        edges: { a: Object.fromEntries(choices.map((name) => [name, end("done")])) },
      });
    };
    expect(paths(deciding(LIMITS.choices))).toEqual([]);
    expect(paths(deciding(LIMITS.choices + 1))[0]).toBe("nodes.a.choices");
  });
});
