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
  const table = new Table({
    chars: BORDERLESS,
    style: { head: [], border: [], "padding-left": 0, "padding-right": GAP },
    ...(width === undefined ? {} : { colWidths: columnWidths(actions, width), wordWrap: true }),
  });
  table.push(["ACTION", "RESOURCE", "WHY"].map((title) => palette.bold(title)));
  for (const action of actions) {
    table.push([
      inColour(action.kind, `${SIGNS[action.kind]} ${action.kind}`, palette),
      nameOf(action),
      action.reasons.map(printable).join("; "),
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
