import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { secretValues } from "../../src/diff/secret-values.ts";
import { truncate } from "../../src/model/limits.ts";
import { maskSecrets, maskSecretsIn, SHORTEST_SECRET } from "../../src/model/secret-text.ts";

describe("the secret values of a spec", () => {
  it("are the texts and numbers at its secret paths, longest first", () => {
    const spec = {
      user: "somebody",
      password: "pass-word",
      pin: 123_456,
      users: [{ name: "ada", token: "token-of-ada" }, { token: "tokn" }],
      env: { A: "value-of-a", "b c": "value-of-b" },
    };
    const paths = ["password", "pin", "users[].token", "env.*"];
    expect(secretValues(spec, paths)).toEqual([
      "token-of-ada",
      "value-of-a",
      "value-of-b",
      "pass-word",
      "123456",
      "tokn",
    ]);
  });

  it("are everything inside a value that is secret whole, or has another shape than its path", () => {
    const spec = { all: { deep: ["one-deep", { two: "two-deep" }] }, users: "not a list" };
    expect(secretValues(spec, ["all", "users[].token"])).toEqual([
      "not a list",
      "one-deep",
      "two-deep",
    ]);
  });

  it("include how JSON writes them inside a text", () => {
    expect(secretValues({ key: 'a"b\nc' }, ["key"])).toEqual(['a\\"b\\nc', 'a"b\nc']);
  });

  it("are none where they are shorter than four characters, or no text and no number", () => {
    const spec = { a: "abc", b: 999, c: true, d: null, e: "", f: "abcd", g: 1000 };
    expect(secretValues(spec, Object.keys(spec))).toEqual(["abcd", "1000"]);
  });

  it("are none of a manager that marks nothing", () => {
    expect(secretValues({ password: "pass-word" }, [])).toEqual([]);
    expect(secretValues({ user: "ada" }, ["password"])).toEqual([]);
    expect(secretValues({ auth: null, list: [] }, ["auth.token", "list[].token"])).toEqual([]);
  });
});

describe("masking values", () => {
  it("finds them deep inside: in texts, as numbers, as names of members", () => {
    const secrets = ["hush-hush", "12345"];
    const value = {
      text: "it is hush-hush, hush-hush!",
      list: [12_345, 12, true, null, "hush"],
      "hush-hush": { n: "no. 12345" },
    };
    expect(maskSecretsIn(value, secrets)).toEqual({
      text: "it is [secret], [secret]!",
      list: ["[secret]", 12, true, null, "hush"],
      "[secret]": { n: "no. [secret]" },
    });
  });

  it("hides what is left of a secret where a text was cut in its middle", () => {
    const cut = truncate(`${"x".repeat(80)}hush-hush-secret`, 95);
    expect(cut).toContain("hush");
    expect(maskSecrets(cut, ["hush-hush-secret"])).toBe(`${"x".repeat(80)}[secret]… (cut)`);
  });

  it("no text holds a secret afterwards, however it was said", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", minLength: SHORTEST_SECRET, maxLength: 30 }),
        fc.string({ maxLength: 20 }),
        fc.string({ maxLength: 20 }),
        (secret, before, after) => {
          fc.pre(!"[secret]".includes(secret) && !`${before}[secret]${after}`.includes(secret));
          const secrets = secretValues({ secret }, ["secret"]);
          const quoted = JSON.stringify({ said: `${before}${secret}${after}` });
          expect(maskSecrets(`${before}${secret}${after}`, secrets)).not.toContain(secret);
          expect(maskSecrets(quoted, secrets)).not.toContain(JSON.stringify(secret).slice(1, -1));
        },
      ),
      { numRuns: 300 },
    );
  });
});
