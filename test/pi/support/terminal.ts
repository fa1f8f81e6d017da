import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import path from "node:path";
import xterm from "@xterm/headless";
import type { Lifetime } from "./machine.ts";

const HELPER = path.join(import.meta.dirname, "terminal.py");

export type TerminalOptions = {
  columns: number;
  rows: number;
  command: readonly string[];
  cwd: string;
  env: Record<string, string>;
};

/** A program in a terminal, as a person sits before it: a screen and a keyboard. */
export class PiTerminal {
  readonly #terminal: xterm.Terminal;
  readonly #process: ChildProcessWithoutNullStreams;
  /** Resolves with the code by which the program ended. */
  readonly ended: Promise<number | null>;
  readonly #looks = new Set<() => void>();
  #end: number | null | undefined;

  constructor(test: Lifetime, { columns, rows, command, cwd, env }: TerminalOptions) {
    this.#terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
    const args = [HELPER, String(columns), String(rows), ...command];
    this.#process = spawn("python3", args, { cwd, env });
    this.#process.stdin.on("error", () => undefined);
    // What the program asks of its terminal, the emulator answers.
    this.#terminal.onData((data) => void this.#process.stdin.write(data));
    this.#process.stdout.on("data", (data: Buffer) =>
      this.#terminal.write(new Uint8Array(data), () => this.#look()),
    );
    this.ended = new Promise((resolve) => {
      this.#process.on("close", (code) => {
        this.#end = code;
        this.#look();
        resolve(code);
      });
    });
    test.onTestFinished(async () => {
      // A test that ran out of time shows what it was looking at.
      if (this.#looks.size > 0) console.error(this.screen().join("\n"));
      this.#process.kill("SIGKILL");
      await this.ended;
      this.#terminal.dispose();
    });
  }

  /** What is to be seen, line by line, without white space at the ends. */
  screen(): string[] {
    const buffer = this.#terminal.buffer.active;
    return Array.from({ length: this.#terminal.rows }, (_line, row) => {
      const line = buffer.getLine(buffer.viewportY + row);
      return line?.translateToString(true) ?? "";
    });
  }

  /** Presses keys; `\r` is Enter, `\t` Tab, `\u001b` Escape. */
  press(keys: string): void {
    this.#process.stdin.write(keys);
  }

  /** Awaits that the screen shows something. @throws Error with the screen where the program ends */
  async until(sight: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const screen = this.screen().join("\n");
        const isSeen = sight.test(screen);
        if (!isSeen && this.#end === undefined) return;
        this.#looks.delete(look);
        if (isSeen) resolve(screen);
        else reject(new Error(`it ended with ${this.#end}; wanted ${sight}\n${screen}`));
      };
      this.#looks.add(look);
      look();
    });
  }

  #look(): void {
    for (const look of this.#looks) look();
  }
}
