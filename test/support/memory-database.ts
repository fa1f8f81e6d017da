import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { openDatabase } from "../../src/store/sqlite/database.ts";

// Where there is such a folder: a disk that is waited for after each commit makes them ten times slower.
const MEMORY = "/dev/shm";
let folder: string | undefined;
let files = 0;

/** A new database, copied from one that was made once: creating the tables takes the longest. */
export function newDatabaseFile(): string {
  if (folder === undefined) {
    const made = mkdtempSync(path.join(existsSync(MEMORY) ? MEMORY : tmpdir(), "pi-workflows-"));
    process.on("exit", () => rmSync(made, { recursive: true, force: true }));
    folder = made;
    openDatabase(path.join(folder, "template.sqlite")).close();
  }
  const file = path.join(folder, `${(files += 1)}.sqlite`);
  copyFileSync(path.join(folder, "template.sqlite"), file);
  return file;
}

export function removeDatabase(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}${suffix}`, { force: true });
}
