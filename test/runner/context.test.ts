import { describe, expect, it } from "vitest";
import { z } from "zod";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { LIMITS } from "../../src/model/limits.ts";
import type { ReconcileContext } from "../../src/resource-managers/context.ts";
import { conditionTrue, TerminalError } from "../../src/resource-managers/results.ts";
import { memoryHost } from "./support/host.ts";
import { runManager, type Reconcile } from "./support/manager.ts";

const resultOf = async (reconcile: Reconcile) => (await runManager(reconcile)).result;

describe("the results of a pass", () => {
  it("are the three that the context makes", async () => {
    const patch = {
      resourceManagerStatus: { phase: "x" },
      conditions: [conditionTrue("Ready", "Merged", "It is merged.")],
    };

    expect(await resultOf((ctx) => ctx.settled(patch))).toEqual({ kind: "settled", ...patch });
    expect(await resultOf((ctx) => ctx.requeue(patch))).toEqual({ kind: "requeue", ...patch });
    expect(await resultOf((ctx) => ctx.requeueAfter(30_000, patch))).toEqual({
      kind: "requeueAfter",
      delayMs: 30_000,
      ...patch,
    });
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, LIMITS.maxRequeueMs + 1])(
    "Q-14: requeueAfter refuses %s and names it",
    async (delayMs) => {
      expect(await resultOf((ctx) => ctx.requeueAfter(delayMs))).toMatchObject({
        kind: "failed",
        message: expect.stringMatching(new RegExp(`more than 0 and at most .*, not ${delayMs}$`)),
      });
    },
  );

  it("Q-14: requeueAfter accepts the least and the longest delay, in whole milliseconds", async () => {
    expect(await resultOf((ctx) => ctx.requeueAfter(0.1))).toMatchObject({ delayMs: 1 });
    expect(await resultOf((ctx) => ctx.requeueAfter(LIMITS.maxRequeueMs))).toMatchObject({
      delayMs: LIMITS.maxRequeueMs,
    });
  });

  it("can't be changed by what the author does afterwards", async () => {
    const status = { phase: "before" };
    const result = await resultOf((ctx) => ctx.settled({ resourceManagerStatus: status }));
    status.phase = "after";

    expect(result).toMatchObject({ resourceManagerStatus: { phase: "before" } });
  });

  it.each<[string, unknown, RegExp]>([
    ["nothing", undefined, /reconcile returned nothing; return one of/],
    ["null", null, /returned null/],
    ["text", "settled", /returned a string/],
    ["a foreign object", { ok: true }, /no result/],
    ["a result with a bad delay", { kind: "requeueAfter", delayMs: "5" }, /not 5/],
    ["conditions that are no array", { kind: "settled", conditions: {} }, /array of at most 64/],
    ["a condition that is no object", { kind: "settled", conditions: [1] }, /not a number/],
    [
      "a condition without a type",
      { kind: "settled", conditions: [{ status: true, reason: "X" }] },
      /type must be/,
    ],
    [
      "a condition with a text status",
      { kind: "settled", conditions: [{ type: "A", status: "True", reason: "X" }] },
      /condition A: status must be/,
    ],
    [
      "a condition without a reason",
      { kind: "settled", conditions: [{ type: "A", status: true }] },
      /condition A: reason must be/,
    ],
    [
      "one condition twice",
      { kind: "settled", conditions: [conditionTrue("A", "X"), conditionTrue("A", "Y")] },
      /one type twice/,
    ],
    [
      "a status with a date",
      { kind: "settled", resourceManagerStatus: { at: new Date(0) } },
      /at is Date/,
    ],
    ["a status with a cycle", { kind: "settled", resourceManagerStatus: cycle() }, /circular/],
    [
      "a status over the limit",
      { kind: "settled", resourceManagerStatus: "x".repeat(LIMITS.status - 1) },
      /1048577 bytes of JSON, at most 1048576/,
    ],
    [
      "too many conditions",
      {
        kind: "settled",
        conditions: Array.from({ length: LIMITS.conditions + 1 }, (_, n) =>
          conditionTrue(`C${n}`, "X"),
        ),
      },
      /at most 64/,
    ],
  ])("returning %s fails the pass and says so", async (_what, returned, message) => {
    expect(await resultOf(() => returned as never)).toMatchObject({
      kind: "failed",
      terminal: false,
      message: expect.stringMatching(message),
    });
  });

  it("may be as large as the limit", async () => {
    const status = "x".repeat(LIMITS.status - 2);

    expect(await resultOf((ctx) => ctx.settled({ resourceManagerStatus: status }))).toMatchObject({
      kind: "settled",
    });
  });

  it("leave out what JSON leaves out", async () => {
    expect(
      await resultOf((ctx) => ctx.settled({ resourceManagerStatus: { a: undefined, b: -0 } })),
    ).toEqual({ kind: "settled", resourceManagerStatus: { b: 0 } });
  });

  it("mask credentials in messages of conditions", async () => {
    const message = `push with ghp_${"a1B2".repeat(9)} failed`;

    expect(
      await resultOf((ctx) => ctx.settled({ conditions: [conditionTrue("A", "X", message)] })),
    ).toMatchObject({ conditions: [{ message: "push with [redacted] failed" }] });
  });
});

