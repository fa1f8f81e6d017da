import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, fingerprint } from "../../src/model/canonical.ts";
import { redact } from "../../src/model/redact.ts";
import { printable, printableLines } from "../../src/model/text.ts";
import { prepareSchema } from "../../src/sources/schema.ts";
import { changed, expectUnpolluted, mangled, tries } from "./support/inputs.ts";
import { readSpecFile, refusesOrGives } from "./support/reading.ts";
import { MANIFEST, SPEC_TEXTS } from "./support/spec-texts.ts";

const values = changed([MANIFEST, [MANIFEST, MANIFEST]]);

describe("a JSON spec file is manifests or problems with places", () => {
  it("with bytes changed", () => {
    fc.assert(fc.property(mangled(fc.constantFrom(...SPEC_TEXTS)), readSpecFile), tries(13_000));
    expectUnpolluted();
  });

  it("with places changed", () => {
    const text = values.map((value) => Buffer.from(JSON.stringify(value) ?? ""));
    fc.assert(fc.property(text, readSpecFile), tries(7_000));
    expectUnpolluted();
  });

  it.each([
    ["[", "]"],
    ['{"a":', "}"],
    ["//\n[", "]"],
  ])("nested without end: %s", (open, close) => {
    for (const depth of [400, 5_000, 200_000]) {
      readSpecFile(Buffer.from(open.repeat(depth)));
      readSpecFile(Buffer.from(`${open.repeat(depth)}1${close.repeat(depth)}`));
    }
  });
});

describe("any JSON value", () => {
  it("has a fingerprint, or is refused with a code, and is masked without a fault", () => {
    fc.assert(
      fc.property(values, (value) => {
        refusesOrGives(() => fingerprint(value));
        refusesOrGives(() => canonicalJson(redact(JSON.parse(canonicalJson(value)))));
      }),
      tries(3_000),
    );
    expectUnpolluted();
  });

  it("is checked by a schema without a fault", async () => {
    const schema = await prepareSchema({
      type: "object",
      required: ["key"],
      properties: {
        key: { type: "string", pattern: "^[a-z]" },
        spec: { type: "object", properties: { merge: { default: {} } } },
        labels: { additionalProperties: { enum: ["a", "b"] } },
      },
      additionalProperties: false,
    });
    await fc.assert(
      fc.asyncProperty(values, async (value) => {
        const checked = await schema.check(value);
        expect("value" in checked || checked.issues.length > 0).toBe(true);
      }),
      tries(3_000),
    );
    expectUnpolluted();
  });
});

describe("any text", () => {
  const controls = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/;
  it("is shown without what a terminal obeys", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(printable(text)).not.toMatch(controls);
        expect(printable(text)).not.toContain("\n");
        expect(printableLines(text).replaceAll("\t", "")).not.toMatch(controls);
      }),
      tries(5_000),
    );
  });
});
