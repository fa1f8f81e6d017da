import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blame } from "../../src/diff/blame.ts";
import type { Json } from "../../src/model/canonical.ts";

const indexes = (values: Json[]) =>
  Object.fromEntries(blame(values, "spec").map(({ path, index }) => [path, index]));

describe("blame", () => {
  it("names for each field the value that last changed it", () => {
    const values = [
      { a: 3, b: { c: 1, d: 2 }, e: [] },
      { a: 2, b: { c: 1, d: 2 }, e: [] },
      { a: 2, b: { c: 1 } },
      { a: 1, b: { c: 1 } },
    ];
    expect(indexes(values)).toEqual({ "spec.a": 0, "spec.b.c": 3, "spec.b.d": 1, "spec.e": 1 });
  });

  it("follows items by their name, wherever they stand", () => {
    const values = [
      {
        steps: [
          { name: "build", run: "make" },
          { name: "test", run: "make test" },
        ],
      },
      {
        steps: [
          { name: "test", run: "make check" },
          { name: "build", run: "make" },
        ],
      },
    ];
    expect(indexes(values)).toEqual({
      "spec.steps[name=build].name": 1,
      "spec.steps[name=build].run": 1,
      "spec.steps[name=test].name": 1,
      "spec.steps[name=test].run": 0,
    });
  });

  it("counts a field that came back as changed when it came back", () => {
    expect(indexes([{ a: 1 }, { a: 2 }, { a: 1 }])).toEqual({ "spec.a": 0 });
  });

  it("blames the oldest for what never changed, whatever the value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 5 }), (value, count) => {
        const copies = Array.from(
          { length: count },
          () => JSON.parse(JSON.stringify(value)) as Json,
        );
        const found = blame(copies, "spec").map(({ index }) => index);
        expect(new Set(found)).toEqual(new Set([count - 1]));
      }),
    );
  });
});
