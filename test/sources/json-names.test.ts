import { expect, it } from "vitest";
import { findProto } from "../../src/sources/json-names.ts";

it("a foreign member is found wherever it is, also among values that lead back to each other", () => {
  type Node = { parent?: Node; children: Node[]; last?: unknown };
  const grow = (depth: number, parent?: Node): Node => {
    const node: Node = { ...(parent ? { parent } : {}), children: [] };
    if (depth > 0) node.children.push(grow(depth - 1, node), grow(depth - 1, node));
    return node;
  };
  const root = grow(8);
  expect(findProto(root)).toBeUndefined();
  root.last = JSON.parse('{ "a": [{ "__proto__": 1 }] }');
  expect(findProto(root)).toBe("last.a[0].__proto__");
});
