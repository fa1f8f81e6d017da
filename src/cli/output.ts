import { clearLine, cursorTo } from "node:readline";
import { createColors } from "picocolors";
import { printableInColour, printableJson, printableLines, widthOf } from "../model/text.ts";

export type Colors = ReturnType<typeof createColors>;

/** Where a command writes: results to stdout, talk to stderr. */
export type Output = {
  /** What `-o` says; `table` where nothing is said. */
  format: string;
  /** For stdout. */
  colors: Colors;
  /** Columns of the terminal; absent where stdout is none. */
  width: number | undefined;
  interactive: boolean;
  /** Text for people, a line end added. */
  line(text?: string): void;
  /** The result: one JSON document with `-o json`, else what `human` makes. */
  result(value: unknown, human: () => string): void;
  /** One JSON document on one line, for streams with `-o json`. */
  record(value: unknown): void;
  /** Progress and advice, on stderr; silent with `-o json`. */
  note(text: string): void;
  /** What goes on now: one line on a terminal, replaced by whatever is written next. */
  status(text: string): void;
};

/** Makes the output of one run of the command line. */
export function createOutput(options: { format: string; color: boolean }): Output {
  const json = options.format === "json";
  const colors = colorsFor(process.stdout, options.color);
  const shown = sieve(colors);
  const talk = sieve(colorsFor(process.stderr, options.color));
  const transient = transientLine(json);
  const write = (text: string): void => {
    transient.clear();
    process.stdout.write(shown(text));
  };
  return {
    format: options.format,
    colors,
    // Some terminals say 0 where they do not know.
    width: (process.stdout.isTTY && process.stdout.columns) || undefined,
    interactive: process.stdin.isTTY && process.stderr.isTTY,
    line: (text = "") => write(`${text}\n`),
    result: (value, human) => write(json ? `${printableJson(value, 2)}\n` : withLineEnd(human())),
    record: (value) => write(`${printableJson(value)}\n`),
    note: (text) => {
      transient.clear();
      if (!json) process.stderr.write(talk(`${text}\n`));
    },
    status: (text) => transient.show(talk(text)),
  };
}

/**
 * What every text goes through on its way to a terminal. Those who make texts spell what others wrote
 * so that it can't be taken for theirs; this keeps what one of them forgot from being obeyed.
 */
export function sieve({ isColorSupported }: Colors): (text: string) => string {
  return isColorSupported ? printableInColour : printableLines;
}

function transientLine(silent: boolean): { show: (text: string) => void; clear: () => void } {
  const { stderr } = process;
  let isShown = false;
  const clear = (): void => {
    if (!isShown) return;
    isShown = false;
    cursorTo(stderr, 0);
    clearLine(stderr, 0);
  };
  return {
    clear,
    show(text) {
      clear();
      if (silent || !stderr.isTTY || text === "") return;
      isShown = true;
      stderr.write(clipped(text, (stderr.columns || FALLBACK_COLUMNS) - 1));
    },
  };
}

/** Where a terminal does not say how wide it is. */
const FALLBACK_COLUMNS = 80;

/** A line that was wrapped could not be taken back. */
function clipped(text: string, width: number): string {
  let shown = "";
  for (const character of text) {
    if (widthOf(shown + character) > width - 1) return `${shown}…`;
    shown += character;
  }
  return shown;
}

/** Colours for a stream: only on a terminal, and never against NO_COLOR (no-color.org). */
export function colorsFor(stream: { isTTY?: boolean }, wanted: boolean): Colors {
  const refused = !wanted || Boolean(process.env["NO_COLOR"]) || process.env["TERM"] === "dumb";
  return createColors(!refused && (stream.isTTY === true || Boolean(process.env["FORCE_COLOR"])));
}

function withLineEnd(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