function cycle(): unknown {
  const value: Record<string, unknown> = {};
  value["self"] = value;
  return value;
}

describe("a status schema", () => {
  const bad = (ctx: ReconcileContext<unknown>) =>
    ctx.settled({ resourceManagerStatus: { phase: 7 } });
  const good = (ctx: ReconcileContext<unknown>) =>
    ctx.settled({ resourceManagerStatus: { phase: "x" } });
  const json = {
    type: "object",
    properties: { phase: { type: "string" } },
    required: ["phase"],
  };

  it.each([
    ["zod", z.object({ phase: z.string() }), /status schema of probe: phase Invalid input/],
    ["JSON Schema", json, /status schema of probe: \/phase must be string/],
  ] as const)(
    "of %s refuses what does not fit, and names the place",
    async (_kind, status, message) => {
      const parts = { status: status as never };

      expect((await runManager(good, { parts })).result.kind).toBe("settled");
      expect((await runManager(bad, { parts })).result).toMatchObject({
        kind: "failed",
        message: expect.stringMatching(message),
      });
    },
  );
});

describe("an error thrown by reconcile", () => {
  it.each<[string, unknown, object]>([
    ["an error", new Error("boom"), { message: "boom", terminal: false }],
    [
      "a terminal error",
      new TerminalError("no such branch"),
      { message: "no such branch", terminal: true },
    ],
    ["text", "boom", { message: "boom", terminal: false }],
    ["an error without a message", new RangeError(), { message: "RangeError", terminal: false }],
    [
      "an object with a message",
      { message: "from afar" },
      { message: "from afar", terminal: false },
    ],
  ])("%s is a failed pass", async (_what, thrown, expected) => {
    const result = await resultOf(() => {
      throw thrown;
    });

    expect(result).toMatchObject({ kind: "failed", ...expected });
  });

  it("is masked and cut", async () => {
    const token = `ghp_${"a1B2".repeat(9)}`;
    const result = await resultOf(() => {
      throw new Error(`${token} ${"x".repeat(LIMITS.message)}`);
    });

    expect(JSON.stringify(result)).not.toContain(token);
    if (result.kind !== "failed") throw new Error(result.kind);
    expect(Buffer.byteLength(result.message)).toBeLessThanOrEqual(LIMITS.message);
    expect(Buffer.byteLength(result.stack ?? "")).toBeLessThanOrEqual(LIMITS.message);
  });
});

