import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { AgentPort } from "../../src/model/agent.ts";
import type { JsonSchema } from "../../src/model/manifest.ts";
import { obedient, textOf, type ModelProvider } from "../model-provider/stand-in.mjs";
import { ask, startAgents, submits } from "./support/agents.ts";
import { TRIED_PIS } from "./support/installed.ts";
import {
  createPiMachine,
  lifetimeOfSuite,
  useModelProvider,
  type PiMachine,
} from "./support/machine.ts";

describe.each(TRIED_PIS)("an agent by Pi $version", (pi) => {
  // As in a server: one for all that ask. Where a question was answered, the next test goes on in the
  // same conversation, which saves the start of a Pi.
  let provider: ModelProvider;
  let machine: PiMachine;
  let agents: AgentPort;
  const suite = lifetimeOfSuite();
  beforeAll(async () => {
    provider = await useModelProvider(suite);
    machine = createPiMachine(suite, { pi, modelUrl: provider.url });
    agents = startAgents(suite, machine);
  });
  afterEach(() => {
    provider.requests.length = 0;
    provider.answerBy(obedient);
  });

  it("answers with what the schema asks for, after work with the tools it was given", async () => {
    writeFileSync(path.join(machine.project, "count.txt"), "there are forty-two\n");
    provider.queue(
      { text: "I shall look.", calls: [{ name: "read", arguments: { path: "count.txt" } }] },
      submits(42),
    );

    const { answer, texts } = ask(agents, machine);

    expect(await answer).toEqual({ state: "answered", value: 42 });
    // The answer ends the turn: the model is not asked for a farewell.
    expect(provider.requests).toHaveLength(2);
    expect(textOf(provider.requests[1]?.body.messages.at(-1))).toContain("forty-two");
    expect(provider.requests[0]?.body.tools?.map((tool) => tool.function.name).sort()).toEqual([
      "read",
      "submit_result",
    ]);
    expect(texts).toEqual([
      "▶ How many?",
      "I shall look.",
      '⚙ read {"path":"count.txt"}',
      "   there are forty-two",
      '⚙ submit_result {"result":42}',
    ]);
    expect(agents.alive()).toBe(1);
    await agents.close("run-1", "node");
    expect(agents.alive()).toBe(0);
  });

  it("remembers the conversation when it is asked again, also for another kind of answer", async () => {
    provider.queue(submits(1), submits({ why: "because" }));

    await ask(agents, machine, { prompt: "First?" }).answer;
    const schema = { type: "object", properties: { why: { type: "string" } }, required: ["why"] };
    const second = ask(agents, machine, { prompt: "And why?", schema });

    expect(await second.answer).toEqual({ state: "answered", value: { why: "because" } });
    const said = provider.requests[1]?.body.messages.map(textOf).join("\n");
    expect(said).toMatch(/First\?[^]*And why\?/);
    expect(agents.alive()).toBe(1);
  });

  it("answers by a schema that refers to itself", async () => {
    type Tree = { name: string; parts: Tree[] };
    const tree: z.ZodType<Tree> = z.object({ name: z.string(), parts: z.lazy(() => tree.array()) });
    const schema = z.toJSONSchema(tree) as JsonSchema;
    const value = { name: "a", parts: [{ name: "b", parts: [] }] };
    provider.queue(submits({ name: "a", parts: [{ name: "b" }] }), submits(value));

    const { answer, texts } = ask(agents, machine, { schema });

    expect(await answer).toEqual({ state: "answered", value });
    expect(texts.join("\n")).toMatch(/✗ Validation failed[^]*parts\.0\.parts/);
  });

  it("keeps tools for files in the agent's folder, whatever the path is like", async () => {
    const secret = path.join(machine.root, "secret.txt");
    const made = path.join(machine.root, "made.txt");
    writeFileSync(secret, "private words");
    symlinkSync(secret, path.join(machine.project, "link"));
    symlinkSync(made, path.join(machine.project, "dangling"));
    const ways = ["../secret.txt", "@../secret.txt", secret, `file://${secret}`, "link"];
    const reads = ways.map((where) => ({ name: "read", arguments: { path: where } }));
    const writes = ["dangling", made, "~/.profile"].map((where) => ({
      name: "write",
      arguments: { path: where, content: "echo mine" },
    }));
    const inside = { name: "write", arguments: { path: "new/notes.txt", content: "fine" } };
    const lists = { name: "ls", arguments: { path: machine.home } };
    provider.queue({ calls: [...reads, lists, ...writes, inside] }, submits(7));

    const tools = ["read", "write", "ls"];
    const { answer, texts } = ask(agents, machine, { conversation: "kept", tools });

    expect(await answer).toEqual({ state: "answered", value: 7 });
    await agents.close("run-1", "kept");
    expect(texts.join("\n").match(/work in this folder only/g)).toHaveLength(ways.length + 4);
    expect(JSON.stringify(provider.requests)).not.toContain("private words");
    expect([made, path.join(machine.home, ".profile")].filter(existsSync)).toEqual([]);
    expect(readFileSync(path.join(machine.project, "new/notes.txt"), "utf8")).toBe("fine");
  });

  it("refuses to go on in a conversation with other tools", async () => {
    provider.queue(submits(1));
    await ask(agents, machine).answer;

    expect(await ask(agents, machine, { tools: ["read", "bash"] }).answer).toMatchObject({
      state: "failed",
      reason: "ConversationChanged",
      retryable: false,
    });
  });

  it("sends an answer back that does not fit, and takes the mended one", async () => {
    provider.queue(submits("many"), submits(7));

    const { answer, texts } = ask(agents, machine);

    expect(await answer).toEqual({ state: "answered", value: 7 });
    expect(texts.join("\n")).toMatch(/✗ Validation failed.*\n.*result.*number/);
  });

  it("gives up when the answer does not fit again and again", async () => {
    provider.answerBy(() => submits("many"));

    expect(await ask(agents, machine).answer).toMatchObject({
      state: "failed",
      reason: "NoAnswer",
      message: expect.stringMatching(/refused 3 times: Validation failed[^]*result.*number/),
    });
  });

  it("is reminded when it ends its turn without an answer, and gives up after two reminders", async () => {
    provider.queue({ text: "About seven." }, submits(7));
    expect(await ask(agents, machine).answer).toEqual({ state: "answered", value: 7 });

    provider.answerBy(() => ({ text: "I would rather not say." }));
    const { answer, texts } = ask(agents, machine);
    expect(await answer).toMatchObject({ state: "failed", reason: "NoAnswer" });
    expect(texts.filter((text) => text.includes("Call the tool submit_result"))).toHaveLength(2);
    expect(agents.alive()).toBe(0);
  });

  it("stops a model that goes on after its answer", async () => {
    const also = { name: "read", arguments: { path: "nothing" } };
    provider.queue({ calls: [also, ...submits(7).calls] }, { stall: "And furthermore" });

    expect(await ask(agents, machine).answer).toEqual({ state: "answered", value: 7 });
  });

  it("leaves Pi's own folder as it was", async () => {
    provider.queue(submits(1));
    // A person has used Pi before: it has made its files.
    await ask(agents, machine, { runId: "earlier" }).answer;
    await agents.close("earlier", "node");
    const before = machine.agentFiles();
    provider.queue({ status: 400, message: "no" }, submits(1));

    await ask(agents, machine).answer;
    await ask(agents, machine).answer;
    await agents.close("run-1", "node");

    expect(Object.keys(before)).toContain("settings.json");
    expect(machine.agentFiles()).toEqual(before);
  });

  it("hands the provider's key to the model's provider and shows it to nobody", async (test) => {
    const provider = await useModelProvider(test);
    const machine = createPiMachine(test, { pi, modelUrl: provider.url });
    const key = "key-that-nobody-may-see";
    machine.useKey("STAND_IN_KEY");
    const agents = startAgents(test, machine, { credentials: { STAND_IN_KEY: key } });
    provider.queue(
      { calls: [{ name: "bash", arguments: { command: "echo $STAND_IN_KEY $OTHER; id" } }] },
      { status: 401, message: `${key} is not valid` },
    );

    const { answer, texts } = ask(agents, machine, { tools: ["bash"] });

    expect(await answer).toMatchObject({ reason: "ModelFailed" });
    expect(provider.requests[0]?.key).toBe(`Bearer ${key}`);
    expect(JSON.stringify([await answer, texts])).not.toContain(key);
    expect(texts.join("\n")).toContain("[secret]");
  });
});
