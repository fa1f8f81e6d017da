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

function layOut(actions: readonly ShownAction[], { palette, width }: RenderOptions): string {
  const widths = width === undefined ? undefined : columnWidths(actions, width);
  const [, name = Infinity, why = Infinity] = widths ?? [];
  const table = new Table({
    chars: BORDERLESS,
    style: { head: [], border: [], "padding-left": 0, "padding-right": GAP },
    ...(widths && { colWidths: widths, wordWrap: true }),
  });
  table.push(["ACTION", "RESOURCE", "WHY"].map((title) => palette.bold(title)));
  for (const action of actions) {
    table.push([
      inColour(action.kind, `${SIGNS[action.kind]} ${action.kind}`, palette),
      breakWords(nameOf(action), name - GAP),
      breakWords(action.reasons.map(printable).join("; "), why - GAP),
    ]);
  }
  return table
    .toString()
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
}

// Names keep what they need up to half of the line; the reasons wrap in the rest.
function columnWidths(actions: readonly ShownAction[], width: number): number[] {
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
