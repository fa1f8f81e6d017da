import { describe, expect, it } from "vitest";
import { locateProperty } from "../../src/sources/locate-property.ts";

/** The line of `text`, from 1, on which the property stands; its call begins at `define`. */
function lineOf(text: string, ...path: string[]): number | undefined {
  const offset = locateProperty(text, text.indexOf("define("), path);
  return offset === undefined ? undefined : text.slice(0, offset).split("\n").length;
}

const TEXT = `const a = other({ edges: { one: 1 } });
export default define({
  name: "x", // { edges: { one: 0 } }
  pattern: /[{"]+\\//,
  text: \`{ edges: "\${"no"}" }\`, /* { */ half: 1 / 2, apostrophe: "it's {",
  fetch: async ({ edges }) => ({ one: edges }),
  nodes: { one, "two three": make({ edges: 1 }) },
  edges: {
    one: { yes: "a",
      no: "b" },
    'two three': end("x"),
  },
});
`;

describe("where a property of a literal stands", () => {
  it("is found through nested literals, past texts, comments and functions that look alike", () => {
    expect(lineOf(TEXT, "name")).toBe(3);
    expect(lineOf(TEXT, "half")).toBe(5);
    expect(lineOf(TEXT, "edges")).toBe(8);
    expect(lineOf(TEXT, "edges", "one")).toBe(9);
    expect(lineOf(TEXT, "edges", "one", "no")).toBe(10);
    expect(lineOf(TEXT, "edges", "two three")).toBe(11);
    expect(lineOf(TEXT, "nodes", "one")).toBe(7);
  });

  it("is that of what is around it, where there is no literal to look into", () => {
    expect(lineOf(TEXT, "edges", "two three", "failure")).toBe(11);
    expect(lineOf(TEXT, "edges", "three")).toBe(8);
    expect(lineOf(TEXT, "exits")).toBeUndefined();
    expect(lineOf("export default define(made);\nconst made = { edges: {} };", "edges")).toBe(
      undefined,
    );
    expect(lineOf("define({ edges: {", "edges", "one")).toBe(1);
  });
});
