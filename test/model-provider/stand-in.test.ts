import { describe, expect, it, onTestFinished } from "vitest";
import { judge } from "./schema.mjs";
import { startModelProvider, type Answer, type ModelProvider } from "./stand-in.mjs";

async function provider(...answers: Answer[]): Promise<ModelProvider> {
  const started = await startModelProvider();
  started.queue(...answers);
  onTestFinished(() => started.close());
  return started;
}

function ask({ url }: ModelProvider, content: string, more: object = {}): Promise<Response> {
  const messages = [{ role: "user", content }];
  const body = JSON.stringify({ model: "stand-in", stream: true, messages, ...more });
  return fetch(`${url}/chat/completions`, { method: "POST", body });
}

/** What the model said and called, put together as a client does. */
async function heard(response: Response): Promise<{ text: string; calls: string }> {
  const events = (await response.text()).split("\n\n").filter((line) => line.startsWith("data: {"));
  const deltas = events.map((event) => JSON.parse(event.slice(6)).choices[0]?.delta ?? {});
  const calls = deltas.flatMap((delta) => delta.tool_calls ?? []);
  return {
    text: deltas.map((delta) => delta.content ?? "").join(""),
    calls: calls.map((call) => call.function.arguments).join(""),
  };
}

describe("the stand-in of the model provider", () => {
  it("streams text and calls, queued ones first, and keeps to the description", async () => {
    const model = await provider({ text: "a long answer, in pieces", calls: [] });

    expect((await heard(await ask(model, "one"))).text).toBe("a long answer, in pieces");
    expect((await heard(await ask(model, 'call:bash {"command":"ls"}'))).calls).toBe(
      '{"command":"ls"}',
    );
    expect((await heard(await ask(model, "three"))).text).toBe("You said: three");
    expect(model.requests).toHaveLength(3);
    expect(model.problems).toEqual([]);
  });

  it("refuses a request that OpenAI would refuse, and remembers it", async () => {
    const model = await provider();

    const response = await ask(model, "hello", { tools: [{ type: "function" }] });

    expect(response.status).toBe(400);
    expect(model.problems).toEqual([expect.stringContaining("/tools/0")]);
  });

  it("judges chunks by the description", () => {
    expect(
      judge("ChatChunk", { id: "1", choices: [{ index: 0, delta: { role: "nobody" } }] }),
    ).toMatch(/required property 'created'.*allowed values/);
  });

  it("fails, breaks off, falls silent and talks nonsense when told to", async () => {
    const model = await provider(
      { status: 429, message: "too many" },
      { cut: "I would" },
      { raw: "<html>" },
      { stall: "" },
    );

    const refused = await ask(model, "one");
    expect([refused.status, await refused.json()]).toEqual([
      429,
      { error: expect.objectContaining({ message: "too many" }) },
    ]);
    await expect((await ask(model, "two")).text()).rejects.toThrow("terminated");
    expect(await (await ask(model, "three")).text()).toBe("<html>");
    const silent = ask(model, "four");
    await model.untilRequests(4);
    await model.close();
    await expect(silent).rejects.toThrow("fetch failed");
  });

  it("holds an answer back until it is let go", async () => {
    let letGo = (): void => {};
    const model = await provider({ text: "late", after: new Promise<void>((r) => (letGo = r)) });

    const answer = ask(model, "one");
    await model.untilRequests(1);
    letGo();

    expect((await heard(await answer)).text).toBe("late");
  });
});
