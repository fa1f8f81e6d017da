import { existsSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { PiWorkflowsError } from "../../model/errors.ts";
import { printable } from "../../model/text.ts";
import type { Cli } from "../invocation.ts";
import type { Documents } from "../schemas/documents.ts";
import { sleep } from "../sleep.ts";
import { instant } from "../time.ts";
import type { Action } from "../verb.ts";

type Options = { follow?: boolean; lines?: number };

const DEFAULT_LINES = 100;
/** The latest lines are looked for in this much of the file's end. */
const TAIL_BYTES = 1 << 20;
const LOOK_MS = 250;

export const run: Action<Options> = async (cli, options) => {
  const file = path.join(cli.home, "logs", "server.log");
  if (!existsSync(file)) {
    throw new PiWorkflowsError("NOT_FOUND", `there is no log yet: ${file}`, {
      hint: "The server writes it when it first runs.",
    });
  }
  let offset = statSync(file).size;
  const tail = await readRange(file, Math.max(0, offset - TAIL_BYTES), offset);
  const lines = tail.split("\n").filter((line) => line !== "");
  print(cli, lines.slice(-(options.lines ?? DEFAULT_LINES)));
  let partial = "";
  while (options.follow && !cli.signal.aborted) {
    await sleep(LOOK_MS, cli.signal);
    const { size } = statSync(file, { throwIfNoEntry: false }) ?? { size: 0 };
    // Shorter than before: rotated, so begin with the new file.
    if (size < offset) offset = 0;
    const pieces = (partial + (await readRange(file, offset, size))).split("\n");
    partial = pieces.pop() ?? "";
    offset = size;
    print(cli, pieces);
  }
};

async function readRange(file: string, start: number, end: number): Promise<string> {
  if (end <= start) return "";
  const handle = await open(file);
  try {
    const buffer = Buffer.alloc(end - start);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}

function print(cli: Cli, lines: string[]): void {
  for (const line of lines) {
    if (cli.output.format === "json") cli.output.record(recordOf(line));
    else cli.output.line(readable(line));
  }
}

/** A line of the log; one of another form, such as a warning of Node's own, as its message. */
function recordOf(line: string): Documents["server-logs"] {
  try {
    const record = JSON.parse(line) as Documents["server-logs"] | null;
    if (typeof record?.message === "string") return record;
  } catch {
    // Not JSON, so that it is text.
  }
  return { message: line };
}

/** A line of the log (JSON) for people; a line of another form as it is. */
function readable(line: string): string {
  try {
    const { time, level, message, ...fields } = JSON.parse(line) as Record<string, unknown>;
    const rest = Object.entries(fields).map(([name, value]) => `${name}=${text(value)}`);
    const when = instant(time as string);
    return printable([when, String(level).padEnd(5), String(message), ...rest].join(" "));
  } catch {
    return printable(line);
  }
}

function text(value: unknown): string {
  return typeof value === "string" && /^[\w./:@#-]+$/.test(value) ? value : JSON.stringify(value);
}
