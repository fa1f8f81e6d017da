import { realpathSync, statSync } from "node:fs";
import path from "node:path";
import { PiWorkflowsError } from "../model/errors.ts";
import type { Problem } from "../model/manifest.ts";
import { discoverSpecs } from "../sources/discover.ts";
import { displayPath } from "../sources/project.ts";

/** The spec files that `-f` names. */
export type Selection = {
  /** Absolute paths, sorted, each once. */
  files: string[];
  /** What could not be looked at. */
  problems: Problem[];
  /** True where `-` was given. */
  standardInput: boolean;
  /** True for a recorded file (as origins name it) that these paths would have loaded. */
  covers: (file: string) => boolean;
};

export type SelectionRequest = {
  project: string;
  paths: readonly string[];
  recursive: boolean;
  /** With prune, that nothing is found has a meaning. */
  forPrune: boolean;
};

/** What standard input is called in places and origins. */
export const STDIN_NAME = "<stdin>";

/**
 * Finds the files of paths, folders, globs and `-`.
 * @throws PiWorkflowsError USAGE
 */
export function selectSpecs(request: SelectionRequest): Selection {
  const { project, recursive } = request;
  const paths = request.paths.filter((name) => name !== "-");
  const standardInput = paths.length < request.paths.length;
  const found = discoverSpecs({ project, paths, cwd: process.cwd(), recursive });
  const nothing = found.files.length + found.problems.length === 0 && !standardInput;
  if (nothing && !request.forPrune) throw nothingFound(paths, recursive);
  const scopes = request.forPrune ? paths.map((given) => scopeOf(request, given)) : [];
  return {
    ...found,
    standardInput,
    covers: (file) =>
      (standardInput && file === STDIN_NAME) || scopes.some((covers) => covers(file)),
  };
}

function nothingFound(paths: readonly string[], recursive: boolean): PiWorkflowsError {
  const deeper = recursive ? "" : "; -R looks into subfolders too";
  return new PiWorkflowsError("USAGE", `there is no spec file in ${paths.join(", ")}`, {
    hint: `Names of spec files end in .resource.json or .resource.ts${deeper}.`,
  });
}

function scopeOf(
  { project, recursive }: SelectionRequest,
  given: string,
): (file: string) => boolean {
  const place = path.resolve(given);
  const stat = statSync(place, { throwIfNoEntry: false });
  // It may be a folder that is gone; it is reported as a problem, so nothing is pruned for it.
  if (stat === undefined && !/[*?[\]{}]/.test(given)) return () => false;
  if (stat === undefined) throw globWithPrune(given);
  if (!stat.isDirectory()) {
    const file = path.join(realpathSync(path.dirname(place)), path.basename(place));
    const name = displayPath(project, file);
    return (recorded) => recorded === name;
  }
  const folder = realpathSync(place);
  return (recorded) => {
    const below = path.relative(folder, path.resolve(project, recorded));
    const inside = below !== "" && !below.startsWith("..") && !path.isAbsolute(below);
    return inside && recorded !== STDIN_NAME && (recursive || !below.includes(path.sep));
  };
}

function globWithPrune(given: string): PiWorkflowsError {
  return new PiWorkflowsError("USAGE", `-f ${given}: --prune takes files and folders, no glob`, {
    hint: "Give the folder: what a glob would have matched can't be told once it is gone.",
  });
}
