import { z } from "zod";
import { describe, expect, it } from "vitest";
import {
  action,
  agent,
  checkpoint,
  compute,
  decision,
  defineWorkflow,
  end,
  loop,
  shell,
  type WorkflowNode,
} from "../../src/workflows/index.ts";
import { testWorkflow } from "../../src/testing/index.ts";

const input = z.object({ name: z.string() });
let sent: string[] = [];

const greet = compute({ input, output: z.string(), run: ({ input: { name } }) => `Hello ${name}` });
const count = shell({
  safety: "idempotent",
  command: ({ output }) => ["wc", "-c", output(greet)],
  parse: ({ stdout }) => Number(stdout),
  output: z.number(),
});
const opinion = agent({
  prompt: ({ output }) => `Is this kind? ${output(greet)}`,
  output: z.object({ kind: z.boolean() }),
});
const isKind = decision({
  choices: ["yes", "no"],
  choose: ({ output }) => (output(opinion).kind ? "yes" : "no"),
});
const ask = checkpoint({ message: "Send it?", answer: z.object({ ok: z.boolean() }) });
const send = action({
  safety: "manual",
  retry: { times: 2, delay: "1h" },
  run: ({ output, attempt }) => {
    sent.push(output(greet));
    if (attempt === 1) throw new Error("the line is engaged");
    return attempt;
  },
});

const letter = defineWorkflow({
  name: "letter",
  input,
  output: z.object({ attempts: z.number() }),
  startAt: "greet",
  nodes: { greet, count, opinion, isKind, ask, send },
  edges: {
    greet: "count",
    count: "opinion",
    opinion: "isKind",
    isKind: { yes: "ask", no: loop("opinion", { max: 2, exhausted: end("unkind") }) },
    ask: "send",
    send: end("sent"),
  },
  exits: {
    sent: ({ output }) => ({ attempts: output(send) }),
    unkind: () => ({ attempts: 0 }),
  },
});

const commands = () => ({ stdout: "9\n" });
const kind = () => ({ kind: true });

