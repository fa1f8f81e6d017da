import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blame } from "../../src/diff/blame.ts";
import type { Json } from "../../src/model/canonical.ts";

const indexes = (values: Json[]) =>
  Object.fromEntries(blame(values, "spec").map(({ path, index }) => [path, index]));

const indexesOf = (...values: Json[]) => Object.values(indexes(values));

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

  it("takes items by their place where not all have a name of their own", () => {
    const lists: Json[][] = [
      [
        { name: "a", x: 1 },
        { name: "a", x: 2 },
      ],
      [{ name: "a", x: 1 }, { x: 2 }],
      [{ name: null }, null],
      ["a", "b"],
    ];
    for (const list of lists) {
      const paths = blame([list, []], "s").map(({ path }) => path);
      expect(paths.every((path) => /^s\[[01]\]/.test(path))).toBe(true);
      expect(new Set(indexesOf(list, [...list].reverse()))).not.toEqual(new Set([1]));
    }
  });

  it("follows items by a number too, also where the list was something else before", () => {
    const now = [
      { id: 2, x: 1 },
      { id: 1, x: 1 },
    ];
    const before = [
      { id: 1, x: 1 },
      { id: 2, x: 0 },
    ];
    expect(indexes([now, before, [], "none", null])).toEqual({
      "spec[id=2].id": 1,
      "spec[id=2].x": 0,
      "spec[id=1].id": 1,
      "spec[id=1].x": 1,
    });
  });

  it("says nothing of no values, and takes a list that became longer, or another kind, as changed", () => {
    expect(blame([], "spec")).toEqual([]);
    expect(indexes([[1, 2], [1]])).toEqual({ "spec[0]": 1, "spec[1]": 0 });
    expect(indexes([{ a: { b: 1 } }, { a: [1] }, { a: "b" }])).toEqual({ "spec.a.b": 0 });
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
