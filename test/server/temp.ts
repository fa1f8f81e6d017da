import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

/** A folder that is gone when the test ends. */
export function tempFolder(name = "pw"): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), `${name}-`)));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
