import type { Graph, GraphNode } from "../model/graph.ts";
import { printable, widthOf } from "../model/text.ts";
import { type DrawnWay, isEnd, nameOf, onwardOf, outline, type Outline } from "./draw-outline.ts";

export type DrawOptions = {
  /** Columns; longer lines are cut. */
  width: number;
  /** Whether to colour it. */
  color?: boolean;
};

/**
 * Draws a graph for a terminal, from top to bottom: what follows a node stands below it, what only one
 * of its ways leads to stands at that way, and other places are named by arrows.
 */
export function drawText(graph: Graph, { width, color = false }: DrawOptions): string {
  const drawing = new Drawing(graph);
  drawing.add("", [["bold", graph.workflow]]);
  drawing.add("", []);
  drawing.workflow(graph.startAt, "");
  return drawing.lines.map((line) => finish(line, width, color)).join("\n");
}

type Style = "bold" | "dim" | "label" | "plain";
type Part = [Style, string];

const SYMBOLS: Partial<Record<GraphNode["kind"], string>> = {
  decision: "◆",
  checkpoint: "◉",
  include: "▣",
};

class Drawing {
  readonly lines: Part[][] = [];
  private readonly graph: Graph;

  constructor(graph: Graph) {
    this.graph = graph;
  }

  add(margin: string, parts: Part[]): void {
    this.lines.push([["dim", margin], ...parts]);
  }

  /** The workflow that begins at `startAt`, each of its lines after `margin`. */
  workflow(startAt: string, margin: string): void {
    const { graph } = this;
    this.level(outline(graph, startAt), startAt, margin);
  }

  /** A node and all that stands below it at its level. */
  private level(layout: Outline, first: string, margin: string): void {
    const waiting = [{ path: first, from: undefined as string | undefined }];
    let above: string | undefined;
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { path, from } = next;
      if (above !== undefined) {
        const isFork = this.graph.edges[above]?.parallel !== undefined;
        this.add(from === above ? margin + (isFork ? "║" : "│") : margin, []);
      }
      const followers = layout.followersOf(path);
      this.node(layout, path, { margin, followers });
      for (const follower of followers.toReversed()) waiting.push({ path: follower, from: path });
      above = path;
    }
  }

  private node(
    layout: Outline,
    path: string,
    { margin, followers }: { margin: string; followers: readonly string[] },
  ): void {
    const node = this.graph.nodes[path];
    const ways = layout.waysOf(path);
    const straight = ways.filter((way) => way.kind === "next" && isPlain(layout, path, way));
    const named = straight.filter(({ to, loop }) => loop !== undefined || to !== followers[0]);
    this.add(margin, [
      ["plain", `${SYMBOLS[node?.kind ?? "compute"] ?? "●"} `],
      ["bold", printable(nameOf(path))],
      ...named.map((way): Part => ["plain", ` ${leads(way)}`]),
      ["dim", `  ${about(node)}`],
    ]);
    const listed = ways.filter((way) => !straight.includes(way));
    const goesOn = followers.length > 0;
    if (node?.kind === "include") {
      const start = this.graph.edges[path]?.next?.to;
      const bar = listed.length > 0 || goesOn ? "│" : " ";
      if (start !== undefined) this.workflow(start, `${margin}${bar}  `);
    }
    for (const [index, way] of listed.entries()) {
      const isLast = index === listed.length - 1 && !goesOn;
      this.way(layout, path, { way, margin, isLast });
    }
  }

  private way(
    layout: Outline,
    from: string,
    { way, margin, isLast }: { way: DrawnWay; margin: string; isLast: boolean },
  ): void {
    const [corner, bar] = way.kind === "branch" ? ["╠═ ", "║  "] : ["├─ ", "│  "];
    const [ownCorner, ownBar] = isLast
      ? [way.kind === "branch" ? "╚═ " : "╰─ ", "   "]
      : [corner, bar];
    const to = onwardOf(way);
    const isNested = layout.isNested(from, way, to);
    const label: Part[] = way.kind === "failure" ? [["label", "on failure "]] : [];
    if (way.label !== undefined) label.push(["label", `${printable(way.label)} `]);
    if (!isNested) {
      this.add(margin + ownCorner, [...label, ["plain", leads(way)]]);
    } else if (way.kind === "branch") {
      // The first line of a branch stands at its corner.
      const at = this.lines.length;
      this.level(layout, to, margin + ownBar);
      const [, ...rest] = this.lines[at] as Part[];
      this.lines[at] = [["dim", margin + ownCorner], ...rest];
    } else {
      const back = way.loop === undefined ? "" : `${goesBack(way)}, then`;
      this.add(margin + ownCorner, [...label, ["plain", back]]);
      this.level(layout, to, margin + ownBar);
    }
  }
}

