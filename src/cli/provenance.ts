import { git } from "../sources/git/repository.ts";
import { readDirtyFiles } from "../sources/git/status.ts";

/** What git says of the files that are applied. */
export type Provenance = {
  /** Absent outside a repository, and before its first commit. */
  commit?: string;
  /** True for a file that is not as `commit` has it. Relative to the project. */
  isDirty: (file: string) => boolean;
};

/** More paths than this are not named to git: the command line has an end. */
const MAX_PATHS = 500;

/** What git answers; undefined where there is no git, no repository or no such commit. */
async function ask(project: string, ...args: string[]): Promise<string | undefined> {
  return git(project, args).catch(() => undefined);
}

/** Asks git for the commit of the working tree and for the files that differ from it. */
export async function readProvenance(
  project: string,
  files: readonly string[],
): Promise<Provenance> {
  const paths = files.length > MAX_PATHS ? [] : files;
  const [head, dirty] = await Promise.all([
    ask(project, "rev-parse", "HEAD"),
    readDirtyFiles(project, paths),
  ]);
  const commit = head?.trim();
  if (!commit || dirty === undefined) return { isDirty: () => false };
  return { commit, isDirty: (file) => dirty.has(file) };
}

/** A commit as people know it. */
export type CommitNote = { author: string; at: string; subject: string };

/** Author, time and subject of a commit; undefined where git does not know it. */
export async function describeCommit(
  project: string,
  commit: string,
): Promise<CommitNote | undefined> {
  const format = "--format=%an%x00%cI%x00%s";
  const text = await ask(project, "log", "-1", format, commit, "--");
  const [author, at, subject] = text?.trimEnd().split("\0") ?? [];
  return author && at && subject !== undefined ? { author, at, subject } : undefined;
}
