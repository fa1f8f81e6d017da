// C0 and C1 controls, line and paragraph separators, and the marks that reorder text (Unicode
// UAX #9): what a terminal may obey, or what may make a line read as another one.
const UNPRINTABLE = /[\u0000-\u001F\u007F-\u009F\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/g;
const UNPRINTABLE_BUT_LAYOUT =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200E\u200F\u2028-\u202E\u2066-\u2069\uFEFF]/g;

/** `text` on one line of a terminal: what it might obey is spelled as `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, spell);
}

/** Like `printable`, but line feeds and tabs stay. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE_BUT_LAYOUT, spell);
}

function spell(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
