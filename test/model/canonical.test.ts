import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, fingerprint } from "../../src/model/canonical.ts";
import { LIMITS } from "../../src/model/limits.ts";

/** The same value with the members of every object in another order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, shuffled(member)]),
  );
}

describe("canonical JSON", () => {
  it("A-9: does not depend on key order, white space, number spelling or absent members", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const canonical = canonicalJson(value);
        expect(canonicalJson(shuffled(value))).toBe(canonical);
        expect(canonicalJson(JSON.parse(JSON.stringify(value, null, 3)))).toBe(canonical);
      }),
    );
    expect(canonicalJson(JSON.parse('{"a": 1.0, "b": 1e2, "c": -0}'))).toBe(
      '{"a":1,"b":100,"c":0}',
    );
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  it("keeps every JSON value: reading it back gives the value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const back: unknown = JSON.parse(canonicalJson(value));
        expect(canonicalJson(back)).toBe(canonicalJson(value));
        expect(back).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("gives different values different fingerprints", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
        const equal = canonicalJson(left) === canonicalJson(right);
        expect(fingerprint(left) === fingerprint(right)).toBe(equal);
      }),
    );
    expect(fingerprint({ a: 1 })).not.toBe(fingerprint({ a: "1" }));
    expect(fingerprint([1, 2])).not.toBe(fingerprint([2, 1]));
  });

  it("LIMITS.nesting: a value that deep is kept, and a deeper one refused", () => {
    const nested = (depth: number): unknown =>
      JSON.parse("[".repeat(depth - 1) + "{}" + "]".repeat(depth - 1));
    expect(canonicalJson(nested(LIMITS.nesting))).toContain("{}");
    for (const depth of [LIMITS.nesting + 1, 1_000_000]) {
      expect(() => canonicalJson(nested(depth))).toThrow(
        expect.objectContaining({
          code: "TOO_LARGE",
          message: expect.stringContaining("deeper than 500"),
        }),
      );
    }
  });

  it.each([
    ["a date", { when: new Date(0) }, "when is Date"],
    ["a function", { a: [() => 1] }, "a[0] is function"],
    ["NaN", { a: { "b c": Number.NaN } }, 'a["b c"] is NaN'],
    ["undefined in an array", [undefined], "[0] is undefined"],
    ["a bigint", { n: 1n }, "n is bigint"],
    ["a map", new Map(), "the value is Map"],
  ])("refuses %s and names the place", (_name, value, message) => {
    expect(() => canonicalJson(value)).toThrow(
      expect.objectContaining({
        code: "NOT_JSON",
        message: expect.stringContaining(message) as string,
      }),
    );
  });

  it("refuses a circle, but not one value used twice", () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(() => canonicalJson(circle)).toThrow("self is a circular reference");
    const shared = { a: 1 };
    expect(canonicalJson([shared, shared])).toBe('[{"a":1},{"a":1}]');
  });

  it("is not fooled by members named like Object's own", () => {
    const value: unknown = JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}');
    expect(canonicalJson(value)).toBe('{"__proto__":{"x":1},"constructor":2}');
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });
});
