import { existsSync } from "node:fs";
import path from "node:path";

/** A git operation that has begun on a work tree and is not done: its files are between two states. */
export type GitOperation = {
  /** `lock` is any command that is writing the index just now; the others wait for a person. */
  kind: "lock" | "merge" | "rebase" | "cherry-pick" | "revert";
  /** What shows it, in the work tree's own git folder. */
  file: string;
};

const MARKS: readonly [mark: string, kind: GitOperation["kind"]][] = [
  ["index.lock", "lock"],
  ["MERGE_HEAD", "merge"],
  ["rebase-merge", "rebase"],
  ["rebase-apply", "rebase"],
  ["CHERRY_PICK_HEAD", "cherry-pick"],
  ["REVERT_HEAD", "revert"],
];

/** Names in a git folder whose coming and going says that an operation begins or ends. */
export const OPERATION_MARKS: ReadonlySet<string> = new Set(MARKS.map(([mark]) => mark));

/** The operation under way on the work tree that `gitDir` belongs to, if any. */
export function operationUnderWay(gitDir: string): GitOperation | undefined {
  const found = MARKS.find(([mark]) => existsSync(path.join(gitDir, mark)));
  return found === undefined ? undefined : { file: found[0], kind: found[1] };
}
