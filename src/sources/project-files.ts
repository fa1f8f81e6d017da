import { readFileSync } from "node:fs";
import path from "node:path";
import { type CommitTsconfig, readTsconfig } from "./commit-tsconfig.ts";
import { openCommitTree, type CommitTree } from "./git/commit-tree.ts";
import { isOwnCode } from "./installed.ts";
import {
  DEFINITIONS_FOLDER,
  displayPath,
  globalWorkflowsFolder,
  WORKFLOWS_FOLDER,
} from "./project.ts";

/** The state of a repository that a load reads in place of the disk. */
export type RevisionSource = { gitDir: string; commit: string };

/** The files of a project as one load sees them. Paths are absolute. */
export type ProjectFiles = {
  /** @throws what `readFault` can tell */
  read: (file: string) => Promise<Buffer>;
  /** How many reads are worth having under way at once. */
  ahead: number;
  /** By folder of definitions of the project, the names in it; undefined where the disk says. */
  definitionNames: ReadonlyMap<string, readonly string[]> | undefined;
  /** Undefined where all is on the disk, where the bundler finds it by itself. */
  commit: CommittedFiles | undefined;
  close: () => Promise<void>;
};

/** What a bundler must be told of a project that is read from a commit. */
export type CommittedFiles = {
  tree: CommitTree;
  tsconfig: CommitTsconfig;
  /** Whether a file is one of the commit's, rather than a package's or this product's own. */
  holds: (file: string) => boolean;
  /** Path from the top of the tree. */
  inTree: (file: string) => string;
  /** The way back. */
  ofTree: (path: string) => string;
};

const DISK: ProjectFiles = {
  // Nothing is gained by reading small files in the background, and a good deal is lost.
  read: (file) => Promise.resolve(readFileSync(file)),
  ahead: 1,
  definitionNames: undefined,
  commit: undefined,
  close: () => Promise.resolve(),
};

const READ_AHEAD = 64;

/**
 * The files of a project: as the disk has them, or as `revision` does, whose tree is the project.
 * @throws PiWorkflowsError GIT_FAILED where there is no such commit
 */
export async function openProjectFiles(
  { project, globalFolder }: { project: string; globalFolder: string },
  revision: RevisionSource | undefined,
): Promise<ProjectFiles> {
  if (revision === undefined) return DISK;
  const tree = await openCommitTree(revision, revision.commit);
  // A home folder may be a project, and definitions for every project lie in it.
  const global = [globalFolder, globalWorkflowsFolder(globalFolder)];
  const commit: CommittedFiles = {
    tree,
    tsconfig: await readTsconfig(tree),
    holds: (file) =>
      file.startsWith(`${project}${path.sep}`) &&
      !global.some((folder) => file.startsWith(`${folder}${path.sep}`)) &&
      !displayPath(project, file).split("/").includes("node_modules") &&
      !isOwnCode(file),
    inTree: (file) => displayPath(project, file),
    ofTree: (inTree) => path.join(project, inTree),
  };
  return {
    read: (file) =>
      commit.holds(file) ? tree.read(commit.inTree(file)) : Promise.resolve(readFileSync(file)),
    ahead: READ_AHEAD,
    definitionNames: await namesIn(tree, [DEFINITIONS_FOLDER, WORKFLOWS_FOLDER]),
    commit,
    close: () => tree.close(),
  };
}

async function namesIn(
  tree: CommitTree,
  folders: readonly string[],
): Promise<Map<string, readonly string[]>> {
  const names = new Map<string, readonly string[]>();
  for (const folder of folders) names.set(folder, await tree.names(folder));
  return names;
}
