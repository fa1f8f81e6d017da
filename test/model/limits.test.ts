import fc from "fast-check";
import { expect, it } from "vitest";
import { byteLength, LIMITS, truncate } from "../../src/model/limits.ts";
import { manifestSchema } from "../../src/model/manifest.ts";

it("truncate keeps what fits and never cuts a character in half", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.integer({ min: 16, max: 120 }),
      (text, bytes) => {
        const cut = truncate(text.toWellFormed(), bytes);
        expect(byteLength(cut)).toBeLessThanOrEqual(bytes);
        if (byteLength(text.toWellFormed()) <= bytes) expect(cut).toBe(text.toWellFormed());
        else expect(cut.endsWith("… (cut)")).toBe(true);
      },
    ),
  );
});

const manifest = { resourceManager: "m", key: "k", spec: {} };
const accepts = (change: object) => manifestSchema.safeParse({ ...manifest, ...change }).success;

it.each([
  ["key", (n: number) => ({ key: "k".repeat(n) }), LIMITS.key],
  ["manager name", (n: number) => ({ resourceManager: "m".repeat(n) }), LIMITS.name],
  ["label value", (n: number) => ({ labels: { a: "v".repeat(n) } }), LIMITS.label],
  ["label name", (n: number) => ({ labels: { ["l".repeat(n)]: "v" } }), LIMITS.label],
  [
    "labels",
    (n: number) => ({
      labels: Object.fromEntries(Array.from({ length: n }, (_, i) => [`l${i}`, ""])),
    }),
    LIMITS.labels,
  ],
  [
    "dependsOn",
    (n: number) => ({ dependsOn: Array.from({ length: n }, (_, i) => `m/${i}`) }),
    LIMITS.dependsOn,
  ],
])("a manifest may have a %s at its limit and not past it", (_name, change, limit) => {
  expect(accepts(change(limit))).toBe(true);
  expect(accepts(change(limit + 1))).toBe(false);
});

it("a manifest needs its identity and a spec, and no unknown field", () => {
  expect(accepts({})).toBe(true);
  expect(accepts({ spec: undefined })).toBe(false);
  expect(accepts({ key: "" })).toBe(false);
  expect(accepts({ key: " padded" })).toBe(false);
  expect(accepts({ key: "a\u001b[31mb" })).toBe(false);
  expect(accepts({ resourceManager: "Not Valid" })).toBe(false);
  expect(accepts({ extra: 1 })).toBe(false);
});
