import { lstat, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { fileChange } from "../../resource-managers/pull-request/results.ts";
import type { Folders } from "./checkout.ts";
import { git } from "./git.ts";

/** What differs from the head in a worktree. `refused`: a mode or kind of file that changed. */
export const treeChanges = z.object({
  changes: z.array(fileChange),
  refused: z.array(z.string()),
});
export type TreeChanges = z.output<typeof treeChanges>;

/**
 * Reads what an agent left in its worktree, as data. Git is told where its own files are: the agent
 * may have laid out others in the worktree, which name programs to run.
 */
export async function readChanges(
  { repository, tree }: Folders,
  signal: AbortSignal,
): Promise<TreeChanges> {
  const env = {
    GIT_DIR: path.join(repository, "worktrees", path.basename(tree)),
    GIT_WORK_TREE: tree,
  };
  await git(tree, ["add", "--all"], { signal, env });
  // `:OLDMODE NEWMODE OLDSHA NEWSHA STATUS NUL PATH NUL`; renames are a deletion and a new file.
  const words = ["diff", "--cached", "--raw", "--no-renames", "-z", "HEAD"];
  const fields = (await git(tree, words, { signal, env })).split("\0");
  const read: TreeChanges = { changes: [], refused: [] };
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [oldMode = "", newMode = "", , , status = ""] = (fields[index] ?? "").slice(1).split(" ");
    const name = fields[index + 1] ?? "";
    if (status === "D") read.changes.push({ path: name, content: null });
    else if (!isPlain(status, oldMode, newMode)) read.refused.push(name);
    else read.changes.push({ path: name, content: await contentOf(path.join(tree, name)) });
  }
  return read;
}

function isPlain(status: string, oldMode: string, newMode: string): boolean {
  if (status === "A") return newMode === "100644";
  return status === "M" && oldMode === newMode && newMode === "100644";
}

async function contentOf(file: string): Promise<string> {
  if (!(await lstat(file)).isFile()) throw new Error(`${file} is no plain file`);
  return (await readFile(file)).toString("base64");
}

/** Makes a worktree hold the head and these changes, and nothing that earlier tests left there. */
export async function writeChanges(
  tree: string,
  { changes }: TreeChanges,
  signal: AbortSignal,
): Promise<void> {
  await git(tree, ["reset", "--quiet", "--hard"], { signal });
  await git(tree, ["clean", "--quiet", "-ffdx"], { signal });
  for (const { path: name, content } of changes) {
    const file = path.join(tree, name);
    if (content === null) await rm(file, { force: true });
    else {
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, Buffer.from(content, "base64"));
    }
  }
}
