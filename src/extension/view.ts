/** What a colour says; the place that draws it decides which colour that is. */
export type Tone = "good" | "bad" | "warn" | "dim";

/** A cell of a table; plain text has no tone. */
export type Cell = string | { text: string; tone: Tone };

export type Column = {
  title: string;
  /** May be cut to this many columns where room is short. */
  least?: number;
  /** Left out where room is still short, the highest first. */
  drop?: number;
};

export type Table = {
  columns: Column[];
  rows: Cell[][];
  /** True leaves the titles out. */
  bare?: true;
};

/**
 * Something to show, as plain data: it is kept in the session's file, and laid out anew for each
 * width. Texts may have line feeds and nothing else that a terminal obeys.
 */
export type View = {
  title?: string;
  table?: Table;
  text?: string;
};

/** A view of text alone. */
export function textView(text: string, title?: string): View {
  return title === undefined ? { text } : { title, text };
}

/** The text of a cell. */
export function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.text;
}
