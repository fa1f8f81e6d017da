import { describe, expect, it } from "vitest";
import type { AgentRequest } from "../../../src/model/agent.ts";
import { LIMITS } from "../../../src/model/limits.ts";
import { boundAgents } from "../../../src/server/runs/agents.ts";
import { createConversations } from "../../../src/server/runs/conversations.ts";
import { turns } from "../virtual-clock.ts";
import { scriptedAgents } from "./scripted-agents.ts";

const question = (conversation: string) => ({
  visit: 3,
  node: "think",
  conversation,
  prompt: "?",
  schema: {},
  tools: [],
  cwd: "/p",
  deadlineMs: 1_000,
});
const request = (conversation: string): AgentRequest => {
  const { visit: _visit, node: _node, ...rest } = question(conversation);
  return { runId: "r", ...rest };
};
const yes = { state: "answered", value: "yes" } as const;

describe("agents of a server", () => {
  it("LIMITS.agents: so many work at once; the next begins when one is done, in order", async () => {
    const { port, asked } = scriptedAgents();
    const agents = boundAgents(port);
    const never = new AbortController().signal;
    const names = Array.from({ length: LIMITS.agents + 2 }, (_, index) => `c${index}`);
    const answers = names.map((name) => agents.ask(request(name), () => {}, never));
    await turns();
    expect(asked).toHaveLength(LIMITS.agents);
    expect(agents.queued()).toBe(2);
    asked[0]?.answer(yes);
    expect(await answers[0]).toEqual(yes);
    expect(asked.at(-1)?.request.conversation).toBe(`c${LIMITS.agents}`);
    expect(asked).toHaveLength(LIMITS.agents + 1);
  });

  it("a question that is called off while it waits is not asked, and takes no turn", async () => {
    const { port, asked } = scriptedAgents();
    const agents = boundAgents(port, 1);
    const never = new AbortController().signal;
    const leaving = new AbortController();
    void agents.ask(request("one"), () => {}, never);
    const left = agents.ask(request("two"), () => {}, leaving.signal);
    void agents.ask(request("three"), () => {}, never);
    leaving.abort();
    expect(await left).toMatchObject({ state: "failed", reason: "Cancelled" });
    asked[0]?.answer(yes);
    await turns();
    expect(asked.map((one) => one.request.conversation)).toEqual(["one", "three"]);
  });
});

describe("the agents of one pass", () => {
  it("are asked for the run, and their transcripts kept in order, those that wait together", async () => {
    const { port, asked } = scriptedAgents();
    const kept: string[] = [];
    const waiting: (() => void)[] = [];
    const conversations = createConversations(boundAgents(port), "r", async (at, text) => {
      await new Promise<void>((resolve) => void waiting.push(resolve));
      kept.push(`${at.visit} ${at.node}: ${text}`);
    });
    const answer = conversations.ask(question("c"));
    await turns();
    expect(asked[0]?.request).toEqual(request("c"));
    for (const text of ["a", "b", "c"]) asked[0]?.say(text);
    asked[0]?.answer(yes);
    let isDone = false;
    void answer.then(() => (isDone = true));
    waiting.shift()?.();
    await turns();
    expect(isDone).toBe(false);
    waiting.shift()?.();
    expect(await answer).toEqual(yes);
    expect(kept).toEqual(["3 think: a\n", "3 think: b\nc\n"]);
  });

  it("are closed with it, also those that still wait for their turn", async () => {
    const { port, asked, closed } = scriptedAgents();
    const agents = boundAgents(port, 1);
    const conversations = createConversations(agents, "r", () => Promise.resolve());
    const answers = ["one", "two"].map((name) => conversations.ask(question(name)));
    await turns();
    await conversations.closeAll();
    expect(await Promise.all(answers)).toMatchObject([{ state: "failed" }, { state: "failed" }]);
    expect(closed.sort()).toEqual(["r/one", "r/two"]);
    expect(asked).toHaveLength(1);
    expect(agents.queued()).toBe(0);
  });
});
