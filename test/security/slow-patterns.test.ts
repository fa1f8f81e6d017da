import { createContext, Script } from "node:vm";
import { describe, expect, it } from "vitest";
import { clip, wrap } from "../../src/extension/layout.ts";
import { truncate } from "../../src/model/limits.ts";
import { nearestName } from "../../src/model/nearest.ts";
import { redact, redactText } from "../../src/model/redact.ts";
import { printable, widthOf } from "../../src/model/text.ts";
import { createValueCheck } from "../../src/server/runs/check.ts";
import { prepareSchema } from "../../src/sources/schema.ts";

/**
 * Regular expressions meet texts from outside: a runner's log line may have megabytes, a schema is
 * somebody's own. What is too slow here took minutes to centuries; the limit stands for "hangs".
 */
const HANGS_MS = 15_000;
const MEGABYTE = 1 << 20;

/** Runs `work`, and fails where it does not come to an end. */
function ends<T>(work: () => T): T {
  return new Script("work()").runInContext(createContext({ work }), { timeout: HANGS_MS }) as T;
}

const repeated = (text: string) => text.repeat(Math.ceil(MEGABYTE / text.length));

describe("texts of a megabyte are masked, cut and laid out in no time", () => {
  const TEXTS = [
    `token${" ".repeat(MEGABYTE)}!`,
    repeated("bearer \n"),
    repeated("eyJ-y-yJ-"),
    repeated("eyJaaaaaaaaaa.eyJaaaaaaaaaa-"),
    repeated("-----BEGIN "),
    repeated("-----BEGIN PRIVATE KEY-----"),
    repeated("://a:"),
    `://a:${"b".repeat(MEGABYTE)}`,
    repeated("xoxb-"),
    repeated("sk-"),
    `${"\uFFFD".repeat(MEGABYTE)}x`,
    "\t".repeat(MEGABYTE),
    ` ${"\n".repeat(MEGABYTE)}x`,
    repeated(" <"),
  ];
  it.each(TEXTS.map((text) => [JSON.stringify(text.slice(0, 24)), text] as const))(
    "%s…",
    (_shown, text) => {
      const work = () => {
        redactText(text);
        redact({ [text]: [text] });
        truncate(text, MEGABYTE - 10);
        nearestName(text, [`${text}!`, "title"]);
        printable(text);
        widthOf(text.slice(0, 4_096));
        wrap(text.slice(0, 65_536), 80);
        return clip(text.slice(0, 65_536), 80);
      };
      expect(ends(work)).toBeTypeOf("string");
    },
  );

  it("and still masks what stands after a word, or is a token of three parts", () => {
    const jwt = `eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4`;
    for (const around of [jwt, `"${jwt}"`, `x=${jwt}.`, `Bearer ${jwt}`]) {
      expect(redactText(around)).not.toContain("eyJzdWIiOiIx");
    }
    expect(redactText("Authorization:  Bearer   abcdefghijklmnopqrstuvwx")).toBe(
      "Authorization:  Bearer   [redacted]",
    );
  });
});

/** A text that each of these tries for longer than anybody waits. */
const PATTERNS: [pattern: string, text: string][] = [
  ["^(a+)+$", `${"a".repeat(60)}!`],
  ["^(a|aa)+$", `${"a".repeat(90)}!`],
  ["^(.*a){20}$", `${"a".repeat(60)}!`],
  ["^(\\w+\\s?)*$", `${"a".repeat(60)}!`],
  ["a*a*a*a*a*a*a*a*b", "a".repeat(250)],
  ["\\s+$", `${" ".repeat(500_000)}!`],
  ["^(([a-z])+\\2*)+!$", "a".repeat(60)],
];

describe("a pattern of a JSON Schema that does not end is told, and nobody waits for it", () => {
  const refusal = {
    issues: [{ message: expect.stringContaining("is too slow to try on a text of") }],
  };
  it.each(PATTERNS)("%s", async (pattern, text) => {
    const schema = await prepareSchema({ type: "string", pattern });
    expect(await ends(() => schema.check(text))).toMatchObject(refusal);
  });

  it("the name of a member", async () => {
    const patternProperties = { "^(a+)+$": {} };
    const schema = await prepareSchema({ patternProperties, additionalProperties: false });
    expect(await ends(() => schema.check({ [`${"a".repeat(60)}!`]: 1 }))).toMatchObject(refusal);
  });

  it("the server refuses such an input of a run with INVALID_INPUT", async () => {
    const check = createValueCheck();
    const schema = { type: "object", properties: { name: { pattern: "^(a+)+$" } } };
    const given = { what: "the input of w", root: "input", schema } as const;
    await expect(check({ ...given, value: { name: `${"a".repeat(60)}!` } })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: /\^\(a\+\)\+\$/,
    });
    await check({ ...given, value: { name: "aaaa" } });
  });

  it("everyday patterns are tried as ever", async () => {
    const schema = await prepareSchema({ type: "string", pattern: "^[a-z]+(-[a-z]+)*$" });
    expect(await schema.check("a-good-name")).toEqual({ value: "a-good-name" });
    expect(await schema.check("A bad name")).toMatchObject({
      issues: [{ message: /must match pattern/ }],
    });
    const two = { properties: { a: { pattern: "^a$" }, b: { pattern: "^b$" } } };
    const each = await prepareSchema(two);
    expect(await each.check({ a: "a", b: "b" })).toHaveProperty("value");
    expect(await each.check({ a: "b", b: "b" })).toMatchObject({ issues: [{ path: ["a"] }] });
    const long = await prepareSchema({ type: "string", pattern: "^[a-z]+$" });
    expect(await long.check("a".repeat(500_000))).toHaveProperty("value");
  });
});
