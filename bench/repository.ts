import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { clock } from "./host.ts";
import type { Project } from "./project.ts";

const run = promisify(execFile);

/** The project as a repository with one commit, packed as one that has been cloned is. */
export async function initRepository(project: Project): Promise<string> {
  await git(project, "init", "--initial-branch=main");
  const commit = await commitAll(project, "one");
  await git(project, "repack", "-a", "-d", "--quiet");
  return commit;
}

/** Runs git in the project; returns what it prints. */
export async function git({ root }: Project, ...args: string[]): Promise<string> {
  const person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
  const { stdout } = await run("git", ["-C", root, ...person, ...args]);
  return stdout.trim();
}

/** Commits the whole work tree, changed or not; returns the commit. */
export async function commitAll(project: Project, message: string): Promise<string> {
  await git(project, "add", "--all");
  await git(project, "commit", "--quiet", "--allow-empty", "--message", message);
  return git(project, "rev-parse", "HEAD");
}

/** When `main` took its commit, by `clock()`; some milliseconds early, never late. */
export function movedAt({ root }: Project): number {
  const { mtimeMs } = statSync(path.join(root, ".git", "refs", "heads", "main"));
  return mtimeMs - Date.now() + clock();
}
