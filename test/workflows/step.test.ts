import { describe, expect, it } from "vitest";
import { z } from "zod";
import { LIMITS } from "../../src/model/limits.ts";
import { compile } from "../../src/workflows/compile.ts";
import {
  action,
  checkpoint,
  compute,
  decision,
  defineWorkflow,
  end,
  loop,
  parallel,
} from "../../src/workflows/index.ts";
import { about, failed, stepper } from "./stepper.ts";

const fields = { name: "steps", input: z.object({}), output: z.null() };
const exits = { done: () => null };

const fragile = compile(
  defineWorkflow({
    ...fields,
    startAt: "send",
    nodes: {
      send: action({ safety: "idempotent", run: () => null, retry: { times: 20, delay: "30s" } }),
    },
    edges: { send: end("done") },
    exits,
  }),
).graph;

const oneAction = (options: { safety: "idempotent" | "manual" }) =>
  compile(
    defineWorkflow({
      ...fields,
      startAt: "work",
      nodes: { work: action({ ...options, run: () => null }) },
      edges: { work: end("done") },
      exits,
    }),
  ).graph;

const undoable = compile(
  defineWorkflow({
    ...fields,
    startAt: "create",
    nodes: {
      create: action({ safety: "idempotent", run: () => null, compensate: () => undefined }),
    },
    edges: { create: end("done") },
    exits,
  }),
).graph;

