import { stripVTControlCharacters } from "node:util";

/**
 * Rows under a heading, columns aligned by two spaces, no white space at line ends. Cells may hold
 * colours, no line ends.
 */
export function columns(rows: string[][]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, widthOf(cell));
    }
  }
  return rows.map((row) => alignRow(row, widths)).join("\n");
}

function alignRow(row: string[], widths: number[]): string {
  const cells = row.map((cell, index) => cell + " ".repeat((widths[index] ?? 0) - widthOf(cell)));
  return cells.join("  ").trimEnd();
}

/** Columns a text takes: code points, wide ones of East Asian scripts and emoji twice. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) width += WIDE.test(character) ? 2 : 1;
  return width;
}

const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60]|\p{Emoji_Presentation}/u;
