/** One thing to be ordered, with the identities that must come before it. */
export type Node = { identity: string; dependsOn: readonly string[] };

export type Ordered<T> = {
  /** Every node, dependencies first; nodes that do not depend on each other by identity. */
  order: T[];
  /** Each circle of dependencies, as identities; their nodes are in `order` too. */
  cycles: string[][];
};

/**
 * Orders nodes so that each comes after what it depends on. The result does not depend on the order
 * given. Dependencies outside the nodes are left aside. Linear but for one sort.
 */
export function dependencyOrder<T extends Node>(nodes: readonly T[]): Ordered<T> {
  const sorted = [...nodes].sort((a, b) => (a.identity < b.identity ? -1 : 1));
  if (sorted.every((node) => node.dependsOn.length === 0)) return { order: sorted, cycles: [] };
  const order: T[] = [];
  const cycles: string[][] = [];
  for (const component of components(sorted)) {
    order.push(...component);
    const [first] = component as [T];
    if (component.length > 1 || first.dependsOn.includes(first.identity)) {
      cycles.push(component.map((node) => node.identity));
    }
  }
  return { order, cycles };
}

type Visit<T> = { node: T; next: number; index: number; low: number; open: boolean };

// Tarjan's strongly connected components come out dependencies first. Without recursion: a chain
// of ten thousand resources must not end at the stack's limit.
function components<T extends Node>(nodes: readonly T[]): T[][] {
  const byIdentity = new Map(nodes.map((node) => [node.identity, node]));
  const visits = new Map<string, Visit<T>>();
  const found: T[][] = [];
  const open: Visit<T>[] = [];
  const path: Visit<T>[] = [];
  const begin = (node: T): void => {
    const index = visits.size;
    const visit = { node, next: 0, index, low: index, open: true };
    visits.set(node.identity, visit);
    open.push(visit);
    path.push(visit);
  };
  for (const root of nodes) {
    if (!visits.has(root.identity)) begin(root);
    for (let visit = path.at(-1); visit; visit = path.at(-1)) {
      const next = visit.node.dependsOn[visit.next];
      if (next !== undefined) {
        visit.next += 1;
        const seen = visits.get(next);
        const node = byIdentity.get(next);
        if (seen?.open) visit.low = Math.min(visit.low, seen.index);
        else if (!seen && node) begin(node);
        continue;
      }
      path.pop();
      const parent = path.at(-1);
      if (parent) parent.low = Math.min(parent.low, visit.low);
      if (visit.low === visit.index) found.push(close(open, visit));
    }
  }
  return found;
}

function close<T extends Node>(open: Visit<T>[], root: Visit<T>): T[] {
  const component = open.splice(open.lastIndexOf(root));
  for (const visit of component) visit.open = false;
  return component.map((visit) => visit.node).sort((a, b) => (a.identity < b.identity ? -1 : 1));
}
