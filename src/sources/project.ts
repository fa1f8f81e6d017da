import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

/** Where a project keeps its definitions and its specs, relative to the project. */
export const DEFINITIONS_FOLDER = ".pi/resource-managers";
/** Where a project keeps its workflows, relative to the project. */
export const WORKFLOWS_FOLDER = ".pi/workflows";
/** Where a project keeps its specs by default, relative to the project. */
export const SPECS_FOLDER = ".pi/resources";

/** Where definitions for every project live: `~/.pi/agent/resource-managers`. */
export function globalDefinitionsFolder(home: string = homedir()): string {
  return path.join(home, ".pi/agent/resource-managers");
}

/**
 * Where workflows for every project live, beside the definitions for every project:
 * `~/.pi/agent/workflows`. That is where the state is kept too, unless it is told otherwise, so only
 * files that are called as workflows are called count there.
 */
export function globalWorkflowsFolder(globalDefinitions: string): string {
  return path.join(path.dirname(globalDefinitions), "workflows");
}

/**
 * The canonical path of the project that `folder` belongs to: the top of the git work tree around
 * it (`.git` is a file in a linked work tree), else the nearest folder with a `.pi`, else itself.
 * @throws the file system's error when `folder` does not exist.
 */
export function projectOf(folder: string): string {
  const start = realpathSync(folder);
  // The home folder's .pi is the agent's own configuration, not a project's.
  const home = existsSync(homedir()) ? realpathSync(homedir()) : homedir();
  return (
    nearest(start, (candidate) => existsSync(path.join(candidate, ".git"))) ??
    nearest(start, (candidate) => candidate !== home && existsSync(path.join(candidate, ".pi"))) ??
    start
  );
}

/** Whether a path is that of a root or lies below it; `.` and the empty one are the top. */
export function isBelow(root: string, file: string): boolean {
  return root === "." || root === "" || file === root || file.startsWith(`${root}/`);
}

function nearest(start: string, holds: (folder: string) => boolean): string | undefined {
  for (let folder = start; ; folder = path.dirname(folder)) {
    if (holds(folder)) return folder;
    if (folder === path.dirname(folder)) return undefined;
  }
}

/** `file` as people see it and as origins keep it: relative where it lies inside the project. */
export function displayPath(project: string, file: string): string {
  const inside = project.endsWith(path.sep) ? project : project + path.sep;
  const shown = file.startsWith(inside) ? file.slice(inside.length) : file;
  return path.sep === "/" ? shown : shown.split(path.sep).join("/");
}
