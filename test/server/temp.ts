import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished, vi } from "vitest";

/** Gives the test a system's temporary folder of its own, with a path short enough for sockets. */
export function ownTmpdir(): void {
  vi.stubEnv("TMPDIR", tempFolder("t"));
  onTestFinished(() => void vi.unstubAllEnvs());
}

// Servers that lost a race for the folder may still be leaving it.
const GONE = { recursive: true, force: true, maxRetries: 5 };

/** A folder that is gone when the test ends. */
export function tempFolder(name = "pw"): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), `${name}-`)));
  onTestFinished(() => rmSync(folder, GONE));
  return folder;
}
