import type { Graph, GraphNode } from "../model/graph.ts";
import { type DrawnWay, isEnd, nameOf, waysOf } from "./draw-outline.ts";

/** Draws a graph as a Mermaid flowchart: what is included is a box of its own. */
export function drawMermaid(graph: Graph): string {
  const ids = new Map(Object.keys(graph.nodes).map((path, index) => [path, `n${index}`]));
  const idOf = (path: string) => ids.get(path) ?? "n";
  const lines = ["flowchart TD", `  start(( )) --> ${idOf(graph.startAt)}`];
  addScope("", "  ", { lines, idOf, scopes: scopesOf(graph) });
  for (const path of Object.keys(graph.nodes)) {
    for (const line of edgesOf(graph, path, idOf)) lines.push(`  ${line}`);
  }
  return lines.join("\n");
}

type IdOf = (path: string) => string;
type Scopes = ReadonlyMap<string, readonly [string, GraphNode][]>;

/** The nodes of each workflow, by the path of the include around it. */
function scopesOf({ nodes }: Graph): Scopes {
  const scopes = new Map<string, [string, GraphNode][]>();
  for (const [path, node] of Object.entries(nodes)) {
    const scope = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    const known = scopes.get(scope);
    if (known === undefined) scopes.set(scope, [[path, node]]);
    else known.push([path, node]);
  }
  return scopes;
}

function addScope(
  scope: string,
  margin: string,
  drawing: { lines: string[]; idOf: IdOf; scopes: Scopes },
): void {
  const { lines, idOf, scopes } = drawing;
  for (const [path, node] of scopes.get(scope) ?? []) {
    const drawn = idOf(path) + shape(path, node);
    if (node.kind !== "include") {
      lines.push(margin + drawn);
      continue;
    }
    lines.push(`${margin}subgraph ${idOf(path)}s[${label(node.title ?? "")}]`);
    lines.push(`${margin}  ${drawn}`);
    addScope(path, `${margin}  `, drawing);
    lines.push(`${margin}end`);
  }
}

function shape(path: string, node: GraphNode): string {
  const name = isEnd(path) ? nameOf(path).slice("end:".length) : nameOf(path);
  const title =
    node.title === undefined || node.kind === "include" ? name : `${name}: ${node.title}`;
  const text = label(title);
  switch (node.kind) {
    case "decision":
      return `{${text}}`;
    case "checkpoint":
      return `[/${text}/]`;
    case "shell":
      return `[[${text}]]`;
    case "agent":
      return `{{${text}}}`;
    case "include":
    case "exit":
    case "result":
      return `([${text}])`;
    case "compute":
    case "action":
      return `[${text}]`;
  }
}

function edgesOf(graph: Graph, path: string, idOf: IdOf): string[] {
  // The ways of an include are those of its exits, which are nodes here.
  const inner = graph.nodes[path]?.kind === "include" ? graph.edges[path]?.next : undefined;
  const ways: readonly DrawnWay[] = inner ? [{ kind: "next", to: inner.to }] : waysOf(graph, path);
  return ways.flatMap((way) => {
    const named = way.kind === "failure" ? "on failure" : way.label;
    const from = idOf(path);
    if (way.loop === undefined) {
      const arrow = way.kind === "branch" ? "==>" : "-->";
      return [`${from} ${arrow}${onEdge(named)} ${idOf(way.to)}`];
    }
    const { max, exhausted } = way.loop;
    const prefix = named === undefined ? "" : `${named}, `;
    return [
      `${from} -.->${onEdge(`${prefix}at most ${max} times`)} ${idOf(way.to)}`,
      `${from} -->${onEdge(`${prefix}then`)} ${idOf(exhausted)}`,
    ];
  });
}

function onEdge(text: string | undefined): string {
  return text === undefined ? "" : `|${label(text)}|`;
}

// What Mermaid might take for markup, or the end of the text, is spelled as an entity.
const SPECIAL = /["#&<>`\\|[\]{}()*_~]/g;

function label(text: string): string {
  const spelled = text
    .replaceAll(/[\p{C}\p{Z}]+/gu, " ")
    .replaceAll(SPECIAL, (character) => `#${character.codePointAt(0)};`);
  return `"${spelled}"`;
}