describe("testWorkflow", () => {
  it("runs to a question, takes its answer, and waits out delays on its own clock", async () => {
    sent = [];
    const run = testWorkflow(letter, { input: { name: "Ada" }, commands, agents: kind });
    expect(await run.run()).toMatchObject({ state: "waiting", reason: "Checkpoint", node: "ask" });
    expect(run.outputOf("count")).toBe(9);
    expect(run.questions.map(({ prompt }) => prompt)).toEqual(["Is this kind? Hello Ada"]);
    const before = run.clock.now();
    run.answer("ask", { ok: true });
    expect(await run.run()).toMatchObject({ state: "succeeded", exit: "sent" });
    expect(run.output).toEqual({ attempts: 2 });
    expect(sent).toHaveLength(2);
    expect(run.clock.now() - before).toBe(3_600_000);
  });

  it("goes step by step: nothing outside happens before its line is there", async () => {
    sent = [];
    const run = testWorkflow(letter, { input: { name: "Ada" }, commands, agents: kind });
    run.answer("ask", { ok: true });
    let entry = await run.step();
    while (entry !== undefined && !(entry.event === "begun" && entry.node === "send")) {
      expect(sent).toEqual([]);
      entry = await run.step();
    }
    expect(run.story.at(-1)).toBe("begun send");
    expect((await run.step())?.event).toBe("failed");
    expect(sent).toHaveLength(1);
  });

  it("a runner that dies after any line leaves the same end, and no manual action twice", async () => {
    sent = [];
    const whole = testWorkflow(letter, { input: { name: "Ada" }, commands, agents: kind });
    whole.answer("ask", { ok: true });
    await whole.run();
    for (let lines = 1; lines < whole.journal.length; lines += 1) {
      sent = [];
      const run = testWorkflow(letter, { input: { name: "Ada" }, commands, agents: kind });
      run.answer("ask", { ok: true });
      await run.crashAfter(lines);
      let ending = await run.run();
      if (ending.state === "interrupted") {
        const before = sent.length;
        expect(ending.reason).toBe("Ambiguous");
        run.resolve({ outcome: "succeeded", output: 2 });
        ending = await run.run();
        expect(sent).toHaveLength(before);
      }
      expect(ending).toMatchObject({ state: "succeeded", exit: "sent" });
      expect(sent.length).toBeLessThanOrEqual(2);
    }
  });

  it("lets agents fail as Pi does, and bounds a loop", async () => {
    const unkind = testWorkflow(letter, {
      input: { name: "Ada" },
      commands,
      agents: () => ({ kind: false }),
    });
    expect(await unkind.run()).toMatchObject({ state: "succeeded", exit: "unkind" });
    expect(unkind.questions).toHaveLength(3);
    const silent = testWorkflow(letter, { input: { name: "Ada" }, commands });
    expect(await silent.run()).toMatchObject({ state: "failed", reason: "NodeFailed" });
  });

  it("runs real commands where none stands in, and judges exit codes alike", async () => {
    const run = testWorkflow(letter, {
      input: { name: "Ada" },
      commands: () => ({ exitCode: 3, stderr: "no such file" }),
      agents: kind,
    });
    const ending = await run.run();
    expect(ending).toMatchObject({ state: "failed", node: "count" });
    const real = testWorkflow(letter, { input: { name: "no-such-file" }, agents: kind });
    expect(await real.run()).toMatchObject({ state: "failed", node: "count" });
  });

  it("can be cancelled while it waits", async () => {
    const run = testWorkflow(letter, { input: { name: "Ada" }, commands, agents: kind });
    await run.run();
    run.cancel();
    expect(await run.run()).toMatchObject({ state: "failed", reason: "Cancelled" });
  });

  it("refuses an input that does not fit, and an answer to what is no checkpoint", () => {
    expect(() => testWorkflow(letter, { input: { nmae: "Ada" } })).toThrow(
      /^the workflow \S+ was given an input that does not fit: name: /,
    );
    const run = testWorkflow(letter, { input: { name: "Ada" } });
    expect(() => run.answer("aks", { ok: true })).toThrow(/^aks is no checkpoint of /);
    expect(() => run.answer("send", { ok: true })).toThrow(/^send is no checkpoint of /);
  });

  it("asks again where an answer does not fit, as the runtime does", async () => {
    const run = testWorkflow(letter, { input: { name: "Ada" }, commands, agents: kind });
    await run.run();
    run.answer("ask", { ok: "perhaps" });
    expect(await run.run()).toMatchObject({ state: "waiting", reason: "Checkpoint" });
    expect(run.log.at(-1)?.text).toContain("ok");
    run.answer("ask", { ok: true });
    expect(await run.run()).toMatchObject({ state: "succeeded", exit: "sent" });
  });

  it("says that nothing is ambiguous, also where something was", async () => {
    const run = testWorkflow(letter, { input: { name: "Ada" }, commands, agents: kind });
    run.answer("ask", { ok: true });
    while ((await run.step())?.event !== "begun" || !run.story.at(-1)?.endsWith("send"));
    await run.crashAfter(0);
    expect(await run.run()).toMatchObject({ state: "interrupted", reason: "Ambiguous" });
    run.resolve({ outcome: "succeeded", output: 2 });
    await run.run();
    expect(() => run.resolve({ outcome: "retry" })).toThrow("no attempt is ambiguous");
  });
});

describe("the clock of a workflow's test", () => {
  const made = (node: WorkflowNode) =>
    defineWorkflow({
      name: "timed",
      input: z.object({}),
      output: z.null(),
      startAt: "node",
      deadline: "1h",
      nodes: { node },
      edges: { node: end("done") },
      exits: { done: () => null },
    });

  it("moves to the run's deadline where a delay would end after it", async () => {
    const run = () => {
      throw new Error("not yet");
    };
    const node = action({ safety: "idempotent", run, retry: { times: 3, delay: "3h" } });
    const test = testWorkflow(made(node), { input: {} });
    expect(await test.run()).toMatchObject({ state: "failed", reason: "DeadlineExceeded" });
    expect(test.clock.monotonic()).toBe(3_600_000);
  });

  it("stands still while code of a node is at work, also of one that is pure", async () => {
    const node = compute({
      timeout: "10s",
      run: () => new Promise((resolve) => setTimeout(resolve, 30)),
    });
    const test = testWorkflow(made(node), { input: {} });
    expect(await test.run()).toMatchObject({ state: "succeeded" });
    expect(test.clock.monotonic()).toBe(0);
  });
});
