import { describe, expect, it } from "vitest";
import { z } from "zod";
import { askQuestion } from "../../src/extension/ask.ts";
import type { Ui } from "../../src/extension/pi.ts";

/** A person who gives these answers, one after another, and what they were asked. */
function person(...answers: (string | undefined)[]) {
  const asked: { by: string; title: string; offered?: unknown }[] = [];
  const said: string[] = [];
  const give = (by: string, title: string, offered?: unknown) => {
    asked.push(offered === undefined ? { by, title } : { by, title, offered });
    return Promise.resolve(answers.shift());
  };
  const ui = {
    select: (title: string, options: string[]) => give("select", title, options),
    input: (title: string, placeholder?: string) => give("input", title, placeholder),
    editor: (title: string, prefill?: string) => give("editor", title, prefill),
    notify: (text: string) => void said.push(text),
  } as unknown as Ui;
  return { ui, asked, said };
}

function ask(schema: z.ZodType | undefined, ui: Ui, signal = new AbortController().signal) {
  const json = schema && (z.toJSONSchema(schema) as Record<string, unknown>);
  const question = { runId: "r", visit: 1, node: "ask", message: "Merge?", askedAt: 0 };
  return askQuestion(ui, json ? { ...question, schema: json } : question, signal);
}

describe("a checkpoint's question", () => {
  it("of yes or no is a choice, and a dismissed dialog is no answer", async () => {
    const yes = person("Yes");
    expect(await ask(z.boolean(), yes.ui)).toEqual({ value: true });
    expect(yes.asked).toEqual([
      { by: "select", title: "ask asks: Merge?", offered: ["Yes", "No"] },
    ]);
    expect(await ask(z.boolean(), person("No").ui)).toEqual({ value: false });
    expect(await ask(z.boolean(), person(undefined).ui)).toBeUndefined();
  });

  it.for<[string, z.ZodType, string, unknown]>([
    ["an enum", z.enum(["merge", "close"]), "close", "close"],
    ["literals", z.union([z.literal(1), z.literal(2)]), "2", 2],
    ["text", z.string(), "why not", "why not"],
    ["a number", z.number(), "4.5", 4.5],
  ])("of %s takes what was said", async ([, schema, answer, value]) => {
    expect(await ask(schema, person(answer).ui)).toEqual({ value });
  });

  it("asks again where a number is none", async () => {
    const { ui, asked, said } = person("many", "3");
    expect(await ask(z.int(), ui)).toEqual({ value: 3 });
    expect(asked).toHaveLength(2);
    expect(said).toEqual(["many is no integer."]);
  });

  it("of a few members asks for each, and for none where one is left open", async () => {
    const schema = z.object({ ok: z.boolean(), note: z.string().meta({ description: "Why" }) });
    const { ui, asked } = person("Yes", "it is good");
    expect(await ask(schema, ui)).toEqual({ value: { ok: true, note: "it is good" } });
    expect(asked.map(({ title }) => title)).toEqual([
      "ask asks: Merge?\nok",
      "ask asks: Merge?\nWhy",
    ]);
    expect(await ask(schema, person("Yes", undefined).ui)).toBeUndefined();
  });

  it("of anything else is JSON in an editor, kept where it is none", async () => {
    const { ui, asked } = person('{"steps": [', '{"steps": ["a"]}');
    expect(await ask(z.object({ steps: z.array(z.string()) }), ui)).toEqual({
      value: { steps: ["a"] },
    });
    expect(asked.map(({ offered }) => offered)).toEqual(['{\n  "steps": null\n}', '{"steps": [']);
  });

  it("without a schema takes any JSON", async () => {
    expect(await ask(undefined, person("[1]").ui)).toEqual({ value: [1] });
  });

  it("that was answered elsewhere is not answered by what its dialog says", async () => {
    const gone = new AbortController();
    gone.abort();
    expect(await ask(z.string(), person("late").ui, gone.signal)).toBeUndefined();
  });
});
