import type { Desired, Problem, ResolvedManager } from "../../model/manifest.ts";
import type { SyncRevision } from "../../model/sync.ts";
import type { Resolution } from "../../runner/resolver.ts";
import { DEFINITIONS_FOLDER, displayPath } from "../../sources/project.ts";
import { isTypeScript } from "../../sources/spec-file.ts";
import type { Loaded } from "./load.ts";
import type { Listing } from "./source.ts";
import type { WorkflowMemory } from "./workflows.ts";

type FileMemory = {
  /** Hash of the content that was loaded. */
  content: string;
  /** Local files that it imports; undefined where that is not known. */
  imports: string[] | undefined;
  /** Without bodies: 10,000 specs are to be kept in few megabytes. */
  desired: Desired[];
};

/**
 * What a sync keeps between two revisions, so that the second loads only what changed. Files with
 * problems are not kept: they are loaded each time.
 */
export type Memory = {
  revision: SyncRevision;
  files: Map<string, FileMemory>;
  managers: Map<string, ResolvedManager>;
  /** What specs and definitions import, or what has a problem, with the hash of what was loaded. */
  modules: Map<string, string>;
  /** Undefined while they have not been accepted, so that they are loaded again. */
  workflows: WorkflowMemory | undefined;
};

// A canonical status is never empty, so this tells entries that were kept without their bodies.
const NO_BODY = "";

/** True for an entry whose spec was not kept; to write it, its file must be loaded again. */
export function isBodiless({ initialStatus }: Desired): boolean {
  return initialStatus === NO_BODY;
}

function withoutBody(desired: Desired): Desired {
  return { ...desired, spec: "null", initialStatus: NO_BODY };
}

/** Files that must be loaded to know what a listing means: all, or those that differ from memory. */
export function staleFiles(
  project: string,
  { specs, changed }: Listing,
  memory: Memory | undefined,
): string[] {
  if (!memory || !changed || definitionsChanged(project, memory, changed)) return [...specs.keys()];
  return [...specs].flatMap(([file, content]) => {
    const kept = memory.files.get(file);
    if (kept?.content !== content || !kept.imports) return [file];
    return kept.imports.some((imported) => changed.has(imported)) ? [file] : [];
  });
}

// Another definition may give other defaults to every spec, so everything is loaded again.
function definitionsChanged(
  project: string,
  { managers }: Memory,
  changed: ReadonlySet<string>,
): boolean {
  if (changed.size === 0) return false;
  for (const file of changed) if (file.startsWith(`${DEFINITIONS_FOLDER}/`)) return true;
  return [...managers.values()].some(({ inputs }) =>
    inputs.some((input) => changed.has(displayPath(project, input.path))),
  );
}

/** True where a manager came out otherwise than the files in memory were loaded with. */
export function managersDiffer({ managers }: Memory, resolution: Resolution): boolean {
  return resolution.managers.some(({ name, digest }) => {
    const kept = managers.get(name);
    return kept !== undefined && kept.digest !== digest;
  });
}

/** What to keep of a revision that was loaded; of its workflows only once they were accepted. */
export function remember(
  loaded: Loaded,
  memory: Memory | undefined,
  { isApplied }: { isApplied: boolean },
): Memory {
  const { revision, listing, resolution, fresh, managers } = loaded;
  const kept: Memory = {
    revision,
    files: new Map(),
    managers: new Map(managers.map((manager) => [manager.name, manager])),
    modules: new Map(),
    workflows: isApplied ? loaded.workflows : memory?.workflows,
  };
  const sound = soundFiles(loaded);
  const byFile = groupByFile(resolution.desired);
  for (const [file, content] of listing.specs) {
    const before = memory?.files.get(file);
    if (!fresh.has(file)) {
      if (before) kept.files.set(file, before);
    } else if (sound.has(file)) {
      const imports = isTypeScript(file) ? resolution.imports?.[file] : [];
      kept.files.set(file, { content, imports, desired: byFile.get(file) ?? [] });
    }
  }
  kept.modules = modulesOf(loaded, kept, memory);
  return kept;
}

function modulesOf(
  { project, listing, resolution, workflows }: Loaded,
  { files, managers }: Memory,
  before: Memory | undefined,
): Map<string, string> {
  const hashes = new Map(before?.modules);
  for (const { file, sha256 } of resolution.files) hashes.set(file, sha256);
  const modules = new Map<string, string>();
  const names = [
    ...[...files.values()].flatMap(({ imports = [] }) => imports),
    ...Object.values(resolution.imports ?? {}).flat(),
    ...resolution.problems.map(({ file }) => file),
    ...workflows.problems.map(({ file }) => file),
  ];
  for (const name of names) {
    if (!listing.specs.has(name)) modules.set(name, hashes.get(name) ?? "");
  }
  const inputs = [...managers.values()].flatMap((manager) => manager.inputs);
  for (const { path, sha256 } of [...inputs, ...workflows.inputs, ...workflows.globalInputs]) {
    modules.set(displayPath(project, path), sha256);
  }
  return modules;
}

/** Files of this load that were read and have no problem; none where a problem belongs to no file. */
function soundFiles({ listing, resolution }: Loaded): ReadonlySet<string> {
  const spoilt = resolution.problems.map(filesOf);
  if (spoilt.some((files) => !files.some((file) => listing.specs.has(file)))) return new Set();
  const bad = new Set(spoilt.flat());
  return new Set(resolution.files.map(({ file }) => file).filter((file) => !bad.has(file)));
}

function filesOf({ file, specFile }: Problem): string[] {
  return specFile === undefined ? [file] : [file, specFile];
}

function groupByFile(desired: readonly Desired[]): Map<string, Desired[]> {
  const groups = new Map<string, Desired[]>();
  for (const item of desired) {
    const { file } = item.place;
    const group = groups.get(file);
    if (group) group.push(withoutBody(item));
    else groups.set(file, [withoutBody(item)]);
  }
  return groups;
}
