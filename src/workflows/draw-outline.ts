import type { Graph, GraphNode, Target } from "../model/graph.ts";

/** One way on from a node, as it is drawn. Paths are those of the flat graph. */
export type DrawnWay = {
  kind: "next" | "case" | "branch" | "failure";
  /** The choice or exit that leads there. */
  label?: string;
  to: string;
  loop?: { max: number; exhausted: string };
};

/** A workflow of a graph (the outermost, or what an include expands to) as it is drawn. */
export type Outline = {
  startAt: string;
  waysOf: (path: string) => readonly DrawnWay[];
  /**
   * What is drawn below a node at its own level: what can only be reached through it, but is not
   * drawn as a part of one of its ways.
   */
  followersOf: (path: string) => readonly string[];
  /** Whether the node that a way leads to is drawn as a part of it: nothing else leads there. */
  isNested: (from: string, way: DrawnWay, to: string) => boolean;
};

/** The last step of a path: `run-tests` of `review/run-tests`. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Whether a path is an end of its workflow rather than a node. */
export function isEnd(path: string): boolean {
  return nameOf(path).startsWith("end:");
}

/** The ways on from a node; those of an include are the ways on from its exits. */
export function waysOf({ nodes, edges }: Graph, path: string): DrawnWay[] {
  const node: GraphNode | undefined = nodes[path];
  if (node?.kind === "include") {
    const exits = node.cases ?? [];
    return exits.flatMap((exit) => {
      const target = edges[`${path}/end:${exit}`]?.next;
      if (target === undefined) return [];
      return [exits.length === 1 ? way("next", target) : way("case", target, exit)];
    });
  }
  const edge = edges[path];
  if (edge === undefined) return [];
  return [
    ...(edge.next === undefined ? [] : [way("next", edge.next)]),
    ...(edge.parallel?.branches ?? []).map((to): DrawnWay => ({ kind: "branch", to })),
    ...Object.entries(edge.cases ?? {}).map(([label, target]) => way("case", target, label)),
    ...(edge.failure === undefined ? [] : [way("failure", edge.failure)]),
  ];
}

function way(kind: DrawnWay["kind"], { to, loop }: Target, label?: string): DrawnWay {
  return { kind, to, ...(loop ? { loop } : {}), ...(label === undefined ? {} : { label }) };
}

/** Where a way leads without going back. */
export function onwardOf({ to, loop }: DrawnWay): string {
  return loop?.exhausted ?? to;
}

/** Lays a workflow out by what can be reached only through what (its dominators). */
export function outline(graph: Graph, startAt: string): Outline {
  const ways = new Map<string, readonly DrawnWay[]>();
  const order = topological(startAt, (path) => {
    const found = waysOf(graph, path);
    ways.set(path, found);
    return found.map(onwardOf).filter((to) => !isEnd(to));
  });
  const arrivals = arrivalsOf(order, ways);
  const parents = dominators(order, arrivals);
  const isNested: Outline["isNested"] = (from, { kind, loop }, to) =>
    (kind !== "next" || loop !== undefined) &&
    parents.get(to) === from &&
    arrivals.get(to)?.length === 1;
  const followers = new Map<string, string[]>();
  for (const path of order) {
    const parent = parents.get(path);
    if (parent === undefined) continue;
    const on = ways.get(parent) ?? [];
    if (on.some((one) => onwardOf(one) === path && isNested(parent, one, path))) continue;
    followers.set(parent, [...(followers.get(parent) ?? []), path]);
  }
  return {
    startAt,
    waysOf: (path) => ways.get(path) ?? [],
    followersOf: (path) => followers.get(path) ?? [],
    isNested,
  };
}

/** All that can be reached, each after what leads there. Without recursion: graphs may be deep. */
function topological(startAt: string, next: (path: string) => string[]): string[] {
  const left: string[] = [];
  const seen = new Set([startAt]);
  const stack = [{ path: startAt, ahead: next(startAt).toReversed() }];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const to = top.ahead.shift();
    if (to === undefined) {
      stack.pop();
      left.push(top.path);
    } else if (!seen.has(to)) {
      seen.add(to);
      stack.push({ path: to, ahead: next(to).toReversed() });
    }
  }
  return left.reverse();
}

function arrivalsOf(
  order: readonly string[],
  ways: ReadonlyMap<string, readonly DrawnWay[]>,
): Map<string, string[]> {
  const arrivals = new Map<string, string[]>();
  for (const path of order) {
    for (const one of ways.get(path) ?? []) {
      const to = onwardOf(one);
      const known = arrivals.get(to);
      if (known === undefined) arrivals.set(to, [path]);
      else known.push(path);
    }
  }
  return arrivals;
}

/** For each node the last one that every way to it goes through. */
function dominators(
  order: readonly string[],
  arrivals: ReadonlyMap<string, readonly string[]>,
): Map<string, string> {
  const index = new Map(order.map((path, at) => [path, at]));
  const parents = new Map<string, string>();
  const at = (path: string) => index.get(path) ?? 0;
  const common = (one: string, other: string): string => {
    let [left, right] = [one, other];
    while (left !== right) {
      if (at(left) > at(right)) left = parents.get(left) ?? (order[0] as string);
      else right = parents.get(right) ?? (order[0] as string);
    }
    return left;
  };
  for (const path of order.slice(1)) {
    const from = arrivals.get(path) ?? [];
    parents.set(path, from.reduce(common));
  }
  return parents;
}
