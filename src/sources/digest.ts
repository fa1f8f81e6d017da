import { hash } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import type { ManagerProposal } from "../model/batch.ts";
import type { WorkflowProposal } from "../model/graph.ts";
import type { ResolvedManager } from "../model/manifest.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import {
  type DefinitionFiles,
  type DefinitionKind,
  findDefinitions,
  RESOURCE_MANAGERS,
  WORKFLOWS,
} from "./definition-files.ts";
import { findRepository } from "./git/repository.ts";
import { openProjectFiles, type ProjectFiles, type RevisionSource } from "./project-files.ts";
import { FileFault } from "./text.ts";

/** The digest of a definition: over its bundle and over each local file that went in. */
export function digestOf(bundle: string, inputs: ResolvedManager["inputs"]): string {
  const files = inputs
    .map((input) => [input.path, input.sha256] as const)
    .sort(([left], [right]) => (left < right ? -1 : 1));
  return hash("sha256", JSON.stringify([files, hash("sha256", bundle, "hex")]), "hex");
}

type Proposal = ManagerProposal | WorkflowProposal;

/** A proposal says what it is of: only a workflow has a graph. */
function kindOf(proposal: Proposal): DefinitionKind {
  return "graph" in proposal ? WORKFLOWS : RESOURCE_MANAGERS;
}

/**
 * Makes sure that a proposed definition is still what the disk says: its path is the one
 * that the discovery rules give its name, every file that went in has the bytes that were bundled,
 * and the digest is theirs. `globalFolder` is that of resource managers for every project.
 * @throws PiWorkflowsError DEFINITION_CHANGED
 */
export function verifyInputs(project: string, proposal: Proposal, globalFolder: string): void {
  const definitions = findDefinitions(kindOf(proposal), project, globalFolder);
  checkPath(proposal, definitions);
  const hashes = new Map(proposal.inputs.map((input) => [input.path, diskHash(input.path)]));
  checkContent(proposal, { file: realpathSync(proposal.path), hashes });
}

/**
 * `verifyInputs` for a definition that was found in a commit: the discovery rules and the files are
 * those of that commit, which the project's own repository must have. Files of packages, and those of
 * definitions for every project, are on disk.
 * @throws PiWorkflowsError DEFINITION_CHANGED, GIT_FAILED
 */
export async function verifyCommittedInputs(
  project: string,
  proposal: Proposal & { revision: RevisionSource },
  globalFolder: string,
): Promise<void> {
  const repository = await findRepository(project);
  if (repository?.workTree !== project) {
    throw changed(proposal, `${project} is not the top of a git work tree`);
  }
  const { commit } = proposal.revision;
  const files = await openProjectFiles(
    { project, globalFolder },
    { gitDir: repository.gitDir, commit },
  );
  try {
    checkPath(
      proposal,
      findDefinitions(kindOf(proposal), project, globalFolder, files.definitionNames),
    );
    const file = await realFile(files, proposal, globalFolder);
    const hashes = new Map<string, string | undefined>();
    for (const input of proposal.inputs) hashes.set(input.path, await hashIn(files, input.path));
    checkContent(proposal, { file, hashes });
  } catch (thrown) {
    throw thrown instanceof FileFault ? changed(proposal, thrown.message) : thrown;
  } finally {
    await files.close();
  }
}

function checkPath(proposal: Proposal, { byName }: DefinitionFiles): void {
  const found = byName.get(proposal.name);
  if (found?.path === proposal.path && found.scope === proposal.scope) return;
  throw changed(proposal, `is not where ${proposal.path} was`);
}

/** What is there now: the definition's file, links followed, and the hash of each input. */
type Actual = { file: string; hashes: ReadonlyMap<string, string | undefined> };

function checkContent(proposal: Proposal, { file, hashes }: Actual): void {
  if (!proposal.inputs.some((input) => input.path === file)) {
    throw changed(proposal, `does not list ${proposal.path} among its files`);
  }
  for (const input of proposal.inputs) {
    if (hashes.get(input.path) !== input.sha256) throw changed(proposal, `${input.path} differs`);
  }
  if (digestOf(proposal.bundle, proposal.inputs) !== proposal.digest) {
    throw changed(proposal, "has a digest that is not of its bundle and files");
  }
}

/** Where the definition really lies: in the commit, or in the user's folder, which is on disk. */
async function realFile(
  { commit }: ProjectFiles,
  proposal: Proposal,
  globalFolder: string,
): Promise<string> {
  if (commit?.holds(proposal.path)) {
    return commit.ofTree((await commit.tree.locate(commit.inTree(proposal.path))).path);
  }
  const folder = realpathSync(kindOf(proposal).globalFolder(globalFolder));
  const file = realpathSync(proposal.path);
  if (file.startsWith(`${folder}${path.sep}`)) return file;
  throw changed(proposal, `${proposal.path} leads out of ${folder}`);
}

async function hashIn(files: ProjectFiles, file: string): Promise<string | undefined> {
  try {
    return hash("sha256", await files.read(file), "hex");
  } catch {
    return undefined;
  }
}

function diskHash(file: string): string | undefined {
  try {
    return hash("sha256", readFileSync(file), "hex");
  } catch {
    // Gone or unreadable: not the file that was bundled, whatever the reason.
    return undefined;
  }
}

function changed(proposal: Proposal, what: string): PiWorkflowsError {
  return new PiWorkflowsError(
    "DEFINITION_CHANGED",
    `The definition of ${proposal.name} changed since it was read: ${what}`,
  );
}
