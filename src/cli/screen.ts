import { clearScreenDown, moveCursor } from "node:readline";
import { stripVTControlCharacters } from "node:util";
import type { Output } from "./output.ts";

/** What a watch shows: redrawn in place on a terminal, appended when piped. */
export type Screen = { show: (text: string) => void };

/** A screen over stdout. Where it is no terminal, each text that differs from the last is printed. */
export function createScreen({ width, line }: Pick<Output, "width" | "line">): Screen {
  let last: string | undefined;
  let rows = 0;
  return {
    show: (text) => {
      if (text === last) return;
      last = text;
      if (width !== undefined && rows > 0) {
        moveCursor(process.stdout, 0, -rows);
        clearScreenDown(process.stdout);
      }
      rows = rowsOf(text, width);
      line(text);
    },
  };
}

/** Rows that a text takes on a terminal, its wrapped lines counted. */
export function rowsOf(text: string, width = Number.POSITIVE_INFINITY): number {
  return text
    .split("\n")
    .map((line) => Math.max(1, Math.ceil(stripVTControlCharacters(line).length / width)))
    .reduce((sum, count) => sum + count, 0);
}
