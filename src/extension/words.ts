/** One word of what was typed after a command, and where it stands. */
export type Word = {
  text: string;
  /** Offsets in the line; `end` is after the closing quote. */
  start: number;
  end: number;
  /** False where a quote or bracket is still open. */
  closed: boolean;
  /** True for a JSON object or array, taken whole with its white space. */
  json: boolean;
};

/**
 * Splits as a shell does: white space separates, quotes and backslashes keep it. A word that begins
 * with `{` or `[` is JSON and goes on to its closing bracket, so that nobody has to quote a spec.
 */
export function splitWords(line: string): Word[] {
  const words: Word[] = [];
  let at = 0;
  for (;;) {
    while (at < line.length && /\s/.test(line[at] as string)) at += 1;
    if (at >= line.length) return words;
    const word = /[{[]/.test(line[at] as string) ? readJson(line, at) : readPlain(line, at);
    words.push(word);
    at = word.end;
  }
}

function readJson(line: string, start: number): Word {
  let depth = 0;
  let inString = false;
  for (let at = start; at < line.length; at += 1) {
    const character = line[at] as string;
    if (character === "\\") at += 1;
    else if (character === '"') inString = !inString;
    else if (inString) continue;
    else if (/[{[]/.test(character)) depth += 1;
    else if (/[}\]]/.test(character) && --depth === 0) {
      return { text: line.slice(start, at + 1), start, end: at + 1, closed: true, json: true };
    }
  }
  return { text: line.slice(start), start, end: line.length, closed: false, json: true };
}

function readPlain(line: string, start: number): Word {
  let text = "";
  let quote: string | undefined;
  let at = start;
  for (; at < line.length; at += 1) {
    const character = line[at] as string;
    if (character === "\\" && quote !== "'" && at + 1 < line.length) text += line[++at];
    else if (quote !== undefined) {
      if (character === quote) quote = undefined;
      else text += character;
    } else if (/["']/.test(character)) quote = character;
    else if (/\s/.test(character)) break;
    else text += character;
  }
  return { text, start, end: at, closed: quote === undefined, json: false };
}

/** `text` as one word of a line. */
export function quoteWord(text: string): string {
  if (/^[^\s"'\\{[]+[^\s"'\\]*$/.test(text)) return text;
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