/** Whether a way is told on its node's own line, or by what stands below it. */
function isPlain(layout: Outline, from: string, way: DrawnWay): boolean {
  return way.loop === undefined || !layout.isNested(from, way, onwardOf(way));
}

/** `→ merge`, `→ end done`, `↺ fix, at most 3 times, then → merge`. */
function leads(way: DrawnWay): string {
  if (way.loop === undefined) return `→ ${target(way.to)}`;
  return `${goesBack(way)}, then → ${target(way.loop.exhausted)}`;
}

function goesBack({ to, loop }: DrawnWay): string {
  const times = loop?.max === 1 ? "once" : `${loop?.max} times`;
  return `↺ ${target(to)}, at most ${times}`;
}

function target(path: string): string {
  return isEnd(path)
    ? `end ${printable(nameOf(path).slice("end:".length))}`
    : printable(nameOf(path));
}

/** What is to be known of a node besides its name. */
function about(node: GraphNode | undefined): string {
  if (node === undefined) return "";
  const { kind, safety, deadlineMs, retry, title, model } = node;
  const acts = kind === "action" || kind === "shell" || kind === "agent";
  return [
    kind === "include" ? `includes ${title ?? ""}` : kind,
    ...(acts ? [safety] : []),
    ...(kind !== "include" && title !== undefined ? [JSON.stringify(title)] : []),
    ...(model === undefined ? [] : [model]),
    ...(deadlineMs === undefined ? [] : [`within ${span(deadlineMs)}`]),
    ...(retry === undefined ? [] : [`${retry.times} ${retry.times === 1 ? "retry" : "retries"}`]),
    ...(node.compensates ? ["can be undone"] : []),
  ]
    .map(printable)
    .join(", ");
}

function span(milliseconds: number): string {
  const units: [string, number][] = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
  ];
  const [unit, size] = units.find(([, one]) => milliseconds % one === 0) ?? ["s", 1_000];
  return `${milliseconds / size}${unit}`;
}

const CODES: Record<Style, [string, string]> = {
  bold: ["\u001b[1m", "\u001b[22m"],
  dim: ["\u001b[2m", "\u001b[22m"],
  label: ["\u001b[36m", "\u001b[39m"],
  plain: ["", ""],
};

/** One line in at most `width` columns. */
function finish(parts: readonly Part[], width: number, color: boolean): string {
  const whole = parts
    .map(([, text]) => text)
    .join("")
    .trimEnd();
  const fits = widthOf(whole) <= width;
  let room = fits ? widthOf(whole) : Math.max(0, width - 1);
  let line = "";
  for (const [style, text] of parts) {
    const shown = cut(text, room);
    room -= widthOf(shown);
    const [on, off] = color && shown.trim() !== "" ? CODES[style] : ["", ""];
    line += on + shown + off;
    if (shown !== text) break;
  }
  return fits || width < 1 ? line : `${line}…`;
}

/** As many characters of `text` as fit into `room` columns. */
function cut(text: string, room: number): string {
  if (widthOf(text) <= room) return text;
  let shown = "";
  let left = room;
  for (const character of text) {
    left -= widthOf(character);
    if (left < 0) break;
    shown += character;
  }
  return shown;
}