describe("the services of a pass", () => {
  it("say who and where it is", async () => {
    let seen: Partial<ReconcileContext<unknown>> = {};
    const { result } = await runManager(
      (ctx) => {
        const { reconcileId, event, project } = ctx;
        seen = { reconcileId, event, project };
        expect(ctx.now()).toBe(42);
        return ctx.settled();
      },
      { now: () => 42 },
    );

    expect(result.kind).toBe("settled");
    expect(seen).toEqual({
      reconcileId: expect.stringMatching(/^pass-/),
      event: { cause: "spec" },
      project: "/project",
    });
  });

  it("D-4: finalizers are durable when they resolve", async () => {
    const host = memoryHost();
    const { result } = await runManager(
      async (ctx) => {
        await ctx.finalizers.add("probe/cleanup");
        expect([...host.finalizers]).toEqual(["probe/cleanup"]);
        await ctx.finalizers.remove("probe/cleanup");
        expect([...host.finalizers]).toEqual([]);
        return ctx.settled();
      },
      { host },
    );
    expect(result.kind).toBe("settled");
  });

  it("start child runs through the host", async () => {
    const { host, result } = await runManager(async (ctx) => {
      const run = await ctx.workflows.ensure({ requestKey: "r", workflow: "w", input: { a: 1 } });
      expect(run).toEqual({ requestId: "request-r", state: "running", attempt: 1 });
      return ctx.settled();
    });

    expect(result.kind).toBe("settled");
    expect(host.childRuns).toEqual([{ requestKey: "r", workflow: "w", input: { a: 1 } }]);
  });

  it("look at child runs and cancel them by their request key", async () => {
    const { result } = await runManager(async (ctx) => {
      expect(await ctx.workflows.get("r")).toBeUndefined();
      expect(await ctx.workflows.cancel("r")).toBeUndefined();
      await ctx.workflows.ensure({ requestKey: "s", workflow: "w", input: {} });
      expect(await ctx.workflows.get("s")).toMatchObject({ state: "running" });
      expect(await ctx.workflows.cancel("s")).toMatchObject({ state: "failed" });
      return ctx.settled();
    });

    expect(result.kind).toBe("settled");
  });

  it.each<[string, (ctx: ReconcileContext<unknown>) => Promise<unknown>, RegExp]>([
    ["a finalizer without a name", (ctx) => ctx.finalizers.add(""), /finalizers: a name must be/],
    [
      "a finalizer over the limit",
      (ctx) => ctx.finalizers.add("f".repeat(LIMITS.name + 1)),
      /1 to 128/,
    ],
    [
      "an event of an unknown type",
      (ctx) => ctx.events.emit({ type: "Error" as never, reason: "X", message: "" }),
      /"Normal" or "Warning", not Error/,
    ],
    [
      "an event without a reason",
      (ctx) => ctx.events.emit({ type: "Normal", reason: "", message: "" }),
      /reason must be/,
    ],
    [
      "a payload over the limit",
      (ctx) =>
        ctx.events.emit({
          type: "Normal",
          reason: "X",
          message: "",
          payload: "x".repeat(LIMITS.eventPayload - 1),
        }),
      /at most 65536/,
    ],
    [
      "a child run without a key",
      (ctx) => ctx.workflows.ensure({ requestKey: "", workflow: "w", input: 1 }),
      /requestKey must be/,
    ],
    [
      "a look at a child run without a key",
      (ctx) => ctx.workflows.get(""),
      /workflows\.get: requestKey must be/,
    ],
    [
      "a cancel with a key over the limit",
      (ctx) => ctx.workflows.cancel("k".repeat(LIMITS.key + 1)),
      /workflows\.cancel: requestKey must be/,
    ],
    [
      "a child run's input over the limit",
      (ctx) =>
        ctx.workflows.ensure({
          requestKey: "r",
          workflow: "w",
          input: "x".repeat(LIMITS.spec - 1),
        }),
      /at most 1048576/,
    ],
  ])("refuse %s", async (_what, ask, message) => {
    const { result, host } = await runManager(async (ctx) => {
      await ask(ctx);
      return ctx.settled();
    });

    expect(result).toMatchObject({ kind: "failed", message: expect.stringMatching(message) });
    expect([host.finalizers.size, host.events.length, host.childRuns.length]).toEqual([0, 0, 0]);
  });

  it("accept an event at its limits, with its message cut", async () => {
    const payload = "x".repeat(LIMITS.eventPayload - 2);
    const { host } = await runManager(async (ctx) => {
      await ctx.events.emit({
        type: "Normal",
        reason: "X",
        message: "m".repeat(LIMITS.message + 1),
        payload,
      });
      return ctx.settled();
    });

    expect(host.events).toMatchObject([{ payload, message: expect.stringMatching(/… \(cut\)$/) }]);
  });

  it("give the author the host's errors", async () => {
    const host = memoryHost();
    host.setFinalizer = () =>
      Promise.reject(new PiWorkflowsError("DELETING", "it is being deleted"));

    const { result } = await runManager(
      async (ctx) => {
        await expect(ctx.finalizers.add("x")).rejects.toMatchObject({ code: "DELETING" });
        return ctx.settled();
      },
      { host },
    );

    expect(result.kind).toBe("settled");
  });

  it("F-1: refuse everything once the pass is over", async () => {
    const host = memoryHost();
    let kept: ReconcileContext<unknown> | undefined;
    await runManager(
      (ctx) => {
        kept = ctx;
        return ctx.settled();
      },
      { host },
    );
    const ctx = kept as ReconcileContext<unknown>;
    const late = { code: "LEASE_LOST" };

    await expect(ctx.finalizers.add("x")).rejects.toMatchObject(late);
    await expect(
      ctx.events.emit({ type: "Normal", reason: "X", message: "" }),
    ).rejects.toMatchObject(late);
    await expect(
      ctx.workflows.ensure({ requestKey: "r", workflow: "w", input: 1 }),
    ).rejects.toMatchObject(late);
    await expect(ctx.workflows.get("r")).rejects.toMatchObject(late);
    await expect(ctx.workflows.cancel("r")).rejects.toMatchObject(late);
    const apply = async () => {
      throw new Error("must not be called");
    };
    await expect(
      ctx.effects.ensure({ key: "k", kind: "t", request: 1, observe: apply, apply }),
    ).rejects.toMatchObject(late);
    ctx.log.info("late");

    expect([
      host.finalizers.size,
      host.events.length,
      host.effects.size,
      host.lines.length,
    ]).toEqual([0, 0, 0, 0]);
  });
});
