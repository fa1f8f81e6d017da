import { readdirSync } from "node:fs";
import path from "node:path";
import type { Problem } from "../model/manifest.ts";
import { DEFINITIONS_FOLDER, displayPath } from "./project.ts";
import { problemOf } from "./text.ts";

/** A definition file as the discovery rules find it: its name says which manager it defines. */
export type DefinitionFile = { name: string; path: string; scope: "project" | "global" };

/** The definitions that a project can use, by name, and the names that can't be told. */
export type DefinitionFiles = {
  byName: Map<string, DefinitionFile>;
  /** By name: why none of its files is taken. */
  problems: Map<string, Problem>;
  /** Folders that exist but can't be read. */
  unreadable: Problem[];
};

const DEFINITION = /^(.+)\.resource-manager\.(?:ts|mts|js|mjs)$/;

/** Whether a file is called as definitions are. */
export function isDefinition(file: string): boolean {
  return DEFINITION.test(path.basename(file));
}

/**
 * Lists definition files: `NAME.resource-manager.ts` (or `.mts`, `.js`, `.mjs`) directly in the
 * project's folder, then in the global one. A project's definition hides a global one of its name.
 * `projectNames` are the names in the project's folder where that is not read from the disk.
 */
export function findDefinitions(
  project: string,
  globalFolder: string,
  projectNames?: readonly string[],
): DefinitionFiles {
  const found: DefinitionFiles = { byName: new Map(), problems: new Map(), unreadable: [] };
  const own = path.join(project, DEFINITIONS_FOLDER);
  const inProject = projectNames ?? filesIn(found, project, own);
  list(found, project, { folder: own, names: inProject, scope: "project" });
  const global = filesIn(found, project, globalFolder);
  list(found, project, { folder: globalFolder, names: global, scope: "global" });
  return found;
}

type Folder = { folder: string; names: readonly string[]; scope: "project" | "global" };

function list(found: DefinitionFiles, project: string, { folder, names, scope }: Folder): void {
  const here = new Map<string, string[]>();
  for (const file of names) {
    const name = DEFINITION.exec(file)?.[1];
    if (name !== undefined) here.set(name, [...(here.get(name) ?? []), file]);
  }
  for (const [name, files] of here) {
    if (found.byName.has(name) || found.problems.has(name)) continue;
    const [first, second] = files;
    const definition = path.join(folder, first as string);
    if (second === undefined) found.byName.set(name, { name, path: definition, scope });
    else {
      const message = `${files.join(" and ")} define the same resource manager; keep one`;
      found.problems.set(name, problemOf(displayPath(project, definition), message));
    }
  }
}

function filesIn(found: DefinitionFiles, project: string, folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code !== "ENOENT") {
      const message = `the folder of definitions can't be read: ${code ?? String(thrown)}`;
      found.unreadable.push(problemOf(displayPath(project, folder), message));
    }
    return [];
  }
}
