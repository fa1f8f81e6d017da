import { randomUUID } from "node:crypto";
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
  // Subjects and names can hold anything else, and be written to look like the next commit.
  const mark = randomUUID();
  const log = await git(repository, [
    "--literal-pathspecs",
    "log",
    "-z",
    "--no-renames",
    ...(what === "removed" ? ["--diff-filter=D"] : []),
    "--name-only",
    `--max-count=${COMMITS_SEARCHED}`,
    `--format=${mark}%H%n%T%n%an <%ae>%n%ct%n%s`,
    commits,
    "--",
    ...(files.length > FILES_NAMED ? [] : files),
  ]).catch(() => "");
  const wanted = new Set(files);
  for (const record of log.split(mark).slice(1)) {
    const [head = "", first = "", ...others] = record.split("\0");
    const [id = "", tree = "", author = "", seconds = "", subject = ""] = head.split("\n");
    // git sets the end of a line between its text and the first name.
    for (const name of [first.replace(/^\n/, ""), ...others]) {
      if (!wanted.has(name) || found.has(name)) continue;
      const committedAt = Number(seconds) * 1_000;
      found.set(name, { id, kind: "commit", tree, author, committedAt, subject });
    }
  }
  return found;
}
