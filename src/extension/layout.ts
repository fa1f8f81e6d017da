import { printableLines, widthOf } from "../model/text.ts";
import { textOf, type Cell, type Column, type Table, type Tone, type View } from "./view.ts";

/** How a view is painted; `PLAIN` where there are no colours. */
export type Paint = {
  tone(tone: Tone, text: string): string;
  bold(text: string): string;
};

export const PLAIN: Paint = { tone: (_tone, text) => text, bold: (text) => text };

const GAP = "  ";
const CUT = "…";
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The lines of a view; none is wider than `width`, where one is given. */
export function layOut(
  view: View,
  paint: Paint,
  width: number = Number.POSITIVE_INFINITY,
): string[] {
  return [
    ...(view.title === undefined ? [] : wrap(view.title, width).map((line) => paint.bold(line))),
    ...(view.table ? layOutTable(view.table, paint, width) : []),
    ...(view.text === undefined ? [] : layOutText(view.text, paint, width)),
  ];
}

function layOutTable(table: Table, paint: Paint, width: number): string[] {
  const kept = keptColumns(table, width);
  const widths = fitWidths(table, kept, width);
  const line = (cells: readonly Cell[], painted: (cell: Cell, text: string) => string) =>
    clip(
      kept
        .map((index, at) => {
          const cell = cells[index] ?? "";
          const text = clip(oneLine(textOf(cell)), widths[at] as number);
          const last = at === kept.length - 1;
          const pad = last ? "" : " ".repeat((widths[at] as number) - widthOf(text));
          return painted(cell, text) + pad;
        })
        .join(GAP)
        .trimEnd(),
      width,
    );
  const titles = table.columns.map(({ title }) => title);
  return [
    ...(table.bare ? [] : [line(titles, (_cell, text) => paint.bold(text))]),
    ...table.rows.map((row) =>
      line(row, (cell, text) => (typeof cell === "string" ? text : paint.tone(cell.tone, text))),
    ),
  ];
}

/** Indexes of the columns that say something, without those for which there is no room. */
function keptColumns({ columns, rows }: Table, width: number): number[] {
  let kept = columns
    .map((_column, index) => index)
    .filter((index) => rows.length === 0 || rows.some((row) => textOf(row[index] ?? "") !== ""));
  const leastOf = (index: number) => {
    const natural = naturalWidth({ columns, rows }, index);
    return Math.min(columns[index]?.least ?? natural, natural);
  };
  for (;;) {
    const sum = kept.reduce((total, index) => total + leastOf(index) + GAP.length, -GAP.length);
    if (sum <= width) return kept;
    const [victim] = kept
      .filter((index) => columns[index]?.drop !== undefined)
      .sort((a, b) => dropOf(columns[b]) - dropOf(columns[a]));
    if (victim === undefined) return kept;
    kept = kept.filter((index) => index !== victim);
  }
}

function dropOf(column: Column | undefined): number {
  return column?.drop ?? 0;
}

function naturalWidth({ columns, rows }: Table, index: number): number {
  const cells = rows.map((row) => widthOf(oneLine(textOf(row[index] ?? ""))));
  return Math.max(widthOf(columns[index]?.title ?? ""), ...cells);
}

/** Takes what is missing from the widest column that may give some. */
function fitWidths(table: Table, kept: readonly number[], width: number): number[] {
  const widths = kept.map((index) => naturalWidth(table, index));
  let over = widths.reduce((sum, one) => sum + one + GAP.length, -GAP.length) - width;
  while (over > 0) {
    const spare = widths.map((one, at) => {
      const least = table.columns[kept[at] as number]?.least;
      return least === undefined ? 0 : one - least;
    });
    const most = Math.max(...spare);
    if (most <= 0) break;
    const at = spare.indexOf(most);
    const second = Math.max(0, ...spare.filter((_one, index) => index !== at));
    const taken = Math.min(over, Math.max(1, most - second));
    widths[at] = (widths[at] as number) - taken;
    over -= taken;
  }
  return widths;
}

const TONES: readonly [RegExp, Tone][] = [
  [/^\s*(?:\+ create|created )/, "good"],
  [/^\s*(?:~ update|updated ?)/, "warn"],
  [/^\s*(?:- prune|! conflict|! invalid|deleted |failed |error\[)/, "bad"],
];

function layOutText(text: string, paint: Paint, width: number): string[] {
  return printableLines(text)
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      const tone = TONES.find(([form]) => form.test(line))?.[1];
      return wrap(line, width).map((part) => (tone ? paint.tone(tone, part) : part));
    });
}

/** Breaks one line between words; what follows is indented as its beginning. */
export function wrap(text: string, width: number): string[] {
  const line = text.replaceAll("\t", "    ");
  if (widthOf(line) <= width) return [line];
  const indent = (/^\s*/.exec(line) as RegExpExecArray)[0];
  const hang = indent.length * 2 < width ? indent : "";
  const lines: string[] = [];
  let current = "";
  for (const word of line.match(/\s*\S+/g) ?? []) {
    if (widthOf(current + word) <= width) {
      current += word;
      continue;
    }
    if (current.trim() !== "") lines.push(current.trimEnd());
    let rest = hang + word.trimStart();
    while (widthOf(rest) > width) {
      const head = take(rest, width);
      lines.push(head);
      rest = rest.slice(head.length);
    }
    current = rest;
  }
  return [...lines, current];
}

/** `text` cut to `width` columns, with a mark where something is missing. It has no colours. */
export function clip(text: string, width: number): string {
  if (width <= 0) return "";
  if (widthOf(text) <= width || text.includes("\u001b")) return text;
  return take(text, width - 1) + CUT;
}

/** The longest beginning of `text` that fits, at least one character. */
function take(text: string, width: number): string {
  let taken = "";
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const wide = widthOf(segment);
    if (used + wide > width && taken !== "") break;
    taken += segment;
    used += wide;
  }
  return taken;
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, " ").replaceAll("\t", " ");
}
