import { describe, expect, it } from "vitest";
import { z } from "zod";
import { compile } from "../../src/workflows/compile.ts";
import { action, compute, defineWorkflow, end, parallel } from "../../src/workflows/index.ts";
import type { GraphCommand, GraphEvent } from "../../src/workflows/state.ts";
import { about, failed, stepper } from "./stepper.ts";

const run = () => null;
const compensate = () => undefined;
const CANCEL: GraphEvent = { event: "cancel", by: "me", at: 0 };
const DEADLINE: GraphEvent = { event: "deadline", at: 0 };
const RECOVERED: GraphEvent = { event: "recovered", at: 0 };

/** `first`, then `second`, of which each may be undone, then `plain` beside `manual`. */
const { graph } = compile(
  defineWorkflow({
    name: "stopping",
    input: z.object({}),
    output: z.null(),
    startAt: "first",
    nodes: {
      first: action({ safety: "idempotent", run, compensate }),
      second: action({ safety: "idempotent", run, compensate, retry: { times: 1 } }),
      plain: action({ safety: "idempotent", run }),
      manual: action({ safety: "manual", run, compensate }),
      join: compute({ run }),
    },
    edges: {
      first: "second",
      second: parallel(["plain", "manual"], { join: "join" }),
      plain: "join",
      manual: "join",
      join: end("done"),
    },
    exits: { done: () => null },
  }),
);

/** A run of which `first` and `second` have succeeded, and `plain` (3) and `manual` (4) have begun. */
function under(): { step: (event: GraphEvent) => GraphCommand[] } {
  const stepping = stepper(graph);
  stepping.step({ event: "start" });
  stepping.step({ ...about(1, "first"), event: "succeeded" });
  stepping.step({ ...about(2, "second"), event: "succeeded" });
  stepping.step({ ...about(3, "plain"), event: "begun" });
  stepping.step({ ...about(4, "manual"), event: "begun" });
  return stepping;
}

const undo = (visit: number, node: string, attempt = 1): GraphCommand => ({
  do: "execute",
  delayMs: 0,
  visit,
  node,
  attempt,
  compensation: true,
});
const undone = (visit: number, node: string, attempt = 1): GraphEvent => ({
  ...about(visit, node, attempt),
  event: "succeeded",
  compensation: true,
});

describe("a run that is being stopped", () => {
  it.each([
    [CANCEL, { state: "failed", reason: "Cancelled", message: "cancelled by me" }],
    [
      DEADLINE,
      {
        state: "failed",
        reason: "DeadlineExceeded",
        message: "the run did not end within its deadline",
      },
    ],
  ] as const)("calls off what runs, and then undoes what succeeded: $event", (event, ending) => {
    const { step: take } = under();
    expect(take(event)).toEqual([
      { do: "abort", begun: true, visit: 3, node: "plain", attempt: 1 },
      { do: "abort", begun: true, visit: 4, node: "manual", attempt: 1 },
    ]);
    expect(take({ ...about(3, "plain"), event: "aborted" })).toEqual([]);
    expect(take({ event: "pause" })).toEqual([]);
    expect(take({ ...about(4, "manual"), event: "aborted" })).toEqual([undo(2, "second")]);
    expect(take(undone(2, "second"))).toEqual([undo(1, "first")]);
    expect(take(undone(1, "first"))).toEqual([{ do: "end", ending }]);
  });

  it("undoes what came to its end although it was called off", () => {
    const { step: take } = under();
    take(CANCEL);
    take({ ...about(3, "plain"), event: "succeeded" });
    expect(take({ ...about(4, "manual"), event: "succeeded" })).toEqual([undo(4, "manual")]);
  });

  it("takes what comes late from an attempt for nothing while that is undone", () => {
    const { step: take } = under();
    take(CANCEL);
    take({ ...about(3, "plain"), event: "aborted" });
    take({ ...about(4, "manual"), event: "aborted" });
    expect(take({ ...about(2, "second"), event: "succeeded" })).toEqual([]);
    expect(take({ ...about(2, "second"), event: "aborted" })).toEqual([]);
  });

  it("tries to undo as often as to do, then tells what was not undone, and undoes the rest", () => {
    const { step: take } = under();
    take(CANCEL);
    take({ ...about(3, "plain"), event: "aborted" });
    take({ ...about(4, "manual"), event: "aborted" });
    const fails = (attempt: number): GraphEvent => ({
      ...(failed(2, "second", attempt) as Extract<GraphEvent, { event: "failed" }>),
      compensation: true,
    });
    expect(take(fails(1))).toEqual([{ ...undo(2, "second", 2), delayMs: 1_000 }]);
    expect(take(fails(2))).toEqual([undo(1, "first")]);
    expect(take(undone(1, "first"))).toMatchObject([
      {
        do: "end",
        ending: {
          state: "failed",
          reason: "Cancelled",
          message: "cancelled by me; second could not be undone: 502",
        },
      },
    ]);
  });

  it("waits for a person's word only about what might have to be undone", () => {
    const { step: take } = under();
    take(CANCEL);
    expect(take({ ...about(3, "plain"), event: "ambiguous" })).toEqual([]);
    expect(take({ ...about(4, "manual"), event: "ambiguous" })).toMatchObject([
      { do: "end", ending: { state: "interrupted", reason: "Ambiguous", node: "manual" } },
    ]);
    expect(take({ ...about(4, "manual"), event: "released", by: "me" })).toEqual([
      undo(2, "second"),
    ]);
  });

  it("waits for nobody's word past its deadline, or once a node has failed", () => {
    const late = under();
    late.step(DEADLINE);
    late.step({ ...about(3, "plain"), event: "aborted" });
    expect(late.step({ ...about(4, "manual"), event: "ambiguous" })).toEqual([undo(2, "second")]);

    const broken = under();
    broken.step({ ...about(4, "manual"), event: "ambiguous" });
    expect(broken.step(failed(3, "plain", 1))).toMatchObject([
      { do: "end", ending: { state: "failed", reason: "NodeFailed", node: "plain" } },
    ]);
  });

  it("begins nothing again after a crash that need not be known, and asks about what must be", () => {
    const { step: take } = under();
    take(CANCEL);
    expect(take(RECOVERED)).toEqual([{ do: "park", visit: 4, node: "manual", attempt: 1 }]);
    const late = under();
    late.step(DEADLINE);
    expect(late.step(RECOVERED)).toEqual([undo(2, "second")]);
  });

  it("calls off the second try too of what nobody saw end", () => {
    const { step: take } = stepper(graph);
    take({ event: "start" });
    take({ ...about(1, "first"), event: "begun" });
    take(RECOVERED);
    take({ ...about(1, "first", 2), event: "begun" });
    expect(take(CANCEL)).toEqual([
      { do: "abort", begun: true, visit: 1, node: "first", attempt: 2 },
    ]);
    expect(take({ ...about(1, "first", 2), event: "aborted" })).toMatchObject([{ do: "end" }]);
  });
});
