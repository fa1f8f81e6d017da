import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffFields } from "../../src/diff/fields.ts";
import { parseSecretPaths } from "../../src/diff/path.ts";
import type { Json } from "../../src/model/canonical.ts";
import { canonicalJson } from "../../src/model/canonical.ts";
import { applyChanges } from "./apply-changes.ts";
import { jsonValue, namedItems } from "./arbitraries.ts";

describe("the structural diff", () => {
  it("names each field that differs by its path", () => {
    const before = { merge: { method: "squash", delete: true }, "odd name": 1, same: [1] };
    const after = { merge: { method: "rebase" }, "odd name": 2, same: [1], added: null };
    expect(diffFields(before, after, "spec")).toEqual([
      { path: "spec.added", after: null },
      { path: "spec.merge.delete", before: true },
      { path: "spec.merge.method", before: "squash", after: "rebase" },
      { path: 'spec["odd name"]', before: 1, after: 2 },
    ]);
  });

  it("shows a change of kind as a whole", () => {
    expect(diffFields({ a: [1] }, { a: { 0: 1 } })).toEqual([
      { path: "a", before: [1], after: { 0: 1 } },
    ]);
    expect(diffFields({ a: null }, { a: false })).toEqual([
      { path: "a", before: null, after: false },
    ]);
  });

  it("matches items by position where they have no names", () => {
    expect(diffFields([1, 2, 3], [1, 4], "list")).toEqual([
      { path: "list[1]", before: 2, after: 4 },
      { path: "list[2]", before: 3 },
    ]);
  });

  it.each(["key", "id", "name"])("matches items by %s where all have a unique one", (field) => {
    const item = (value: string, run: string) => ({ [field]: value, run });
    const before = [item("lint", "a"), item("build", "b"), item("old", "c")];
    const after = [item("lint", "a"), item("build", "B"), item("new one", "d")];
    expect(diffFields(before, after, "steps")).toEqual([
      { path: `steps[${field}=build].run`, before: "b", after: "B" },
      { path: `steps[${field}=old]`, before: item("old", "c") },
      { path: `steps[${field}="new one"]`, after: item("new one", "d") },
    ]);
  });

  it.each([
    ["one has none", [{ name: "a" }, { other: 1 }]],
    ["two have the same", [{ name: "a" }, { name: "a", x: 1 }]],
    ["one is no text", [{ name: "a" }, { name: null }]],
  ])("falls back to position where %s", (_, before) => {
    expect(diffFields(before, [{ name: "z" }], "x").map(({ path }) => path)).toEqual([
      "x[0].name",
      "x[1]",
    ]);
  });

  it("says so when named items only change their order", () => {
    const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }] as const;
    expect(diffFields([a, b], [b, a], "steps")).toEqual([
      { path: "steps[]", before: ["a", "b"], after: ["b", "a"] },
    ]);
    expect(diffFields([a, b], [c, a, b], "steps")).toEqual([
      { path: "steps[name=c]", after: c },
      { path: "steps[]", before: ["a", "b"], after: ["c", "a", "b"] },
    ]);
  });

  it("tells the number 1 from the text 1 in names", () => {
    expect(diffFields([{ id: 1 }], [{ id: "1" }], "x").map(({ path }) => path)).toEqual([
      "x[id=1]",
      'x[id="1"]',
    ]);
  });

  it("does not look into secret parts, and never names items by a secret", () => {
    const secrets = parseSecretPaths(["auth", "users[].name"]);
    const before = { auth: { a: 1 }, users: [{ name: "x", age: 1 }] };
    const after = { auth: { a: 2 }, users: [{ name: "x", age: 2 }] };
    expect(diffFields(before, after, "", secrets)).toEqual([
      { path: "auth", before: { a: 1 }, after: { a: 2 } },
      { path: "users[0].age", before: 1, after: 2 },
    ]);
  });

  it("compares secret parts by what they hold", () => {
    const secrets = parseSecretPaths(["auth", "list[].token"]);
    const value = () => ({ auth: { a: [1, { b: 2 }] }, list: [{ token: "x" }] });
    expect(diffFields(value(), value(), "", secrets)).toEqual([]);
  });

  it("finds members that only look like an object's own", () => {
    const before = JSON.parse('{"__proto__": 1, "constructor": 1}') as Json;
    expect(diffFields(before, {})).toEqual([
      { path: "__proto__", before: 1 },
      { path: "constructor", before: 1 },
    ]);
  });
});

describe("the structural diff of any two values", () => {
  it("gives the second value when it is applied to the first", () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (before, after) => {
        const changes = diffFields(before, after, "spec");
        expect(canonicalJson(applyChanges(before, changes))).toBe(canonicalJson(after));
      }),
      { numRuns: 500 },
    );
  });

  it("gives the second list when items have names", () => {
    fc.assert(
      fc.property(namedItems, namedItems, (before, after) => {
        const changes = diffFields(before, after, "spec");
        expect(canonicalJson(applyChanges(before, changes))).toBe(canonicalJson(after));
      }),
      { numRuns: 500 },
    );
  });

  it("is empty if and only if the canonical texts are the same", () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (before, after) => {
        expect(diffFields(before, JSON.parse(canonicalJson(before)) as Json)).toEqual([]);
        expect(diffFields(before, after).length === 0).toBe(
          canonicalJson(before) === canonicalJson(after),
        );
      }),
    );
  });
});
