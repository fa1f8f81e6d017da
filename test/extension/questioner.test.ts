import { describe, expect, it } from "vitest";
import { PiWorkflowsError, type ErrorCode } from "../../src/model/errors.ts";
import type { RunQuestion } from "../../src/model/run.ts";
import { answerByDialog } from "../../src/extension/questioner.ts";
import type { Ui } from "../../src/extension/pi.ts";
import type { Session } from "../../src/extension/session.ts";

const QUESTION: RunQuestion = {
  runId: "r",
  visit: 3,
  node: "ask",
  message: "How many?",
  schema: { type: "integer", minimum: 1 },
  askedAt: 0,
};

/** Answers a question with these texts, at a server that refuses so often; gives what was sent and said. */
async function answer(texts: string[], ...refusals: ErrorCode[]) {
  const sent: unknown[] = [];
  const said: string[] = [];
  const client = {
    answerRun: async (request: unknown) => {
      sent.push(request);
      const code = refusals.shift();
      if (code) throw new PiWorkflowsError(code, "it was refused");
    },
  };
  const closed = new AbortController().signal;
  const link = { closed, ask: (question: (one: unknown) => unknown) => question(client) };
  const ui = {
    input: async () => texts.shift(),
    notify: (text: string) => void said.push(text),
  } as unknown as Ui;
  const session = { link } as unknown as Session;
  await answerByDialog({ session, ui, question: QUESTION, signal: closed });
  return { sent, said, left: texts };
}

describe("an answer by dialog", () => {
  it("is for the question that was shown, and no later one of the same checkpoint", async () => {
    expect((await answer(["2"])).sent).toEqual([{ runId: "r", node: "ask", visit: 3, value: 2 }]);
  });

  it("that the run does not take is asked for again", async () => {
    const { sent, said } = await answer(["0", "5"], "INVALID_INPUT");
    expect(sent).toMatchObject([{ value: 0 }, { value: 5 }]);
    expect(said).toEqual([
      expect.stringContaining("it was refused"),
      "ask is answered; the run goes on.",
    ]);
  });

  it("that came too late is told, and not asked for again", async () => {
    const { sent, said, left } = await answer(["1", "2"], "ALREADY_ANSWERED");
    expect(sent).toHaveLength(1);
    expect(said).toEqual([expect.stringContaining("it was refused")]);
    expect(left).toEqual(["2"]);
  });
});
