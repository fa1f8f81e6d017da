import { listTree } from "../../sources/git/commits.ts";
import { git, type Repository } from "../../sources/git/repository.ts";
import type { FileOrigin } from "./source.ts";

/** What git says of the files of a work tree. */
export type Checkout = { originOf(file: string | undefined): FileOrigin };

/**
 * Reads the commit that is checked out, and which files below `roots` differ from it. Undefined
 * where there is no commit yet.
 */
export async function readCheckout(
  repository: Repository,
  roots: string[],
): Promise<Checkout | undefined> {
  const [head, status, tree] = await Promise.all([
    ask(repository, "log", "-1", "--format=%H%x00%an <%ae>%x00%ct"),
    ask(repository, "status", "--porcelain", "-z", "--untracked-files=all", "--", ...roots),
    listTree(repository, "HEAD", roots).catch(() => undefined),
  ]);
  const [commit = "", author = "", seconds = ""] = head?.trimEnd().split("\0") ?? [];
  if (commit === "" || status === undefined || !tree) return undefined;
  const dirty = dirtyFiles(status);
  return {
    originOf(file) {
      const isDirty = file === undefined || dirty.has(file) || !tree.has(file);
      const blob = isDirty ? undefined : tree.get(file)?.oid;
      return {
        ...(blob === undefined ? {} : { blob }),
        commit,
        author,
        committedAt: Number(seconds) * 1_000,
        dirty: isDirty,
      };
    },
  };
}

function ask({ workTree }: Repository, ...args: string[]): Promise<string | undefined> {
  return git(workTree, args).catch(() => undefined);
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
