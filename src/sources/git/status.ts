import { git } from "./repository.ts";

/**
 * Files below `paths` (all where there are none) that are not as the commit that is checked out has
 * them, relative to the top of the work tree. Undefined where git can't tell.
 */
export async function readDirtyFiles(
  workTree: string,
  paths: readonly string[],
): Promise<Set<string> | undefined> {
  const how = ["--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all"];
  try {
    const settings = await noFilters(workTree);
    return dirtyFiles(await git(workTree, ["status", ...how, "--", ...paths], settings));
  } catch {
    return undefined;
  }
}

/**
 * To compare a file git runs the filter that its attributes name, a program of whoever wrote the
 * settings. Those that the repository brings itself are taken away; files that they would change are
 * then told as dirty. A person's own, such as those of Git LFS, stay.
 */
async function noFilters(workTree: string): Promise<Record<string, string>> {
  const listed = await git(workTree, ["config", "--null", "--show-scope", "--name-only", "--list"]);
  const fields = listed.split("\0");
  const own = fields.flatMap((scope, index) => {
    const name = fields[index + 1] ?? "";
    const isTheirs = index % 2 === 0 && (scope === "local" || scope === "worktree");
    return isTheirs && name.startsWith("filter.") ? [name] : [];
  });
  return Object.fromEntries(own.map((name) => [name, ""]));
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
