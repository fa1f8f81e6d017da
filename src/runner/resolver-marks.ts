import { writeSync } from "node:fs";
import type { Readable } from "node:stream";
import { LIMITS } from "../model/limits.ts";
import { ALL_TYPESCRIPT } from "../sources/spec-file.ts";

// Before a child runs code of a file it writes a mark with the file's name, at once, so that the
// parent knows it even when that code never comes back. Marks share one pipe with whatever that
// code writes by file descriptor, so that their order tells who wrote it.
const OUTPUT_FD = 1;
const START = "\0";

/** Stands in an inexact mark for one of several files. */
export const SOME_FILE = "?";
/** Marks that name no single file anyway; they, and what follows them, are always written. */
const COARSE: (string | undefined)[] = [undefined, ALL_TYPESCRIPT];
/** In inexact marking, one of so many files is marked. */
const STRIDE = 100;

/**
 * Writes marks, in the child. Undefined: no file's code is running. A mark takes 15 µs in the two
 * processes, so a load of many files is marked inexactly: only often enough to show progress.
 */
export function markWriter(exact: boolean): (file: string | undefined) => void {
  let marked: string | undefined;
  let calls = 0;
  return (file) => {
    if (file === marked) return;
    const passes = exact || COARSE.includes(file) || COARSE.includes(marked);
    marked = file;
    calls += 1;
    if (!passes && calls % STRIDE > 0) return;
    const name = exact || COARSE.includes(file) ? file : SOME_FILE;
    writeAll(Buffer.from(`${START}${JSON.stringify(name ?? "")}\n`));
  };
}

function writeAll(bytes: Uint8Array): void {
  for (let from = 0; from < bytes.length;) {
    try {
      from += writeSync(OUTPUT_FD, bytes, from);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== "EAGAIN") throw thrown;
      // The pipe is full until the parent has read some of it.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/** What a child wrote past its guard: the beginning, and whose code was running. */
export type RawOutput = { text: string; file: string | undefined };

/** Reads marks and other output, in the parent. */
export function readMarks(
  stream: Readable,
  onMark: (file: string | undefined) => void,
): () => RawOutput | undefined {
  let output: RawOutput | undefined;
  let file: string | undefined;
  let rest = "";
  const take = (text: string): void => {
    if (text === "") return;
    output ??= { text: "", file };
    output.text = (output.text + text).slice(0, LIMITS.childOutput);
  };
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    rest += chunk;
    for (let start = rest.indexOf(START); ; start = rest.indexOf(START)) {
      take(start === -1 ? rest : rest.slice(0, start));
      rest = start === -1 ? "" : rest.slice(start);
      const end = rest.indexOf("\n");
      if (end === -1 && rest.length <= LONGEST_MARK) break;
      const mark = end > LONGEST_MARK ? undefined : parseMark(rest.slice(START.length, end));
      if (mark === undefined) {
        // What only begins like a mark is output too.
        take(rest.slice(0, START.length));
        rest = rest.slice(START.length);
      } else {
        file = mark || undefined;
        rest = rest.slice(end + 1);
      }
    }
    onMark(file);
  });
  return () => output;
}

/** Characters: a path as JSON, every one of its bytes escaped. */
const LONGEST_MARK = 32 * 1_024;

function parseMark(json: string): string | undefined {
  try {
    const mark: unknown = JSON.parse(json);
    return typeof mark === "string" ? mark : undefined;
  } catch {
    return undefined;
  }
}
