import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  action,
  checkpoint,
  compute,
  end,
  defineWorkflow,
  loop,
  shell,
  type WorkflowNode,
} from "../../../src/workflows/index.ts";
import { MemoryRunHost } from "./support/host.ts";
import { gate, run, start } from "./support/run.ts";
import { chain, handClock } from "./support/workflow.ts";

const untilStopped = (started: () => void) => (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("stopped")));
    started();
  });

describe("a checkpoint", () => {
  const ask = checkpoint({
    message: "Merge?",
    answer: z.object({ ok: z.boolean() }).refine(({ ok }) => ok, "must be agreed to"),
  });
  const workflow = chain({ ask });

  it("ends the pass with its question, and goes on with the answer", async () => {
    const host = new MemoryRunHost();
    expect((await run(workflow, { host })).outcome).toEqual({
      kind: "ran",
      ending: {
        state: "waiting",
        reason: "Checkpoint",
        node: "ask",
        message: expect.stringContaining("ask"),
      },
    });
    expect(host.entries).toMatchObject([
      { event: "begun", kind: "checkpoint", input: { message: "Merge?" } },
    ]);

    host.orders.answers.push({ node: "ask", ordinal: 1, value: { ok: true }, by: "ann" });
    expect((await run(workflow, { host })).outcome).toMatchObject({
      ending: { output: { ok: true } },
    });
    expect(host.succeeded("ask")).toMatchObject({ by: "ann" });
  });

  it("R-3: takes an answer that was given before it was reached", async () => {
    const host = new MemoryRunHost();
    host.orders.answers.push({ node: "ask", ordinal: 1, value: { ok: true }, by: "ann" });
    expect((await run(workflow, { host })).outcome).toMatchObject({
      ending: { state: "succeeded" },
    });
    expect(host.story).toEqual(["succeeded ask", "succeeded end:done"]);
  });

  it("asks again where the answer does not fit, and says why", async () => {
    const host = new MemoryRunHost();
    host.orders.answers.push({ node: "ask", ordinal: 1, value: { ok: false }, by: "ann" });
    expect((await run(workflow, { host })).outcome).toMatchObject({ ending: { state: "waiting" } });
    expect(host.entries.at(-1)).toMatchObject({
      event: "begun",
      input: {
        message: "Merge?\n(ann gave node ask an answer that does not fit: must be agreed to)",
      },
    });
    expect(host.orders.answers).toEqual([]);
  });

  it("that is answered between the last look and the end of the pass is not left waiting", async () => {
    const host = new MemoryRunHost();
    host.onLine = ({ event }) => {
      if (event === "begun")
        host.orders.answers.push({ node: "ask", ordinal: 1, value: { ok: true }, by: "ann" });
    };
    expect((await run(workflow, { host })).outcome).toMatchObject({
      ending: { state: "succeeded" },
    });
  });

  it("reached again takes the answer to that time", async () => {
    const asked = checkpoint({ message: "Again?", answer: z.string() });
    const check = compute({ run: ({ output }) => output(asked) });
    const looping = defineWorkflow({
      name: "probe",
      input: z.unknown(),
      output: z.unknown(),
      startAt: "asked",
      nodes: { asked, check },
      edges: { asked: "check", check: loop("asked", { max: 1, exhausted: end("done") }) },
      exits: { done: ({ output }) => output(check) },
    });
    const host = new MemoryRunHost();
    for (const ordinal of [1, 2]) {
      host.orders.answers.push({ node: "asked", ordinal, value: `answer ${ordinal}`, by: "ann" });
    }
    expect((await run(looping, { host })).outcome).toMatchObject({
      ending: { output: "answer 2" },
    });
  });
});

describe("a cancel", () => {
  it("calls off what runs, undoes in reverse order what each visit did, and ends as cancelled", async () => {
    const started = gate();
    const undone: unknown[] = [];
    const undo = ({ result }: { result: unknown }) => void undone.push(result);
    const counted: WorkflowNode<number, unknown> = action({
      safety: "idempotent",
      run: ({ tryOutput }) => (tryOutput(counted) ?? 0) + 1,
      compensate: undo,
    });
    const made = action({ safety: "manual", run: () => "made", compensate: undo });
    const slow = action({
      safety: "idempotent",
      run: ({ signal }) => untilStopped(started.open)(signal),
    });
    const workflow = defineWorkflow({
      name: "probe",
      input: z.unknown(),
      output: z.unknown(),
      startAt: "counted",
      nodes: { counted, made, slow },
      edges: {
        counted: loop("counted", { max: 1, exhausted: "made" }),
        made: "slow",
        slow: end("done"),
      },
      exits: { done: () => null },
    });
    const { host, outcome, notify } = start(workflow);
    await started.opened;
    host.orders.cancel = { by: "ann" };
    notify("orders");

    expect(await outcome).toMatchObject({
      ending: { state: "failed", reason: "Cancelled", message: "cancelled by ann" },
    });
    expect(undone).toEqual(["made", 2, 1]);
    expect(host.entries.filter(({ event }) => event === "cancel").length).toBe(1);
  });

  it("is taken up by the next pass, and what was undone before a crash is not undone again", async () => {
    const undone: string[] = [];
    const node = (name: string) =>
      action({ safety: "idempotent", run: () => name, compensate: () => void undone.push(name) });
    const waits = checkpoint({ message: "?", answer: z.string() });
    const workflow = chain({ a: node("a"), b: node("b"), waits });
    const host = new MemoryRunHost();
    await run(workflow, { host });
    host.orders.cancel = { by: "ann" };
    host.onLine = (entry) => {
      // Dies once the first compensation is kept.
      if (entry.event === "succeeded" && entry.compensation) host.linesLeft = 0;
    };
    expect((await run(workflow, { host })).outcome).toMatchObject({ kind: "failed" });
    host.onLine = () => {};
    host.linesLeft = Number.POSITIVE_INFINITY;
    expect((await run(workflow, { host })).outcome).toMatchObject({
      ending: { reason: "Cancelled" },
    });
    expect(undone).toEqual(["b", "a"]);
  });
});

