/** Aligns rows that come one by one: each column is as wide as the widest cell so far. */
export class Alignment {
  readonly #widths: number[] = [];

  /** Makes room for the cells of `row`. Cells may hold colours, no line ends. */
  fit(row: readonly string[]): void {
    for (const [index, cell] of row.entries()) {
      this.#widths[index] = Math.max(this.#widths[index] ?? 0, widthOf(cell));
    }
  }

  /** The row on one line, columns two spaces apart, no white space at its end. */
  line(row: readonly string[]): string {
    this.fit(row);
    const cells = row.map(
      (cell, index) => cell + " ".repeat((this.#widths[index] ?? 0) - widthOf(cell)),
    );
    return cells.join("  ").trimEnd();
  }
}

/** Rows under each other, columns aligned. */
export function columns(rows: readonly string[][]): string {
  const alignment = new Alignment();
  for (const row of rows) alignment.fit(row);
  return rows.map((row) => alignment.line(row)).join("\n");
}

/** A table with its heading; columns in which no row says anything are left out. */
export function table(
  heading: string[],
  rows: string[][],
  paint: (title: string) => string,
): string {
  const used = heading.map((_title, index) => rows.some((row) => row[index] !== ""));
  const keep = (row: string[]): string[] => row.filter((_cell, index) => used[index]);
  return columns([keep(heading).map(paint), ...rows.map(keep)]);
}

/** Columns a text takes: one for each character, two for those of East Asian scripts and emoji. */
function widthOf(text: string): number {
  const seen = text.replace(COLOUR, "");
  if (PLAIN.test(seen)) return seen.length;
  let width = 0;
  for (const character of seen) width += WIDE.test(character) ? 2 : 1;
  return width;
}

const COLOUR = /\u001b\[[\d;]*m/g;
const PLAIN = /^[\x20-\x7e]*$/;

const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60]|\p{Emoji_Presentation}/u;