describe("one step", () => {
  it("retries after a delay that doubles up to a bound, and then fails the run with the reason", () => {
    const { step: take } = stepper(fragile);
    expect(take({ event: "start" })).toEqual([
      { do: "execute", delayMs: 0, visit: 1, node: "send", attempt: 1 },
    ]);
    const delays: unknown[] = [];
    for (let attempt = 1; attempt <= 20; attempt += 1) {
      const [command] = take(failed(1, "send", attempt));
      expect(command).toMatchObject({ do: "execute", attempt: attempt + 1 });
      delays.push(command?.do === "execute" && command.delayMs);
    }
    expect(delays.slice(0, 6)).toEqual([30_000, 60_000, 120_000, 240_000, 480_000, 600_000]);
    expect(delays.at(-1)).toBe(LIMITS.backoffCapMs);
    expect(take(failed(1, "send", 21))).toEqual([
      {
        do: "end",
        ending: { state: "failed", reason: "NodeFailed", node: "send", message: "send: 502" },
      },
    ]);
  });

  it("passes over what is said of attempts and visits that are not active", () => {
    const { step: take, state } = stepper(fragile);
    take({ event: "start" });
    take(failed(1, "send", 1));
    const before = state();
    expect(take({ ...about(1, "send", 1), event: "succeeded" })).toEqual([]);
    expect(take({ ...about(2, "send", 2), event: "succeeded" })).toEqual([]);
    expect(take({ ...about(1, "other", 2), event: "succeeded" })).toEqual([]);
    expect(take({ event: "start" })).toEqual([]);
    expect(state()).toBe(before);
  });

  it("hands the result over as it is, and ends again after a crash before that was settled", () => {
    const { step: take } = stepper(fragile);
    take({ event: "start" });
    expect(take({ ...about(1, "send"), event: "succeeded" })).toEqual([
      { do: "execute", delayMs: 0, visit: 2, node: "end:done", attempt: 1 },
    ]);
    const ending = { state: "succeeded", exit: "done", output: { a: 1 } };
    const result = { ...about(2, "end:done"), event: "succeeded" as const, output: { a: 1 } };
    expect(take(result)).toEqual([{ do: "end", ending }]);
    expect(take({ event: "cancel", by: "me", at: 0 })).toEqual([]);
    expect(take({ event: "recovered", at: 0 })).toEqual([{ do: "end", ending }]);
  });

  it("waits for an answer only when nothing else goes on, and begins nothing while it is paused", () => {
    const { graph } = compile(
      defineWorkflow({
        ...fields,
        startAt: "fork",
        nodes: {
          fork: compute({ run: () => null }),
          ask: checkpoint({ message: "?", answer: z.boolean() }),
          work: action({ safety: "manual", run: () => null }),
          join: compute({ run: () => null }),
        },
        edges: {
          fork: parallel(["ask", "work"], { join: "join" }),
          ask: "join",
          work: "join",
          join: end("done"),
        },
        exits,
      }),
    );
    const { step: take } = stepper(graph);
    take({ event: "start" });
    expect(take({ ...about(1, "fork"), event: "succeeded" })).toMatchObject([
      { do: "execute", node: "ask", visit: 2 },
      { do: "execute", node: "work", visit: 3 },
    ]);
    expect(take({ ...about(2, "ask"), event: "begun" })).toEqual([]);
    expect(take({ ...about(3, "work"), event: "begun" })).toEqual([]);
    expect(take({ ...about(3, "work"), event: "succeeded" })).toEqual([
      {
        do: "end",
        ending: {
          state: "waiting",
          reason: "Checkpoint",
          node: "ask",
          message: "ask waits for an answer",
        },
      },
    ]);
    take({ event: "pause" });
    expect(take({ ...about(2, "ask"), event: "succeeded", by: "me" })).toEqual([
      { do: "end", ending: { state: "waiting", reason: "Paused", message: "the run is paused" } },
    ]);
    expect(take({ event: "recovered", at: 0 })).toEqual([
      { do: "execute", delayMs: 0, visit: 4, node: "join", attempt: 1 },
    ]);
  });

  it("asks for the end of a manual attempt that nobody saw", () => {
    const { graph } = compile(
      defineWorkflow({
        ...fields,
        startAt: "send",
        nodes: { send: action({ safety: "manual", run: () => null }) },
        edges: { send: end("done") },
        exits,
      }),
    );
    const { step: take } = stepper(graph);
    take({ event: "start" });
    take({ ...about(1, "send"), event: "begun" });
    expect(take({ event: "recovered", at: 0 })).toEqual([
      { do: "park", visit: 1, node: "send", attempt: 1 },
    ]);
    expect(take({ ...about(1, "send"), event: "ambiguous" })).toMatchObject([
      { do: "end", ending: { state: "interrupted", reason: "Ambiguous", node: "send" } },
    ]);
    expect(take({ ...about(1, "send"), event: "released", by: "me" })).toEqual([
      { do: "execute", delayMs: 0, visit: 1, node: "send", attempt: 2 },
    ]);
  });

  it("sees to its end, when the run is cancelled, an attempt whose first try nobody saw end", () => {
    const { step: take } = stepper(undoable);
    take({ event: "start" });
    take({ ...about(1, "create"), event: "begun" });
    const retried = { do: "execute", delayMs: 0, visit: 1, node: "create", attempt: 2 };
    expect(take({ event: "recovered", at: 0 })).toEqual([retried]);
    expect(take({ event: "cancel", by: "me", at: 0 })).toEqual([]);
    expect(take({ event: "recovered", at: 0 })).toEqual([retried]);
    expect(take({ ...about(1, "create", 2), event: "succeeded" })).toEqual([
      { do: "execute", delayMs: 0, visit: 1, node: "create", attempt: 1, compensation: true },
    ]);
    expect(
      take({ ...about(1, "create", 1), event: "succeeded", compensation: true }),
    ).toMatchObject([{ do: "end", ending: { state: "failed", reason: "Cancelled" } }]);
  });

  it("passes over a beginning that is told twice, and a pause of what is paused", () => {
    const { step: take, state } = stepper(fragile);
    take({ event: "start" });
    take({ ...about(1, "send"), event: "begun" });
    const begun = state();
    expect(take({ ...about(1, "send"), event: "begun" })).toEqual([]);
    expect(state()).toBe(begun);
    take({ event: "pause" });
    const paused = state();
    expect(take({ event: "pause" })).toEqual([]);
    expect(state()).toBe(paused);
  });

  it("is paused only once what has begun has ended", () => {
    const { step: take } = stepper(fragile);
    take({ event: "start" });
    take({ ...about(1, "send"), event: "begun" });
    expect(take({ event: "pause" })).toEqual([]);
    expect(take({ ...about(1, "send"), event: "succeeded" })).toMatchObject([
      { do: "end", ending: { state: "waiting", reason: "Paused" } },
    ]);
  });

  it("makes an attempt again that was called off, and asks a person about a manual one", () => {
    const { step: take } = stepper(fragile);
    take({ event: "start" });
    take({ ...about(1, "send"), event: "begun" });
    expect(take({ ...about(1, "send"), event: "aborted" })).toEqual([
      { do: "execute", delayMs: 0, visit: 1, node: "send", attempt: 2 },
    ]);
    const manual = stepper(oneAction({ safety: "manual" }));
    manual.step({ event: "start" });
    manual.step({ ...about(1, "work"), event: "begun" });
    expect(manual.step({ ...about(1, "work"), event: "aborted" })).toEqual([
      { do: "park", visit: 1, node: "work", attempt: 1 },
    ]);
  });

  it("keeps of a result whose value does not fit that it is so, and of nothing else", () => {
    const reasonOf = (visit: number, node: string, reason: string) => {
      const { step: take } = stepper(fragile);
      take({ event: "start" });
      if (visit === 2) take({ ...about(1, "send"), event: "succeeded" });
      const [command] = take({
        ...about(visit, node),
        event: "failed",
        error: { message: "no", reason },
        retryable: false,
      });
      return command?.do === "end" && command.ending.state === "failed" && command.ending.reason;
    };
    expect(reasonOf(2, "end:done", "InvalidOutput")).toBe("InvalidOutput");
    expect(reasonOf(2, "end:done", "Error")).toBe("NodeFailed");
    expect(reasonOf(1, "send", "InvalidOutput")).toBe("NodeFailed");
  });

  it("counts the rounds of a loop anew once its node has gone on, each time that it is come to", () => {
    const { graph } = compile(
      defineWorkflow({
        ...fields,
        startAt: "work",
        nodes: {
          work: compute({ run: () => null }),
          inner: decision({ choices: ["again", "on"], choose: () => "again" }),
          outer: decision({ choices: ["again", "on"], choose: () => "again" }),
        },
        edges: {
          work: "inner",
          inner: { again: loop("work", { max: 2, exhausted: "outer" }), on: "outer" },
          outer: { again: loop("work", { max: 1, exhausted: end("done") }), on: end("done") },
        },
        exits,
      }),
    );
    const { step: take, state } = stepper(graph);
    const entered: string[] = [];
    take({ event: "start" });
    for (let [visit] = state().active; visit && entered.length < 20; [visit] = state().active) {
      entered.push(visit.node);
      take({ ...about(visit.visit, visit.node), event: "succeeded", choice: "again" });
    }
    const rounds = ["work", "inner", "work", "inner", "work", "inner", "outer"];
    expect(entered).toEqual([...rounds, ...rounds, "end:done"]);
    expect(state().loops).toEqual({});
  });

  it("makes such an attempt after all where a pause had called it off", () => {
    const { step: take } = stepper(undoable);
    take({ event: "start" });
    take({ ...about(1, "create"), event: "begun" });
    take({ event: "recovered", at: 0 });
    expect(take({ event: "pause" })).toMatchObject([{ do: "abort", begun: false }, { do: "end" }]);
    expect(take({ event: "cancel", by: "me", at: 0 })).toEqual([
      { do: "execute", delayMs: 0, visit: 1, node: "create", attempt: 2 },
    ]);
  });
});
