import type { Place } from "../model/manifest.ts";

/** The place of a character offset of `text`; CRLF counts as one line end. */
export function placeOfOffset(file: string, text: string, offset: number): Place {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf("\n"); end !== -1 && end < offset; end = text.indexOf("\n", start)) {
    line += 1;
    start = end + 1;
  }
  return { file, line, column: offset - start + 1 };
}

/** `placeOfOffset` for many offsets of one text: finds the line ends once. */
export function placesIn(file: string, text: string): (offset: number) => Place {
  const starts = [0];
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) {
    starts.push(end + 1);
  }
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    return { file, line: low + 1, column: offset - (starts[low] as number) + 1 };
  };
}

/** The place of a whole file. */
export function fileStart(file: string): Place {
  return { file, line: 1, column: 1 };
}
