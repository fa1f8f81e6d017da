import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { helpOf, parseCall, usageOf } from "../../src/extension/grammar.ts";
import { RESOURCE_MANAGER, WORKFLOW } from "../../src/extension/verbs.ts";
import { quoteWord, splitWords } from "../../src/extension/words.ts";

const texts = (line: string) => splitWords(line).map(({ text }) => text);

describe("what is typed after a command", () => {
  it("is split at white space, but not in quotes or JSON", () => {
    expect(texts('apply greeting "a key"  {"text": "a } b", "to": ["x y"]} --yes')).toEqual([
      "apply",
      "greeting",
      "a key",
      '{"text": "a } b", "to": ["x y"]}',
      "--yes",
    ]);
    expect(texts(`why pull-request acme/widgets#42`)).toEqual([
      "why",
      "pull-request",
      "acme/widgets#42",
    ]);
    expect(texts(String.raw`a\ b 'c "d' e"f g"h`)).toEqual(["a b", 'c "d', "ef gh"]);
  });

  it("says where a quote or bracket is missing", () => {
    expect(splitWords('{"a": 1').at(-1)).toMatchObject({ closed: false, json: true });
    expect(() => parseCall(RESOURCE_MANAGER, 'apply greeting hello {"text": 1')).toThrow(
      /is not closed/,
    );
    expect(() => parseCall(RESOURCE_MANAGER, 'why greeting "hel')).toThrow(/is not closed/);
  });

  it("comes back as it was, however a name is written", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (one, two) => {
        expect(texts(`${quoteWord(one)} ${quoteWord(two)}`)).toEqual([one, two]);
      }),
    );
  });
});

describe("a call", () => {
  it("has operands and flags, in any order", () => {
    expect(parseCall(RESOURCE_MANAGER, "events --limit 5 greeting hello")).toEqual({
      verb: "events",
      operands: ["greeting", "hello"],
      flags: { limit: "5" },
    });
    expect(parseCall(RESOURCE_MANAGER, "events --limit=5").flags).toEqual({ limit: "5" });
    expect(parseCall(RESOURCE_MANAGER, "apply a b c d --yes").operands).toHaveLength(4);
  });

  it.each([
    ["lst", /there is no lst/, /There is: list, get/],
    ["get greeting", /get needs KEY/, /Write: \/resource-manager get MANAGER KEY/],
    ["get a b c", /get does not take c/, /Write/],
    ["list --force", /list knows no --force/, /\[--not-ready\]/],
    ["events --limit", /--limit needs a value/, /\[--limit COUNT\]/],
  ])("%s is refused with what to write", (line, message, hint) => {
    expect(() => parseCall(RESOURCE_MANAGER, line)).toThrow(
      expect.objectContaining({
        code: "USAGE",
        message: expect.stringMatching(message),
        hint: expect.stringMatching(hint),
      }),
    );
  });

  it("of nothing is for help, which names every verb", () => {
    for (const grammar of [RESOURCE_MANAGER, WORKFLOW]) {
      expect(parseCall(grammar, "  ").verb).toBe("help");
      for (const verb of grammar.verbs) expect(helpOf(grammar)).toContain(usageOf(grammar, verb));
    }
    expect(RESOURCE_MANAGER.verbs.map(({ name }) => name)).not.toContain("start");
  });
});
