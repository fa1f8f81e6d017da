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

/** Less is no terminal that one reads. */
const LEAST_WIDTH = 4;

/**
 * The lines of a view; none is wider than `width`, where one is given. None at all where that is too
 * little for anything.
 */
export function layOut(
  view: View,
  paint: Paint,
  width: number = Number.POSITIVE_INFINITY,
): string[] {
  if (width < LEAST_WIDTH) return [];
  return [
    ...(view.title === undefined ? [] : wrap(view.title, width).map((line) => paint.bold(line))),
    ...(view.table ? layOutTable(view.table, paint, width) : []),
    ...(view.text === undefined ? [] : layOutText(view.text, paint, width)),
  ];
}

function layOutTable(table: Table, paint: Paint, width: number): string[] {
  const kept = keptColumns(table, width);
  const widths = fitWidths(table, kept, width);
  const line = (cells: readonly Cell[], painted: (cell: Cell, text: string) => string) => {
    let room = width;
    const parts = kept.map((index, at) => {
      const cell = cells[index] ?? "";
      const text = clip(oneLine(textOf(cell)), Math.min(widths[at] as number, room));
      const gap =
        at === kept.length - 1 ? "" : `${" ".repeat((widths[at] as number) - widthOf(text))}${GAP}`;
      const pad = gap.slice(0, Math.max(0, room - widthOf(text)));
      room -= widthOf(text) + pad.length;
      return (text === "" ? "" : painted(cell, text)) + pad;
    });
    return parts.join("").trimEnd();
  };
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

/**
 * Takes what is missing from the widest column that may give some, and where that is not enough from
 * any: no line may be too wide.
 */
function fitWidths(table: Table, kept: readonly number[], width: number): number[] {
  const widths = kept.map((index) => naturalWidth(table, index));
  const leastOf = kept.map((index) => table.columns[index]?.least);
  const room = width - GAP.length * (kept.length - 1);
  shrink(
    widths,
    widths.map((one, at) => Math.min(leastOf[at] ?? one, one)),
    room,
  );
  shrink(
    widths,
    widths.map((one) => Math.min(NARROWEST, one)),
    room,
  );
  return widths;
}

const NARROWEST = 2;

function shrink(widths: number[], least: readonly number[], room: number): void {
  for (;;) {
    const over = widths.reduce((sum, one) => sum + one, 0) - room;
    const spare = widths.map((one, at) => one - (least[at] as number));
    const most = Math.max(...spare);
    if (over <= 0 || most <= 0) return;
    const at = spare.indexOf(most);
    const second = Math.max(0, ...spare.filter((_one, index) => index !== at));
    widths[at] = (widths[at] as number) - Math.min(over, Math.max(1, most - second));
  }
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
  if (!isWider(line, width)) return [line];
  const indent = (/^\s*/.exec(line) as RegExpExecArray)[0];
  const hang = indent.length * 2 < width ? indent : "";
  const lines: string[] = [];
  let current = "";
  for (const word of line.trimEnd().match(/\s*\S+/g) ?? []) {
    if (!isWider(current + word, width)) {
      current += word;
      continue;
    }
    if (current.trim() !== "") lines.push(current.trimEnd());
    let rest = hang + word.trimStart();
    while (isWider(rest, width)) {
      const head = take(rest, width);
      lines.push(head);
      rest = hang + rest.slice(head.length);
    }
    current = rest;
  }
  return [...lines, current];
}

/** Looks at no more of a text than it must: a word may have megabytes. */
function isWider(text: string, width: number): boolean {
  // A character of two code units takes one column at least.
  return text.length > 2 * width || widthOf(text) > width;
}

/** `text` cut to `width` columns, with a mark where something is missing. It has no colours. */
export function clip(text: string, width: number): string {
  if (width <= 0) return "";
  if (widthOf(text) <= width) return text;
  const head = width > 1 ? take(text, width - 1) : "";
  return (widthOf(head) < width ? head : "") + CUT;
}

/** Code units; longer ones may be broken. */
const LONGEST_GRAPHEME = 64;

/** The longest beginning of `text` that fits, at least one character. */
function take(text: string, width: number): string {
  let taken = "";
  let used = 0;
  for (const { segment } of graphemes.segment(text.slice(0, LONGEST_GRAPHEME * (width + 1)))) {
    const wide = widthOf(segment);
    if (used + wide > width && taken !== "") break;
    taken += segment;
    used += wide;
  }
  return taken;
}

function oneLine(text: string): string {
  return text
    .replace(/\s+/g, (space) => (space.includes("\n") ? " " : space))
    .replaceAll("\t", " ");
}
