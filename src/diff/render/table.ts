import { stripVTControlCharacters } from "node:util";
import Table from "cli-table3";
import { printable } from "../../model/text.ts";
import type { ShownAction, ShownPlan } from "../schema.ts";
import { footer, inColour, listed, nameOf, SIGNS } from "./words.ts";
import type { RenderOptions } from "./words.ts";

// Laying out many thousand rows takes seconds, and nobody reads them.
const MOST_ROWS = 1_000;
const NARROWEST = 20;
const ACTION_COLUMN = 12;
const GAP = 2;

/** One line per resource with what happens to it and why, then the counts. */
export function renderTable(plan: ShownPlan, options: RenderOptions): string {
  const actions = listed(plan, options.all);
  const rows = actions.slice(0, MOST_ROWS);
  const rest = actions.length - rows.length;
  return [
    ...(rows.length > 0 ? [layOut(rows, options), ""] : []),
    ...(rest > 0 ? [`and ${rest} more, which the other forms list`, ""] : []),
    ...footer(plan, options.palette),
    "",
  ].join("\n");
}

function layOut(actions: readonly ShownAction[], options: RenderOptions): string {
  const { palette, width } = options;
  const titles: Cells = [palette.bold("ACTION"), palette.bold("RESOURCE"), palette.bold("WHY")];
  const rows = actions.map((action) => cellsOf(action, options));
  const lines =
    width === undefined
      ? padded([titles, ...rows])
      : wrapped(titles, rows, columnWidths(actions, width));
  return lines.map((line) => line.trimEnd()).join("\n");
}

type Widths = [action: number, name: number, why: number];
type Cells = [action: string, name: string, why: string];

function cellsOf(action: ShownAction, { palette }: RenderOptions): Cells {
  return [
    inColour(action.kind, `${SIGNS[action.kind]} ${action.kind}`, palette),
    nameOf(action),
    action.reasons.map(printable).join("; "),
  ];
}

// Where nothing wraps, the table's own layout would take a tenth of a whole diff of many files.
function padded(rows: readonly Cells[]): string[] {
  const [action, name] = [0, 1].map(
    (column) => Math.max(...rows.map((cells) => visible(cells[column] ?? ""))) + GAP,
  ) as [number, number];
  const pad = (cell: string, width: number): string => cell + " ".repeat(width - visible(cell));
  return rows.map((cells) => pad(cells[0], action) + pad(cells[1], name) + cells[2]);
}

/** Characters of a cell that take room, without its colours. */
function visible(cell: string): number {
  return stripVTControlCharacters(cell).length;
}

function wrapped(titles: Cells, rows: readonly Cells[], colWidths: Widths): string[] {
  const [, nameWidth, whyWidth] = colWidths;
  const table = new Table({
    chars: BORDERLESS,
    style: { head: [], border: [], "padding-left": 0, "padding-right": GAP },
    colWidths,
    wordWrap: true,
  });
  table.push(titles);
  for (const [action, name, why] of rows) {
    table.push([action, breakWords(name, nameWidth - GAP), breakWords(why, whyWidth - GAP)]);
  }
  return table.toString().split("\n");
}

// Names keep what they need up to half of the line; the reasons wrap in the rest.
function columnWidths(actions: readonly ShownAction[], width: number): Widths {
  const longest = Math.max(...actions.map((action) => nameOf(action).length)) + GAP;
  const name = Math.max(NARROWEST, Math.min(longest, Math.floor(width / 2)));
  return [ACTION_COLUMN, name, Math.max(NARROWEST, width - ACTION_COLUMN - name)];
}

// The table wraps between words and cuts off the end of a longer one, which may be a path.
function breakWords(text: string, width: number): string {
  return text
    .split(" ")
    .map((word) => (word.length <= width ? word : (word.match(piecesOf(width)) ?? []).join(" ")))
    .join(" ");
}

function piecesOf(width: number): RegExp {
  return new RegExp(`.{1,${width}}`, "gu");
}

const BORDERLESS = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "",
} as const;
