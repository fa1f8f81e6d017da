import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dependencyOrder, type Node } from "../../src/diff/order.ts";

const NAMES = ["a", "b", "c", "d", "e", "f"];

/** Nodes of any form: circles, nodes that need themselves, and names that stand for nothing. */
const graphs: fc.Arbitrary<Node[]> = fc
  .tuple(
    ...NAMES.map((identity) =>
      fc.record({
        identity: fc.constant(identity),
        dependsOn: fc.uniqueArray(fc.constantFrom(...NAMES, "outside"), { maxLength: 3 }),
      }),
    ),
  )
  .chain((nodes) => fc.shuffledSubarray(nodes));

/** What each node leads to, itself only where it is in a circle; written apart from the code under test. */
function reachable(nodes: readonly Node[]): Map<string, Set<string>> {
  const known = new Set(nodes.map(({ identity }) => identity));
  const reach = new Map(
    nodes.map((node) => [node.identity, new Set(node.dependsOn.filter((name) => known.has(name)))]),
  );
  for (const through of known) {
    for (const ends of reach.values()) {
      if (ends.has(through)) for (const end of reach.get(through) ?? []) ends.add(end);
    }
  }
  return reach;
}

const identities = (nodes: readonly Node[]) => nodes.map(({ identity }) => identity);

describe("the order of dependencies", () => {
  it("A-2: is the same for the nodes in any order", () => {
    fc.assert(
      fc.property(graphs, (nodes) => {
        const sorted = [...nodes].sort((one, other) => (one.identity < other.identity ? -1 : 1));
        expect(dependencyOrder(nodes)).toEqual(dependencyOrder(sorted));
      }),
    );
  });

  it("puts each node once, after what it depends on unless that is in one circle with it", () => {
    fc.assert(
      fc.property(graphs, (nodes) => {
        const reach = reachable(nodes);
        const order = identities(dependencyOrder(nodes).order);
        expect([...order].sort()).toEqual(identities(nodes).sort());
        for (const [later, name] of order.entries()) {
          for (const needed of reach.get(name) ?? []) {
            if (reach.get(needed)?.has(name)) continue;
            expect(order.indexOf(needed)).toBeLessThan(later);
          }
        }
      }),
    );
  });

  it("finds each circle once, its members by name, and nothing that only leads into one", () => {
    fc.assert(
      fc.property(graphs, (nodes) => {
        const reach = reachable(nodes);
        const circles = identities(nodes)
          .filter((name) => reach.get(name)?.has(name))
          .map((name) =>
            [...(reach.get(name) ?? [])].filter((other) => reach.get(other)?.has(name)).sort(),
          );
        const found = dependencyOrder(nodes).cycles.map((circle) => circle.join());
        expect([...found].sort()).toEqual(
          [...new Set(circles.map((circle) => circle.join()))].sort(),
        );
      }),
    );
  });

  it("is by name where nothing depends on anything, and within a circle", () => {
    const free = ["c", "a", "b"].map((identity) => ({ identity, dependsOn: [] }));
    expect(identities(dependencyOrder(free).order)).toEqual(["a", "b", "c"]);
    const circle = [
      { identity: "c", dependsOn: ["b"] },
      { identity: "a", dependsOn: ["c"] },
      { identity: "b", dependsOn: ["a"] },
      { identity: "d", dependsOn: [] },
    ];
    expect(identities(dependencyOrder(circle).order)).toEqual(["a", "b", "c", "d"]);
  });
});
