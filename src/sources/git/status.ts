import { git } from "./repository.ts";

/**
 * Files below `paths` (all where there are none) that are not as the commit that is checked out has
 * them, relative to the top of the work tree. Undefined where git can't tell.
 */
export async function readDirtyFiles(
  workTree: string,
  paths: readonly string[],
): Promise<Set<string> | undefined> {
  const command = ["status", "--porcelain", "-z", "--untracked-files=all", "--", ...paths];
  const status = await git(workTree, command).catch(() => undefined);
  return status === undefined ? undefined : dirtyFiles(status);
}

// git-status(1), "Porcelain Format Version 1" with -z: `XY path`, and for a rename the old path
// follows as an entry of its own.
function dirtyFiles(status: string): Set<string> {
  const entries = status.split("\0").filter((entry) => entry !== "");
  const files = new Set<string>();
  for (let index = 0; index < entries.length; index += 1) {
    const entry = entries[index] as string;
    files.add(entry.slice(3));
    if (/^[RC]|^.[RC]/.test(entry)) index += 1;
  }
  return files;
}
