import { LIMITS } from "../../model/limits.ts";
import type { Clock } from "../../model/ports.ts";
import type { RunLogInput } from "../../model/run.ts";
import { redactText } from "../../model/redact.ts";
import type { RunHost } from "../run-port.ts";

type Piece = Pick<RunLogInput, "visit" | "node" | "stream" | "text">;

/** Pieces wait so long for others, so that a chatty command does not make a message of each line. */
const WAIT_MS = 100;
/** On its way at once; what a command says beyond it is left out, so that no command is slowed down. */
const IN_FLIGHT = 1024 * 1024;

/** Writes what a run says beside its journal, in order, in bounded pieces, with credentials masked. */
export class RunLogWriter {
  readonly #host: Pick<RunHost, "appendRunLog">;
  readonly #clock: Clock;
  #pieces: RunLogInput[] = [];
  #inFlight = 0;
  #leftOut = 0;
  #last: Promise<void> = Promise.resolve();
  #cancelTimer: (() => void) | undefined;

  constructor(host: Pick<RunHost, "appendRunLog">, clock: Clock) {
    this.#host = host;
    this.#clock = clock;
  }

  write({ text, ...about }: Piece): void {
    if (text === "") return;
    if (this.#inFlight + text.length > IN_FLIGHT) {
      this.#leftOut += text.length;
      return;
    }
    this.#inFlight += text.length;
    if (this.#leftOut > 0) {
      this.#add({ ...about, text: `… (${this.#leftOut} characters left out)\n` });
      this.#leftOut = 0;
    }
    for (let from = 0; from < text.length; from += LIMITS.runLogPiece) {
      this.#add({ ...about, text: text.slice(from, from + LIMITS.runLogPiece) });
    }
    this.#cancelTimer ??= this.#clock.schedule(() => this.#send(), WAIT_MS);
  }

  /** Resolves when all that was written is kept, or can't be. */
  async flush(): Promise<void> {
    this.#send();
    await this.#last;
  }

  #add({ text, ...about }: Piece): void {
    const last = this.#pieces.at(-1);
    const fits = last !== undefined && last.text.length + text.length <= LIMITS.runLogPiece;
    if (fits && last.visit === about.visit && last.stream === about.stream) last.text += text;
    else this.#pieces.push({ at: this.#clock.now(), ...about, text });
  }

  #send(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    while (this.#pieces.length > 0) {
      const pieces = this.#pieces.splice(0, PIECES_AT_ONCE);
      const size = pieces.reduce((sum, { text }) => sum + text.length, 0);
      const masked = pieces.map((piece) => ({ ...piece, text: mask(piece.text) }));
      // A log that can't be kept ends no run; that the claim is lost is told by the journal.
      const sent = this.#host.appendRunLog(masked).catch(() => {});
      this.#last = Promise.all([this.#last, sent]).then(() => void (this.#inFlight -= size));
    }
  }
}

/** Escaped, so many pieces still fit into one message. */
const PIECES_AT_ONCE = 32;

function mask(text: string): string {
  return redactText(text).slice(0, LIMITS.runLogPiece);
}
