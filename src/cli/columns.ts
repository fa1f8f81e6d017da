import { widthOf } from "../model/text.ts";

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
