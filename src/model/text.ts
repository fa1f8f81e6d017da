// C0 and C1 controls, line and paragraph separators, and the marks that reorder text (Unicode
// UAX #9): what a terminal may obey, or what may make a line read as another one.
const UNPRINTABLE = /[\u0000-\u001F\u007F-\u009F\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/g;
const UNPRINTABLE_BUT_LAYOUT =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/g;
const COLOUR_OR_UNPRINTABLE = new RegExp(
  `\\u001B\\[\\d{1,2}m|${UNPRINTABLE_BUT_LAYOUT.source}`,
  "g",
);

/** `text` on one line of a terminal: what it might obey is spelled as `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, spell);
}

/** Like `printable`, but line feeds and tabs stay. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE_BUT_LAYOUT, spell);
}

/** Like `printableLines`, but colours stay: what a program that may use them says in the end. */
export function printableInColour(text: string): string {
  return text.replace(COLOUR_OR_UNPRINTABLE, (found) => (found.length > 1 ? found : spell(found)));
}

/**
 * JSON as text, fit for a terminal and for whoever prints a file: JSON leaves out only what lies below
 * the space, and terminals obey more. What is escaped reads back the same.
 */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(UNPRINTABLE_BUT_LAYOUT, spell);
}

function spell(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Columns that a text takes on a terminal, its colours left out: one for each character, two for those of East Asian scripts and emoji. */
export function widthOf(text: string): number {
  const seen = text.replace(COLOUR, "");
  if (PLAIN.test(seen)) return seen.length;
  let width = 0;
  for (const character of seen) width += WIDE.test(character) ? 2 : 1;
  return width;
}

const COLOUR = /\u001b\[[\d;]*m/g;
const PLAIN = /^[\x20-\x7e]*$/;

// East Asian Width W and F (Unicode UAX #11), and emoji that are drawn as such.
const WIDE =
  /[\u1100-\u115F\u2329\u232A\u2630-\u2637\u268A-\u268F\u2E80-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{1B2FF}\u{1D300}-\u{1D376}\u{1F200}-\u{1F2FF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;

/** The first line of a text, marked where there are more. */
export function firstLine(text: string): string {
  const [line = "", ...more] = text.split("\n");
  return more.length > 0 ? `${line} …` : line;
}
