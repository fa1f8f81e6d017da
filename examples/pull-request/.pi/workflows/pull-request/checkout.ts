import { mkdir, rm } from "node:fs/promises";
import path from "node:path";
import type { WorkInput } from "../../resource-managers/pull-request/results.ts";
import { git, loginFor } from "./git.ts";

/** Commits of each side: enough to find where a branch left its base. */
const DEPTH = "200";

/** The folders of one run: there is but one of a kind at once, and nothing else works in them. */
export function foldersOf(input: WorkInput, kind: "review" | "repair") {
  const home = path.join(input.workspace, `${kind}-${input.headSha.slice(0, 12)}`);
  return {
    home,
    repository: path.join(home, "repository.git"),
    /** Where an agent works. */
    tree: path.join(home, "tree"),
    /** Where the tests run: on the head and the changes, and on nothing else that lies about. */
    tested: path.join(home, "tested"),
  };
}
export type Folders = ReturnType<typeof foldersOf>;

/**
 * Fetches the very head into a repository of its own and checks it out. Done anew each time, so that
 * it may be repeated. @throws Error where the pull request has another head by now
 */
export async function checkOut(
  input: WorkInput,
  folders: Folders,
  signal: AbortSignal,
): Promise<void> {
  const { remote, number, headSha, baseRef, apiUrl } = input;
  const { home, repository } = folders;
  await rm(home, { recursive: true, force: true });
  await mkdir(repository, { recursive: true });
  await git(repository, ["init", "--bare", "--quiet"], { signal });
  const refs = [
    `+refs/pull/${number}/head:refs/heads/head`,
    `+refs/heads/${baseRef}:refs/heads/base`,
  ];
  const words = ["fetch", "--quiet", "--no-tags", `--depth=${DEPTH}`, "--", remote, ...refs];
  await git(repository, words, {
    signal,
    env: await loginFor(remote, apiUrl),
  });
  const fetched = (await git(repository, ["rev-parse", "refs/heads/head"], { signal })).trim();
  if (fetched !== headSha) {
    throw new Error(`the head of pull request ${number} is ${fetched} by now, not ${headSha}`);
  }
  await addTree(folders, folders.tree, headSha, signal);
}

/** A worktree at the head, as it was committed. */
export async function addTree(
  { repository }: Folders,
  tree: string,
  headSha: string,
  signal: AbortSignal,
): Promise<void> {
  await rm(tree, { recursive: true, force: true });
  await git(repository, ["worktree", "prune"], { signal });
  await git(repository, ["worktree", "add", "--quiet", "--detach", tree, headSha], { signal });
}

export async function removeFolders({ home }: Folders): Promise<void> {
  await rm(home, { recursive: true, force: true, maxRetries: 3 });
}
