import { mkdtempSync, mkdirSync, realpathSync, rmSync, statfsSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/** Linux's `TMPFS_MAGIC`: a folder in memory, where fsync costs nothing and figures would lie. */
const TMPFS = 0x01021994;

const workspaces = new Set<string>();

/** Where benchmarks put their files: on a disk. */
export function workRoot(): string {
  const temporary = realpathSync(os.tmpdir());
  if (statfsSync(temporary).type !== TMPFS) return temporary;
  mkdirSync(".bench", { recursive: true });
  return realpathSync(".bench");
}

/** A fresh folder, removed when the run ends. */
export function makeWorkspace(): string {
  const folder = mkdtempSync(path.join(workRoot(), "pi-workflows-bench-"));
  workspaces.add(folder);
  return folder;
}

export function removeWorkspaces(): void {
  for (const folder of workspaces) rmSync(folder, { recursive: true, force: true });
  workspaces.clear();
}
