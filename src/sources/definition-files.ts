import { readdirSync } from "node:fs";
import path from "node:path";
import type { Problem } from "../model/manifest.ts";
import {
  DEFINITIONS_FOLDER,
  displayPath,
  globalWorkflowsFolder,
  WORKFLOWS_FOLDER,
} from "./project.ts";
import { problemOf } from "./text.ts";

/** What definitions of one kind are called, and where they lie. */
export type DefinitionKind = {
  /** In sentences. */
  noun: string;
  /** The project's folder, relative to the project. */
  folder: string;
  /** The folder for every project, given that of resource managers. */
  globalFolder: (definitions: string) => string;
  /** Matches a file's name; its first group is the definition's. */
  pattern: RegExp;
};

/** `NAME.resource-manager.ts` (or `.mts`, `.js`, `.mjs`). */
export const RESOURCE_MANAGERS: DefinitionKind = {
  noun: "resource manager",
  folder: DEFINITIONS_FOLDER,
  globalFolder: (definitions) => definitions,
  pattern: /^(.+)\.resource-manager\.(?:ts|mts|js|mjs)$/,
};

/** `NAME.workflow.ts` (or `.mts`, `.js`, `.mjs`). */
export const WORKFLOWS: DefinitionKind = {
  noun: "workflow",
  folder: WORKFLOWS_FOLDER,
  globalFolder: globalWorkflowsFolder,
  pattern: /^(.+)\.workflow\.(?:ts|mts|js|mjs)$/,
};

/** A definition file as the discovery rules find it: its name says what it defines. */
export type DefinitionFile = { name: string; path: string; scope: "project" | "global" };

/** The definitions of one kind that a project can use, by name, and the names that can't be told. */
export type DefinitionFiles = {
  byName: Map<string, DefinitionFile>;
  /** By name: why none of its files is taken. */
  problems: Map<string, Problem>;
  /** Global ones that a definition of the project hides. */
  shadowed: DefinitionFile[];
  /** Folders that exist but can't be read. */
  unreadable: Problem[];
};

/** Whether a file is called as definitions of that kind are. */
export function isDefinition(kind: DefinitionKind, file: string): boolean {
  return kind.pattern.test(path.basename(file));
}

/**
 * Lists definition files directly in the project's folder, then in the global one. A project's
 * definition hides a global one of its name. `definitions` is the folder of resource managers for
 * every project; `committed` has the names in a folder of the project where that is not read from
 * the disk.
 */
export function findDefinitions(
  kind: DefinitionKind,
  project: string,
  definitions: string,
  committed?: ReadonlyMap<string, readonly string[]>,
): DefinitionFiles {
  const found: DefinitionFiles = {
    byName: new Map(),
    problems: new Map(),
    shadowed: [],
    unreadable: [],
  };
  const own = path.join(project, kind.folder);
  const inProject = committed?.get(kind.folder) ?? filesIn(found, { kind, project, folder: own });
  list(found, { kind, project, folder: own, names: inProject, scope: "project" });
  const folder = kind.globalFolder(definitions);
  const global = filesIn(found, { kind, project, folder });
  list(found, { kind, project, folder, names: global, scope: "global" });
  return found;
}

/** Names of the definition files of a kind for every project, sorted; none where they can't be read. */
export function globalNames(kind: DefinitionKind, definitions: string): string[] {
  try {
    const names = readdirSync(kind.globalFolder(definitions));
    return names.filter((name) => kind.pattern.test(name)).sort();
  } catch {
    return [];
  }
}

type Folder = { kind: DefinitionKind; project: string; folder: string };
type Listed = Folder & { names: readonly string[]; scope: "project" | "global" };

function list(found: DefinitionFiles, { kind, project, folder, names, scope }: Listed): void {
  const here = new Map<string, string[]>();
  for (const file of names) {
    const name = kind.pattern.exec(file)?.[1];
    if (name !== undefined) here.set(name, [...(here.get(name) ?? []), file]);
  }
  for (const [name, files] of here) {
    const [first, second] = files;
    const definition = { name, path: path.join(folder, first as string), scope };
    if (found.byName.has(name) || found.problems.has(name)) found.shadowed.push(definition);
    else if (second === undefined) found.byName.set(name, definition);
    else {
      const message = `${files.join(" and ")} define the same ${kind.noun}; keep one`;
      found.problems.set(name, problemOf(displayPath(project, definition.path), message));
    }
  }
}

function filesIn(found: DefinitionFiles, { kind, project, folder }: Folder): string[] {
  try {
    return readdirSync(folder).sort();
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code !== "ENOENT") {
      const what = kind === RESOURCE_MANAGERS ? "definitions" : `${kind.noun}s`;
      const message = `the folder of ${what} can't be read: ${code ?? String(thrown)}`;
      found.unreadable.push(problemOf(displayPath(project, folder), message));
    }
    return [];
  }
}
