import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");

/**
 * Builds entry points (`src/runner/child.ts`, …) into `dist/` where they are missing or older than
 * `src/`. Safe to call from several test processes at once: each builds into a folder of its own
 * and moves the files into place one by one.
 */
export function ensureBuilt(...entries: string[]): void {
  const newest = newestSource();
  if (entries.every((entry) => modifiedAt(builtFile(entry)) >= newest)) return;
  execFileSync(process.execPath, ["scripts/build.mjs", "--no-types", ...entries], { cwd: ROOT });
}

function builtFile(entry: string): string {
  return path.join(ROOT, entry.replace(/^src\//, "dist/").replace(/\.ts$/, ".js"));
}

function modifiedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function newestSource(): number {
  const files = readdirSync(path.join(ROOT, "src"), { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".ts"))
    .reduce((newest, file) => Math.max(newest, modifiedAt(path.join(ROOT, "src", file))), 0);
}
