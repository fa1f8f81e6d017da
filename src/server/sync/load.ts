import path from "node:path";
import type { ManagerProposal } from "../../model/batch.ts";
import type { Desired, LoadedSpecs, Problem, ResolvedManager } from "../../model/manifest.ts";
import type { SyncRevision } from "../../model/sync.ts";
import { nothingResolved, type Resolution } from "../../runner/resolver.ts";
import type { WarmResolver } from "../../runner/warm-resolver.ts";
import { managersDiffer, staleFiles, type Memory } from "./memory.ts";
import type { Listing, Source } from "./source.ts";
import {
  isChangedOnDisk,
  rememberWorkflows,
  type WorkflowMemory,
  workflowsAreStale,
} from "./workflows.ts";

/** What loading needs. */
export type LoadContext = {
  project: string;
  source: Source;
  resolve: WarmResolver["resolve"];
  globalFolder: string;
  /** Aborts when a newer revision supersedes this one. */
  signal: AbortSignal;
};

/** A revision, loaded: what was read now, and memory for the rest. */
export type Loaded = {
  project: string;
  revision: SyncRevision;
  listing: Listing;
  /** Of the files that were read now. */
  resolution: Resolution;
  fresh: ReadonlySet<string>;
  /** Every manager that the specs use, of this load or an earlier one. */
  managers: ResolvedManager[];
  /** All that the revision means, for a plan. */
  specs: LoadedSpecs;
  /** What is known of workflows; those in `resolution` are to be accepted. */
  workflows: WorkflowMemory;
};

/** What a load reads: spec files, and workflows where those changed. */
type Wanted = { files: readonly string[]; workflows: boolean };

/** Loads what differs from memory. @throws RESOLVE_FAILED, GIT_FAILED */
export async function loadRevision(
  context: LoadContext,
  revision: SyncRevision,
  memory: Memory | undefined,
): Promise<Loaded> {
  const { project, source } = context;
  const listing = await source.list(revision, memory?.revision);
  const usable = memory && !globalsChanged(memory) ? memory : undefined;
  const stale = staleFiles(project, listing, usable);
  const before = { project, globalFolder: context.globalFolder, memory: memory?.workflows };
  const workflows = workflowsAreStale(before, listing);
  const state = { project, revision, listing };
  const after = (found: Resolution) => ({
    workflows: rememberWorkflows(before, listing, workflows ? found : undefined),
  });
  const resolution = await read(context, state, { files: stale, workflows });
  if (!memory || !managersDiffer(memory, resolution)) {
    const loaded = { ...state, resolution, fresh: new Set(stale), ...after(resolution) };
    return combine(loaded, memory);
  }
  const all = [...listing.specs.keys()];
  const again = await read(context, state, { files: all, workflows });
  return combine({ ...state, resolution: again, fresh: new Set(all), ...after(again) }, undefined);
}

// The user's own definitions are files on disk, whose changes no revision tells.
function globalsChanged({ managers }: Memory): boolean {
  return [...managers.values()].some(
    ({ scope, inputs }) => scope === "global" && isChangedOnDisk(inputs),
  );
}

/** Loads more files of the same revision, for the bodies of what stands in them. */
export async function loadMore(
  context: LoadContext,
  loaded: Loaded,
  files: readonly string[],
  memory: Memory | undefined,
): Promise<Loaded> {
  const { resolution, fresh } = loaded;
  const more = await read(context, loaded, { files, workflows: false });
  const both: Resolution = {
    ...resolution,
    desired: [...resolution.desired, ...more.desired],
    managers: unionOf(resolution.managers, more.managers),
    problems: [...resolution.problems, ...more.problems],
    files: [...resolution.files, ...more.files],
    imports: { ...resolution.imports, ...more.imports },
  };
  return combine({ ...loaded, resolution: both, fresh: new Set([...fresh, ...files]) }, memory);
}

async function read(
  { project, source, resolve: run, globalFolder, signal }: LoadContext,
  { revision, listing }: Pick<Loaded, "revision" | "listing">,
  { files, workflows }: Wanted,
): Promise<Resolution> {
  if (files.length === 0 && !workflows) return nothingResolved();
  const resolution = await run({
    project,
    files: files.map((file) => path.join(project, file)),
    ...(workflows ? { workflows: "all" as const } : {}),
    globalFolder,
    signal,
    ...source.reading(revision),
  });
  if (listing.isOfDisk) refuseMoved(listing, resolution);
  return { ...resolution, problems: [...resolution.problems, ...unread(files, resolution)] };
}

/** Thrown where files changed between being listed and being loaded: neither state is whole. */
export class Moved extends Error {}

function refuseMoved({ specs }: Listing, { files }: Resolution): void {
  for (const { file, sha256 } of files) {
    const listed = specs.get(file);
    if (listed !== undefined && listed !== sha256) throw new Moved(`${file} changed meanwhile`);
  }
}

// A file that was to be read, was not, and has no problem either would look like an empty one.
function unread(files: readonly string[], { files: read, problems }: Resolution): Problem[] {
  const known = new Set([
    ...read.map(({ file }) => file),
    ...problems.flatMap(({ file, specFile }) => [file, specFile ?? file]),
  ]);
  if (problems.some(({ file }) => file === ".")) return [];
  return files
    .filter((file) => !known.has(file))
    .map((file) => ({ file, line: 1, column: 1, path: "", message: "was not loaded" }));
}

function combine(loaded: Omit<Loaded, "managers" | "specs">, memory: Memory | undefined): Loaded {
  const { listing, resolution, fresh } = loaded;
  const managers = unionOf([...(memory?.managers.values() ?? [])], resolution.managers.map(record));
  const desired: Desired[] = [...resolution.desired];
  for (const file of listing.specs.keys()) {
    if (!fresh.has(file)) desired.push(...(memory?.files.get(file)?.desired ?? []));
  }
  const specs: LoadedSpecs = {
    desired,
    managers,
    problems: [...listing.problems, ...resolution.problems],
    files: [...listing.specs].map(([file, sha256]) => ({ file, sha256 })),
  };
  return { ...loaded, managers, specs };
}

function record(proposal: ManagerProposal): ResolvedManager {
  const { bundle: _bundle, revision: _revision, ...manager } = proposal;
  return manager;
}

/** By name; the later one counts. */
function unionOf<T extends { name: string }>(before: readonly T[], after: readonly T[]): T[] {
  return [...new Map([...before, ...after].map((manager) => [manager.name, manager])).values()];
}
