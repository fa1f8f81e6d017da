import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlainSchema } from "../../src/sources/plain-schema.ts";
import { prepareSchema } from "../../src/sources/schema.ts";

const options = { strict: false, allErrors: true };
const drafts = [new Ajv(options), new Ajv2020(options)];
for (const ajv of drafts) addFormats.default(ajv);

const KEYWORDS = (
  "type properties required items additionalProperties enum const default title description " +
  "format minLength maximum uniqueItems allOf anyOf oneOf not if contains minItems writeOnly " +
  "secret x-secret examples pattern $ref multipleOf dependentRequired definitions minContains"
).split(" ");

/** Schemas as people write them, and everything that may stand where a schema should. */
const { schema } = fc.letrec<{ schema: unknown; value: unknown }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.boolean(),
    fc.dictionary(fc.constantFrom(...KEYWORDS), tie("value"), { maxKeys: 4 }),
  ),
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("string", "object", "integer", "a", -1, 0, 1, 1.5, true, false, null),
    tie("schema"),
    fc.array(tie("schema"), { maxLength: 3 }),
    fc.array(fc.constantFrom("string", "object", "a", "b"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 2 }),
  ),
}));

describe("a plain schema", () => {
  it("fits the meta-schema of every draft", () => {
    let plain = 0;
    fc.assert(
      fc.property(schema, (candidate) => {
        if (!isPlainSchema(candidate)) return;
        plain += 1;
        for (const ajv of drafts) {
          expect(ajv.validateSchema(candidate as object)).toBe(true);
        }
      }),
      { numRuns: 3_000 },
    );
    expect(plain).toBeGreaterThan(100);
  });

  it("is what specs usually have", () => {
    const everyday = {
      type: "object",
      properties: {
        name: { type: "string", minLength: 1 },
        token: { type: ["string", "null"], writeOnly: true },
        tags: { type: "array", items: { enum: ["a", "b"] }, uniqueItems: true, default: [] },
      },
      required: ["name"],
      additionalProperties: false,
    };
    expect(isPlainSchema(everyday)).toBe(true);
  });

  it.each([
    [{ properties: { a: 5 } }],
    [{ minLength: -1 }],
    [{ required: ["a", "a"] }],
    [{ type: "strin" }],
    [{ allOf: [] }],
  ])("is not %j, which is refused", async (malformed) => {
    expect(isPlainSchema(malformed)).toBe(false);
    await expect(prepareSchema(malformed)).rejects.toThrow("schema is invalid");
  });

  it("is none that refers to itself", () => {
    const circular: Record<string, unknown> = {};
    circular["not"] = circular;
    expect(isPlainSchema(circular)).toBe(false);
  });
});