describe("an ambiguous attempt", () => {
  const manual = action({ safety: "manual", output: z.number(), run: ({ attempt }) => attempt });
  const plain = shell({ command: ["true"] });

  async function ambiguous(node: typeof manual | typeof plain): Promise<MemoryRunHost> {
    const host = new MemoryRunHost();
    host.linesLeft = 1;
    await run(chain({ node }), { host });
    host.linesLeft = Number.POSITIVE_INFINITY;
    const { outcome } = await run(chain({ node }), { host });
    expect(outcome).toMatchObject({
      ending: { state: "interrupted", reason: "Ambiguous", node: "node" },
    });
    return host;
  }

  it("that a person says went well hands over what they say", async () => {
    const host = await ambiguous(manual);
    host.orders.resolutions.push({ visit: 1, outcome: "succeeded", output: 7, by: "ann" });
    const { outcome } = await run(chain({ node: manual }), { host });
    expect(outcome).toMatchObject({ ending: { output: 7 } });
    expect(host.succeeded("node")).toMatchObject({ by: "ann" });
  });

  it("whose output a person gives wrong has failed, naming the place", async () => {
    const host = await ambiguous(manual);
    host.orders.resolutions.push({ visit: 1, outcome: "succeeded", output: "x", by: "ann" });
    const { outcome } = await run(chain({ node: manual }), { host });
    expect(outcome).toMatchObject({
      ending: {
        message: expect.stringMatching(
          /ann said that node node handed over an output that does not fit/,
        ),
      },
    });
  });

  it("of a command that went well hands over what a silent one does", async () => {
    const host = await ambiguous(plain);
    host.orders.resolutions.push({ visit: 1, outcome: "succeeded", by: "ann" });
    const { outcome } = await run(chain({ node: plain }), { host });
    expect(outcome).toMatchObject({
      ending: { output: { exitCode: 0, stdout: "", stderr: "", isCut: false } },
    });
  });

  it("that a person says failed fails its node; that they release is made again", async () => {
    const failed = await ambiguous(manual);
    failed.orders.resolutions.push({ visit: 1, outcome: "failed", message: "not sent", by: "ann" });
    expect((await run(chain({ node: manual }), { host: failed })).outcome).toMatchObject({
      ending: { reason: "NodeFailed", message: "node: not sent (said ann)" },
    });
    const again = await ambiguous(manual);
    again.orders.resolutions.push({ visit: 1, outcome: "retry", by: "ann" });
    expect((await run(chain({ node: manual }), { host: again })).outcome).toMatchObject({
      ending: { output: 2 },
    });
  });
});

describe("a pause", () => {
  it("lets what runs end, begins nothing more, and the next pass goes on from there", async () => {
    const started = gate();
    const go = gate();
    let later = 0;
    const slow = action({
      safety: "manual",
      run: async () => (started.open(), await go.opened, "done"),
    });
    const next = compute({ run: () => (later += 1) });
    const workflow = chain({ slow, next });
    const { host, outcome, notify } = start(workflow);
    await started.opened;
    notify("pause");
    go.open();

    expect(await outcome).toMatchObject({ ending: { state: "waiting", reason: "Paused" } });
    expect([host.story, later]).toEqual([["begun slow", "succeeded slow"], 0]);
    expect((await run(workflow, { host })).outcome).toMatchObject({ ending: { output: 1 } });
  });

  it("does not wait out the delay before another attempt", async () => {
    const time = handClock();
    const failing = compute({
      retry: { times: 1, delay: "1h" },
      run: ({ attempt }) => {
        if (attempt === 1) throw new Error("once");
        return "second";
      },
    });
    const { host, outcome, notify } = start(chain({ failing }), { time });
    await new Promise<void>((resolve) => (host.onLine = () => resolve()));
    notify("pause");
    expect(await outcome).toMatchObject({ ending: { state: "waiting", reason: "Paused" } });
    // Neither the delay nor the run's deadline is still waited for.
    expect(time.waiting()).toBe(0);
  });
});
