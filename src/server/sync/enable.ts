import { existsSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { PiWorkflowsError } from "../../model/errors.ts";
import type { SyncSet, SyncSource } from "../../model/sync.ts";
import { findRepository, git, type Repository } from "../../sources/git/repository.ts";
import { SPECS_FOLDER } from "../../sources/project.ts";
import type { SyncEnable } from "../protocol.ts";
import { userName } from "./sync-once.ts";

/**
 * The set that a person asks for, checked: the project is one work tree, it is the only one of its
 * repository or named outright, and its source and roots make sense.
 * @throws USAGE, CONFLICT, GIT_FAILED
 */
export async function setToEnable(
  request: SyncEnable,
  others: readonly SyncSet[],
  now: number,
): Promise<SyncSet> {
  const { project, prune, guard } = request;
  checkProject(project);
  const repository = await findRepository(project);
  if (repository && repository.workTree !== project) {
    throw usage(`${project} is not the top of its work tree`, `Use ${repository.workTree}.`);
  }
  if (repository) refuseOtherWorkTrees(request, repository, others);
  const before = others.find((set) => set.project === project);
  return {
    project,
    ...(repository ? { commonDir: repository.commonDir } : {}),
    source: await sourceOf(request, repository, before),
    roots: request.roots ? rootsOf(project, request.roots) : (before?.roots ?? [SPECS_FOLDER]),
    prune: prune ?? before?.prune ?? true,
    ...optional("guard", guard ?? before?.guard),
    suspended: before?.suspended ?? false,
    enabledAt: before?.enabledAt ?? now,
    enabledBy: userName(),
  };
}

function optional<Name extends string, T>(name: Name, value: T | undefined) {
  return (value === undefined ? {} : { [name]: value }) as { [N in Name]?: T };
}

function checkProject(project: string): void {
  if (!path.isAbsolute(project) || !existsSync(project) || !statSync(project).isDirectory()) {
    throw usage(`${project} is not a folder`, "Give the path of a work tree.");
  }
  if (realpathSync(project) === project) return;
  throw usage(`${project} is not a canonical path`, `Use ${realpathSync(project)}.`);
}

// A linked work tree comes and goes with somebody's task, and a second one would run every spec of
// the branch twice; so both need to be meant.
function refuseOtherWorkTrees(
  { project, worktree }: SyncEnable,
  repository: Repository,
  others: readonly SyncSet[],
): void {
  const named = worktree !== undefined && isNamed(worktree, repository);
  if (worktree !== undefined && !named) {
    throw usage(
      `${worktree} does not name the work tree ${project}`,
      `Its names are ${namesOf(repository).join(" and ")}.`,
    );
  }
  if (named) return;
  const first = others.find(
    (set) => set.commonDir === repository.commonDir && set.project !== project,
  );
  const hint = `If you mean this one too, name it: sync enable --worktree ${namesOf(repository)[0]}.`;
  if (first) {
    throw new PiWorkflowsError(
      "CONFLICT",
      `this repository is already synced from ${first.project}, since ` +
        `${new Date(first.enabledAt).toISOString()}; ${project} is another work tree of it`,
      { hint, details: { project, first: first.project } },
    );
  }
  if (repository.gitDir !== repository.commonDir) {
    throw new PiWorkflowsError("CONFLICT", `${project} is a linked work tree`, { hint });
  }
}

function isNamed(worktree: string, repository: Repository): boolean {
  return namesOf(repository).includes(worktree.replace(/(?<=.)\/+$/, ""));
}

function namesOf({ workTree, gitDir, commonDir }: Repository): string[] {
  const name = gitDir === commonDir ? path.basename(workTree) : path.basename(gitDir);
  return [name, workTree];
}

async function sourceOf(
  { project, branch, workingTree }: SyncEnable,
  repository: Repository | undefined,
  before: SyncSet | undefined,
): Promise<SyncSource> {
  if (workingTree === true && branch !== undefined) {
    throw usage("a branch and the work tree can't both be the source", "Give one of them.");
  }
  if (workingTree === true) return { kind: "working-tree" };
  if (!repository) {
    if (branch === undefined) return { kind: "working-tree" };
    throw usage(`${project} is no git work tree, so it has no branch ${branch}`, "Leave it out.");
  }
  if (branch !== undefined)
    return { kind: "committed", branch: await checkBranch(project, branch) };
  if (before && workingTree === undefined) return before.source;
  return { kind: "committed", branch: await currentBranch(repository) };
}

async function checkBranch(project: string, branch: string): Promise<string> {
  const name = branch.replace(/^refs\/heads\//, "");
  try {
    await git(project, ["check-ref-format", `refs/heads/${name}`]);
  } catch (cause) {
    throw new PiWorkflowsError("USAGE", `${branch} can't be the name of a branch`, { cause });
  }
  return name;
}

async function currentBranch({ workTree }: Repository): Promise<string> {
  const ref = await git(workTree, ["symbolic-ref", "--quiet", "HEAD"]).catch(() => "");
  const name = /^refs\/heads\/(.+)$/.exec(ref.trim())?.[1];
  if (name !== undefined) return name;
  throw usage(`no branch is checked out in ${workTree}`, "Name one: sync enable --branch NAME.");
}

/** Folders relative to the project, sorted, without those that lie in others. */
function rootsOf(project: string, roots: readonly string[]): string[] {
  const relative = roots.map((root) => {
    const inside = path.relative(project, path.resolve(project, root)).split(path.sep).join("/");
    if (inside.startsWith("..") || path.isAbsolute(inside)) {
      throw usage(`the root ${root} lies outside ${project}`, "Roots are folders of the project.");
    }
    return inside === "" ? "." : inside;
  });
  const sorted = [...new Set(relative)].sort();
  return sorted.includes(".")
    ? ["."]
    : sorted.filter((root) => !sorted.some((other) => root.startsWith(`${other}/`)));
}

function usage(message: string, hint: string): PiWorkflowsError {
  return new PiWorkflowsError("USAGE", message, { hint });
}
