import type { Problem } from "../../model/manifest.ts";
import { isBelow, WORKFLOWS_FOLDER } from "../project.ts";
import { SPEC_FILE } from "../spec-file.ts";
import { FileFault, problemOf } from "../text.ts";
import { openCommitTree, type CommitTree } from "./commit-tree.ts";
import { listTree, type TreeFile } from "./commits.ts";
import type { Repository } from "./repository.ts";

/** The spec files of a commit: by path from the top of its tree, the object id of the content. */
export type CommittedSpecs = {
  specs: Map<string, string>;
  problems: Problem[];
  /** Whether anything lies in the folder of workflows. */
  hasWorkflows: boolean;
};

/**
 * Finds the spec files of a commit below `roots`, by the rules that hold on disk: links to files of
 * the same tree are followed, links to folders and submodules are not.
 * @throws PiWorkflowsError GIT_FAILED
 */
export async function findCommittedSpecs(
  repository: Pick<Repository, "gitDir">,
  commit: string,
  roots: string[],
): Promise<CommittedSpecs> {
  // Asked for along with the roots, since it is one call; a root at the top lists everything.
  const asked = roots.every(isNotTop) ? [...roots, WORKFLOWS_FOLDER] : [];
  const tree = await listTree(repository, commit, asked, { submodules: true });
  const { listed, hasWorkflows } = splitOff(tree, roots);
  const found: CommittedSpecs = { specs: new Map(), problems: [], hasWorkflows };
  const links: string[] = [];
  for (const [file, { oid, mode }] of listed) {
    if (mode === "submodule") found.problems.push(problemOf(file, SUBMODULE));
    else if (!isSpec(file)) continue;
    else if (mode === "symlink") links.push(file);
    else found.specs.set(file, oid);
  }
  const bare = roots.filter((root) => isNotTop(root) && !holdsAny(root, listed));
  const linked = roots.filter((root) => listed.get(root)?.mode === "symlink" && !isSpec(root));
  if (links.length + bare.length + linked.length > 0) {
    const opened = await openCommitTree(repository, commit);
    try {
      for (const link of links) await follow(link, opened, found);
      for (const root of bare) await lookInto(root, opened, found);
      const real = await Promise.all(linked.map((root) => lookInto(root, opened, found)));
      const folders = real.filter((folder) => folder !== undefined);
      if (folders.length > 0) merge(found, await findCommittedSpecs(repository, commit, folders));
    } finally {
      await opened.close();
    }
  }
  return found;
}

/** Takes what lies with the workflows, and with no root, out of a list. */
function splitOff(
  tree: ReadonlyMap<string, TreeFile>,
  roots: readonly string[],
): { listed: ReadonlyMap<string, TreeFile>; hasWorkflows: boolean } {
  const others = new Set<string>();
  let hasWorkflows = false;
  for (const file of tree.keys()) {
    if (!isBelow(WORKFLOWS_FOLDER, file)) continue;
    hasWorkflows = true;
    if (!roots.some((root) => isBelow(root, file))) others.add(file);
  }
  if (others.size === 0) return { listed: tree, hasWorkflows };
  return { listed: new Map([...tree].filter(([file]) => !others.has(file))), hasWorkflows };
}

function merge(found: CommittedSpecs, more: CommittedSpecs): void {
  for (const [file, oid] of more.specs) found.specs.set(file, oid);
  found.problems.push(...more.problems);
}

const SUBMODULE =
  "is a submodule, whose files are another repository's; sync that one, or move the specs here";

function isNotTop(root: string): boolean {
  return root !== "." && root !== "";
}

function isSpec(file: string): boolean {
  return SPEC_FILE.test(file) && !file.split("/").includes("node_modules");
}

function holdsAny(root: string, listed: ReadonlyMap<string, TreeFile>): boolean {
  for (const file of listed.keys()) if (isBelow(root, file)) return true;
  return false;
}

async function follow(link: string, tree: CommitTree, found: CommittedSpecs): Promise<void> {
  try {
    const target = await tree.locate(link);
    if (target.kind === "folder") {
      found.problems.push(
        problemOf(link, `a link to a folder is not followed; name ${target.path} instead`),
      );
    } else if (found.specs.has(target.path)) {
      found.problems.push(problemOf(link, `this is the same file as ${target.path}; keep one`));
    } else found.specs.set(link, target.oid);
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    const message = thrown.isAbsence ? "the symbolic link leads nowhere" : thrown.message;
    found.problems.push(problemOf(link, message));
  }
}

/**
 * The folder that a root leads to. git lists nothing below a submodule or a link, so such a root
 * would look like an empty folder.
 */
async function lookInto(
  root: string,
  tree: CommitTree,
  found: CommittedSpecs,
): Promise<string | undefined> {
  try {
    const node = await tree.locate(root);
    return node.kind === "folder" ? node.path : undefined;
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    if (!thrown.isAbsence) found.problems.push(problemOf(root, thrown.message));
    return undefined;
  }
}
