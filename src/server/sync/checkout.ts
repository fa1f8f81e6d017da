import { listTree } from "../../sources/git/commits.ts";
import { git, type Repository } from "../../sources/git/repository.ts";
import { readDirtyFiles } from "../../sources/git/status.ts";
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
  const [head, dirty, tree] = await Promise.all([
    ask(repository, "log", "-1", "--format=%H%x00%an <%ae>%x00%ct"),
    readDirtyFiles(repository.workTree, roots),
    listTree(repository, "HEAD", roots).catch(() => undefined),
  ]);
  const [commit = "", author = "", seconds = ""] = head?.trimEnd().split("\0") ?? [];
  if (commit === "" || dirty === undefined || !tree) return undefined;
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
