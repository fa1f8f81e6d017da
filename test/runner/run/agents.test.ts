import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AGENT_FAULTS, type AgentAnswer } from "../../../src/model/agent.ts";
import { LIMITS } from "../../../src/model/limits.ts";
import { agent, decision, defineWorkflow, end } from "../../../src/workflows/index.ts";
import { MemoryRunHost } from "./support/host.ts";
import { gate, run, start } from "./support/run.ts";
import { chain, handClock } from "./support/workflow.ts";

const score = agent({
  prompt: "How good is it?",
  output: z.object({ score: z.number().max(10) }),
  tools: ["read"],
  model: "small",
  cwd: "docs",
});
const answers = (...values: unknown[]) => {
  const host = new MemoryRunHost();
  host.agent = () => ({ state: "answered", value: values.shift() as never });
  return host;
};

describe("an agent", () => {
  it("is asked for what its schema says, in the project, and its conversation is closed", async () => {
    const host = answers({ score: 7 });
    const { outcome } = await run(chain({ score }), { host, pass: { project: "/project" } });

    expect(outcome).toMatchObject({ ending: { output: { score: 7 } } });
    expect(host.questions).toEqual([
      {
        conversation: "score#1.1",
        visit: 1,
        node: "score",
        prompt: "How good is it?",
        schema: {
          type: "object",
          properties: { score: { type: "number", maximum: 10 } },
          required: ["score"],
        },
        tools: ["read"],
        model: "small",
        cwd: "/project/docs",
        deadlineMs: expect.any(Number),
      },
    ]);
    expect(host.closed).toEqual(["score#1.1"]);
    expect(host.entries[0]).toMatchObject({
      event: "begun",
      input: { prompt: "How good is it?", tools: ["read"], model: "small" },
    });
  });

  it("LIMITS.agentCorrections: is told so often, in the same conversation, what is wrong with its answer", async () => {
    const wrong = Array.from({ length: LIMITS.agentCorrections }, () => ({ score: 11 }));
    const host = answers(...wrong, { score: 10 });
    const { outcome } = await run(chain({ score }), { host });

    expect(outcome).toMatchObject({ ending: { output: { score: 10 } } });
    expect(new Set(host.questions.map(({ conversation }) => conversation)).size).toBe(1);
    expect(host.questions[1]?.prompt).toMatch(
      /does not fit what is wanted: score: must be at most 10/,
    );
  });

  it("that goes on to answer wrong fails its node", async () => {
    const host = answers(
      ...Array.from({ length: LIMITS.agentCorrections + 1 }, () => ({ score: 11 })),
      { score: 1 },
    );
    const { outcome } = await run(chain({ score }), { host });

    expect(outcome).toMatchObject({
      ending: {
        message: expect.stringMatching(
          /the agent of node score gave an answer that does not fit, and it was told 2 times/,
        ),
      },
    });
    expect(host.entries[1]).toMatchObject({ error: { reason: "InvalidOutput" }, retryable: true });
  });

  it.each(AGENT_FAULTS.filter((fault) => fault !== "Deadline"))(
    "that gives no answer fails its node: %s",
    async (reason) => {
      const host = new MemoryRunHost();
      host.agent = (): AgentAnswer => ({
        state: "failed",
        reason,
        message: "why",
        retryable: false,
      });
      const { outcome } = await run(chain({ score }), { host });
      expect(outcome).toMatchObject({ ending: { reason: "NodeFailed", message: "score: why" } });
      expect(host.entries[1]).toMatchObject({ error: { reason }, retryable: false });
    },
  );

  it("past the node's deadline is closed, and the node has failed by it", async () => {
    const time = handClock();
    const asked = gate();
    const closed = gate();
    const host = new MemoryRunHost();
    host.agent = async () => {
      asked.open();
      await closed.opened;
      return { state: "failed", reason: "Cancelled", message: "closed", retryable: true };
    };
    const close = host.closeAgent.bind(host);
    host.closeAgent = (conversation) => (closed.open(), close(conversation));
    const slow = agent({ prompt: "?", output: z.string(), timeout: "9s" });
    const { outcome } = start(chain({ slow }), { host, time });
    await asked.opened;
    time.advance(9_000);

    expect(await outcome).toMatchObject({
      ending: { message: "slow: node slow was not done within its timeout of 9000 ms" },
    });
    expect(host.questions[0]?.deadlineMs).toBe(9_000);
  });

  it("of a named conversation is asked in it again, and it is closed with the pass", async () => {
    const first = agent({ prompt: "one", output: z.string(), conversation: "talk" });
    const second = agent({ prompt: "two", output: z.string(), conversation: "talk" });
    const host = answers("a", "b");
    await run(chain({ first, second }), { host });
    expect(host.questions.map(({ conversation }) => conversation)).toEqual(["talk", "talk"]);
    expect(host.closed).toEqual(["talk"]);
  });

  it("decides among the choices of a decision", async () => {
    const pick = decision({ choices: ["keep", "drop"], prompt: "Which?" });
    const workflow = defineWorkflow({
      name: "probe",
      input: z.unknown(),
      output: z.unknown(),
      startAt: "pick",
      nodes: { pick },
      edges: { pick: { keep: end("kept"), drop: end("dropped") } },
      exits: { kept: () => null, dropped: () => null },
    });
    const host = answers({ choice: "drop", reason: "old" });
    expect((await run(workflow, { host })).outcome).toMatchObject({ ending: { exit: "dropped" } });
    expect(host.succeeded("pick")).toMatchObject({ choice: "drop" });
  });
});
