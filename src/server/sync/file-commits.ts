import type { SyncRevision } from "../../model/sync.ts";
import { git, type Repository } from "../../sources/git/repository.ts";

// A history may be long, and people wait for the answer; what is older is told without a commit.
const COMMITS_SEARCHED = 1_000;
// More paths than this are not named to git: the command line has an end.
const FILES_NAMED = 200;

/** Which commits to search, and for what. */
export type Search = {
  /** As `git log` takes them: `NEW`, or `OLD..NEW`. */
  commits: string;
  /** `removed` finds deletions only. */
  what: "removed" | "changed";
};

/**
 * The newest commit that removed or changed each of some files. Files for which the commits searched
 * hold none (they were rewritten, or are not in a shallow clone) are left out.
 */
export async function newestCommits(
  repository: Repository,
  files: readonly string[],
  { commits, what }: Search,
): Promise<Map<string, SyncRevision>> {
  const found = new Map<string, SyncRevision>();
  if (files.length === 0) return found;
  const log = await git(repository, [
    "--literal-pathspecs",
    "log",
    "-z",
    "--no-renames",
    ...(what === "removed" ? ["--diff-filter=D"] : []),
    "--name-only",
    `--max-count=${COMMITS_SEARCHED}`,
    "--format=%x01%H%x02%T%x02%an <%ae>%x02%ct%x02%s%x02",
    commits,
    "--",
    ...(files.length > FILES_NAMED ? [] : files),
  ]).catch(() => "");
  const wanted = new Set(files);
  for (const record of log.split("\u0001").slice(1)) {
    const [id = "", tree = "", author = "", seconds = "", subject = "", names = ""] =
      record.split("\u0002");
    for (const name of names.split("\0").map((text) => text.replace(/^\n/, ""))) {
      if (!wanted.has(name) || found.has(name)) continue;
      const committedAt = Number(seconds) * 1_000;
      found.set(name, { id, kind: "commit", tree, author, committedAt, subject });
    }
  }
  return found;
}
