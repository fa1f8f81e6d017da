import { stripVTControlCharacters } from "node:util";
import type { RunLogEntry } from "../../model/run.ts";
import { printable, widthOf } from "../../model/text.ts";
import type { Colors } from "../output.ts";

/**
 * Makes whole lines of the pieces that a run's log is kept in, each after the name of its node. A
 * piece may end in the middle of a line, which the next one of the same stream goes on.
 */
export class LogLines {
  readonly #colors: Colors;
  readonly #partial = new Map<string, { node: string; text: string }>();
  #width = 0;

  constructor(colors: Colors) {
    this.#colors = colors;
  }

  /** The lines that are whole with this piece. */
  take({ visit, node, stream, text }: RunLogEntry): string[] {
    const source = `${visit} ${stream}`;
    const pieces = ((this.#partial.get(source)?.text ?? "") + text).split(/\r?\n/);
    const rest = pieces.pop() as string;
    if (rest === "") this.#partial.delete(source);
    else this.#partial.set(source, { node, text: rest });
    return pieces.map((piece) => this.#line(node, piece));
  }

  /** What is left without a line end. */
  rest(): string[] {
    const left = [...this.#partial.values()];
    this.#partial.clear();
    return left.map(({ node, text }) => this.#line(node, text));
  }

  #line(node: string, text: string): string {
    const name = printable(node);
    this.#width = Math.max(this.#width, widthOf(name));
    const lead = this.#colors.cyan(name + " ".repeat(this.#width - widthOf(name)));
    // Programs colour what they print; what else a terminal would obey is spelled out.
    const plain = stripVTControlCharacters(text).replaceAll("\t", "  ");
    return `${lead}  ${printable(lastFrame(plain))}`.trimEnd();
  }
}

/** Of a progress bar that returned to the beginning of its line, what was seen last. */
function lastFrame(line: string): string {
  return line.split("\r").findLast((frame) => frame !== "") ?? "";
}
