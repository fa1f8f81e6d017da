import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Problem } from "../../model/manifest.ts";
import type { Resolution } from "../../runner/resolver.ts";
import { globalNames, WORKFLOWS } from "../../sources/definition-files.ts";
import { displayPath } from "../../sources/project.ts";
import type { Listing } from "./source.ts";

/** A local file that went into a workflow. */
type Input = { path: string; sha256: string };

/** What a sync keeps of a project's workflows, to tell whether they must be loaded again. */
export type WorkflowMemory = {
  /** Files of the project's own workflows. */
  inputs: Input[];
  /** Files of those for every project, whose changes no revision tells. */
  globalInputs: Input[];
  /** Names in the folder of workflows for every project. */
  globalNames: string[];
  /** What is wrong with workflows. Those are loaded each time, as spec files with problems are. */
  problems: Problem[];
};

/** Where workflows lie, and what they were. */
export type WorkflowState = {
  project: string;
  /** The folder of resource managers for every project. */
  globalFolder: string;
  memory: WorkflowMemory | undefined;
};

/**
 * Whether a revision's workflows must be loaded: there are some, and they are not what memory has. A
 * project without workflows pays for one folder's names, and starts no resolver for them.
 */
export function workflowsAreStale(state: WorkflowState, listing: Listing): boolean {
  const { project, globalFolder, memory } = state;
  const names = globalNames(WORKFLOWS, globalFolder);
  if (!listing.hasWorkflows && names.length === 0) return false;
  const { changed } = listing;
  if (!memory || !changed || memory.problems.length > 0) return true;
  if (names.join("\0") !== memory.globalNames.join("\0")) return true;
  for (const file of changed) if (file.startsWith(`${WORKFLOWS.folder}/`)) return true;
  return (
    memory.inputs.some(({ path }) => changed.has(displayPath(project, path))) ||
    isChangedOnDisk(memory.globalInputs)
  );
}

/** Whether any of these files is no longer what was loaded. */
export function isChangedOnDisk(inputs: readonly Input[]): boolean {
  return inputs.some(({ path: file, sha256 }) => fileHash(file) !== sha256);
}

function fileHash(file: string): string | undefined {
  try {
    return hash("sha256", readFileSync(file), "hex");
  } catch {
    // Gone or unreadable: loading tells what that means.
    return undefined;
  }
}

/** What to keep of workflows: as they were loaded now, as before, or nothing where there are none. */
export function rememberWorkflows(
  { globalFolder, memory }: WorkflowState,
  listing: Listing,
  loaded: Resolution | undefined,
): WorkflowMemory {
  const names = globalNames(WORKFLOWS, globalFolder);
  if (loaded) {
    const inputsOf = (scope: string) =>
      loaded.workflows.filter((one) => one.scope === scope).flatMap(({ inputs }) => inputs);
    return {
      inputs: inputsOf("project"),
      globalInputs: inputsOf("global"),
      globalNames: names,
      problems: loaded.workflowProblems,
    };
  }
  const isThere = listing.hasWorkflows || names.length > 0;
  return (isThere && memory) || { inputs: [], globalInputs: [], globalNames: [], problems: [] };
}
