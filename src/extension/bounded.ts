/** What a tool may say at once; Pi cuts at 50 KB and 2,000 lines, and models read less gladly. */
const MOST_LINES = 200;
const MOST_CHARACTERS = 16_000;

/**
 * A part of a text from line `offset` on, and how to get the next where something is left. A line
 * longer than all there is room for is cut.
 */
export function boundedText(text: string, offset: number): string {
  const lines = text.split("\n");
  const shown: string[] = [];
  let size = 0;
  for (const line of lines.slice(offset, offset + MOST_LINES)) {
    if (shown.length > 0 && size + line.length > MOST_CHARACTERS) break;
    const cut = line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}… (cut)` : line;
    shown.push(cut);
    size += cut.length + 1;
  }
  const next = offset + shown.length;
  const rest = lines.length - next;
  if (rest > 0) shown.push(`… ${rest} more lines: call again with offset ${next}`);
  return offset > 0 && shown.length === 0
    ? `There are only ${lines.length} lines.`
    : shown.join("\n");
}
