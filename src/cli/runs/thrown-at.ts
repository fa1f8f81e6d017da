import path from "node:path";
import type { NodeError } from "../../model/run.ts";

/** `at f (/p/x.ts:4:12)` and `at /p/x.ts:4:12`: code of authors has paths, packages and Node have URLs. */
const FRAME = /^\s*at (?:.*\()?(\/.+):(\d+):(\d+)\)?$/;

/**
 * Where in an author's code an error was thrown, as `FILE:LINE:COLUMN`, relative to the project where it
 * lies in it; undefined where its stack does not tell.
 */
export function thrownAt({ stack = "" }: NodeError, project: string): string | undefined {
  for (const line of stack.split("\n")) {
    const [, file, row, column] = FRAME.exec(line) ?? [];
    if (file === undefined || file.includes("/node_modules/")) continue;
    const shown = file.startsWith(`${project}/`) ? path.relative(project, file) : file;
    return `${shown}:${row}:${column}`;
  }
  return undefined;
}
