import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Cli } from "./invocation.ts";

/** A file to be written, by its absolute path. */
export type GeneratedFile = { file: string; content: string };

/**
 * Writes what is not as it should be, or with `check` only says so. Returns the exit code: 1 where
 * `check` found a difference.
 */
export function writeFiles(cli: Cli, files: readonly GeneratedFile[], check: boolean): number {
  const stale = files.filter(({ file, content }) => contentOf(file) !== content);
  for (const { file, content } of files) {
    const name = path.relative(process.cwd(), file);
    const changed = stale.some((other) => other.file === file);
    if (changed && !check) {
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, content);
    }
    cli.output.line(`${changed ? (check ? "out of date" : "written") : "up to date"}  ${name}`);
  }
  return check && stale.length > 0 ? 1 : 0;
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
