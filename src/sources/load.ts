import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { ManagerProposal } from "../model/batch.ts";
import type { WorkflowProposal } from "../model/graph.ts";
import type { Desired, LoadedSpecs, Problem } from "../model/manifest.ts";
import { definitionLoader, type DefinitionLoader } from "./definition-loader.ts";
import { alterChance, type Chance } from "./chance.ts";
import { withFrames } from "./frames.ts";
import { guardProcess, type ProcessGuard } from "./guard.ts";
import { type RawManifest, readJsonSpec, type SpecDocument } from "./json-spec.ts";
import { isOwnCode } from "./installed.ts";
import { displayPath } from "./project.ts";
import { openProjectFiles, type ProjectFiles, type RevisionSource } from "./project-files.ts";
import { bundlePlaces, type BundlePlaces } from "./source-map.ts";
import { describeMove } from "./moved-fields.ts";
import { formatPath } from "./issue.ts";
import { loadTypeScriptSpecs, type TypeScriptSpecs, type Unsteady } from "./typescript-specs.ts";
import { ALL_TYPESCRIPT, isTypeScript } from "./spec-file.ts";
import { problemOf, readFault } from "./text.ts";
import { managerNameOf, validate } from "./validate.ts";
import { type LoadedWorkflows, workflowLoader } from "./workflow-loader.ts";

/** What to load; paths are absolute. */
export type LoadRequest = {
  project: string;
  files: string[];
  inline: { name: string; text: string }[];
  managers: string[] | "all";
  /** Names or absolute paths of workflows; none where absent. */
  workflows?: string[] | "all";
  /** Of resource managers for every project; workflows for every project lie beside it. */
  globalFolder: string;
  /** Reads the project's files as blobs of this commit, whose tree is the project, not from disk. */
  revision?: RevisionSource | undefined;
  /** An empty folder of this load's own. */
  scratch: string;
  evaluateMs: number;
  /** Definition files that an earlier try could not get past. */
  skip: string[];
};

/** Where a load reports what it finds, as it finds it. */
export type LoadSink = {
  /** Project code of this file (as places name it) is about to run; undefined: no longer. */
  onFile(file: string | undefined): void;
  desired(items: Desired[]): void;
  managers(items: ManagerProposal[]): Promise<void>;
  problems(items: Problem[]): Promise<void>;
  files(items: LoadedSpecs["files"]): Promise<void>;
  /** By spec file, the local files that it imports, directly or not; as places name them. */
  imports(items: Record<string, string[]>): Promise<void>;
  /** Everything but workflows is loaded, and reported. */
  specsLoaded(): Promise<void>;
  workflows(found: LoadedWorkflows): Promise<void>;
};

/** How many files are dealt with between two turns of the event loop. */
const STRIDE = 250;
/** Most manifests in one report. */
const CHUNK = 500;

/**
 * Loads spec files and the definitions that they name, then workflows: reads, evaluates, validates, and reports
 * everything that is wrong at once. No code of a workflow runs before all else is reported, so that
 * one that never ends spoils no spec. Runs project code in this process, so call it in a child.
 */
export async function load(request: LoadRequest, sink: LoadSink): Promise<void> {
  const projectFiles = await openProjectFiles(request, request.revision);
  const guard = guardProcess();
  const places = bundlePlaces(request.project);
  const chance = alterChance();
  const definitionOptions = { ...definitionsOf(request, sink), projectFiles, guard, places };
  const definitions = definitionLoader(definitionOptions);
  const workflows = workflowLoader(request.workflows ?? [], definitionOptions);
  const context = { request, sink, guard, chance, places, projectFiles, definitions };
  try {
    if (request.managers === "all") context.definitions.beginAll();
    else request.managers.forEach((name) => context.definitions.begin(name));
    const json = await readJsonSpecs(context);
    const typed = await evaluateTypeScript(context);
    await context.definitions.finish();
    const problems = [...json.problems, ...typed.problems];
    problems.push(...unsteadyProblems(context, typed.unsteady));
    problems.push(...(await validateAll([...json.manifests, ...typed.manifests], context)));
    sink.onFile(undefined);
    await report(context, [...missingManagers(context), ...problems]);
    await sink.specsLoaded();
    await workflows.finish((found) => reportWorkflows(context, found));
    sink.onFile(undefined);
  } finally {
    guard.release();
    chance.release();
    await projectFiles.close();
  }
}

function definitionsOf(
  { project, globalFolder, scratch, evaluateMs, skip }: LoadRequest,
  sink: LoadSink,
) {
  const onFile = (file: string) => sink.onFile(displayPath(project, file));
  return { project, globalFolder, scratch, evaluateMs, skip: new Set(skip), onFile };
}

type Context = {
  request: LoadRequest;
  sink: LoadSink;
  guard: ProcessGuard;
  chance: Chance;
  places: BundlePlaces;
  projectFiles: ProjectFiles;
  definitions: DefinitionLoader;
};

async function readJsonSpecs(context: Context): Promise<SpecDocument> {
  const { request, projectFiles } = context;
  const result: SpecDocument = { manifests: [], problems: [] };
  for (const { name, text } of request.inline) {
    take(context, result, readJsonSpec(name, Buffer.from(text)));
  }
  const read: LoadedSpecs["files"] = [];
  const files = request.files.filter((file) => !isTypeScript(file));
  let sinceTurn = 0;
  for (let start = 0; start < files.length; start += projectFiles.ahead) {
    const some = files.slice(start, start + projectFiles.ahead);
    for (const { file, bytes, fault } of await Promise.all(some.map(readOne))) {
      if (bytes === undefined) result.problems.push(problemOf(file, fault));
      else {
        read.push({ file, sha256: hash("sha256", bytes, "hex") });
        take(context, result, readJsonSpec(file, bytes));
      }
    }
    // Lets the bundler, which is at work on definitions meanwhile, ask its questions.
    sinceTurn += some.length;
    if (sinceTurn >= STRIDE) await setImmediate((sinceTurn = 0));
  }
  await context.sink.files(read);
  return result;

  async function readOne(path: string) {
    const file = displayPath(request.project, path);
    try {
      return { file, bytes: await projectFiles.read(path) };
    } catch (thrown) {
      return { file, bytes: undefined, fault: readFault(thrown) };
    }
  }
}

function take(context: Context, result: SpecDocument, found: SpecDocument): void {
  for (const manifest of found.manifests) {
    result.manifests.push(manifest);
    beginManager(context, manifest);
  }
  result.problems.push(...found.problems);
}

function beginManager({ definitions }: Context, manifest: RawManifest): void {
  const name = managerNameOf(manifest);
  if (name !== undefined) definitions.begin(name);
}

const NO_TYPESCRIPT: TypeScriptSpecs = {
  manifests: [],
  problems: [],
  unsteady: [],
  inputs: new Map(),
  imports: new Map(),
};

async function evaluateTypeScript(context: Context): Promise<TypeScriptSpecs> {
  const { request, sink, guard, places, projectFiles, chance } = context;
  const { project, scratch, evaluateMs } = request;
  const files = request.files.filter(isTypeScript);
  if (files.length === 0) return NO_TYPESCRIPT;
  const shown = (file: string) => displayPath(project, file);
  const found = await loadTypeScriptSpecs(files, {
    project,
    projectFiles,
    scratch,
    evaluateMs,
    places,
    guard,
    chance,
    onImport: () => sink.onFile(ALL_TYPESCRIPT),
    onFile: (file) => sink.onFile(shown(file)),
  });
  sink.onFile(undefined);
  const result: SpecDocument = { manifests: [], problems: [] };
  take(context, result, found);
  for (const { manifest } of found.unsteady) beginManager(context, manifest);
  await sink.files(
    [...found.inputs]
      .filter(([file]) => !isOwnCode(file))
      .map(([file, sha256]) => ({ file: shown(file), sha256 })),
  );
  const imports = [...found.imports].map(([file, some]) => [shown(file), some.map(shown)] as const);
  await sink.imports(Object.fromEntries(imports));
  return { ...found, ...result };
}

/** A problem for each field that is another one each time. */
function unsteadyProblems({ definitions }: Context, unsteady: readonly Unsteady[]): Problem[] {
  return unsteady.flatMap(({ manifest, fields, asked }) => {
    const definition = definitions.get(managerNameOf(manifest) ?? "");
    const secretPaths = "unusable" in definition ? undefined : definition.proposal.secretPaths;
    return fields.map((field): Problem => {
      const moved = describeMove(field, secretPaths);
      const message = `${moved}; a spec must not depend on a clock or on chance (${asked})`;
      return { ...manifest.at(field.path), path: formatPath(field.path), message };
    });
  });
}

async function validateAll(manifests: RawManifest[], context: Context): Promise<Problem[]> {
  const { definitions, sink } = context;
  const problems: Problem[] = [];
  let items: Desired[] = [];
  let size = 0;
  for (const raw of manifests) {
    // A schema or initialStatus can hang as well as a spec file.
    sink.onFile(raw.place.file);
    const checked = await validate(raw, definitions.get);
    if ("problems" in checked) problems.push(...checked.problems);
    else {
      items.push(checked);
      size += checked.spec.length + checked.initialStatus.length;
    }
    if (items.length >= CHUNK || size > MAX_CHUNK_SIZE) {
      sink.desired(items);
      items = [];
      size = 0;
    }
  }
  sink.desired(items);
  return problems;
}
/** Characters of specs and statuses in one report. */
const MAX_CHUNK_SIZE = 2_000_000;

/** A manager that was asked for by name, rather than by a spec, and is not there. */
function missingManagers({ request, definitions }: Context): Problem[] {
  if (request.managers === "all") return [];
  return request.managers.flatMap((name) => {
    const found = definitions.get(name);
    return "unusable" in found && found.unusable.startsWith("no resource manager")
      ? [problemOf(".pi/resource-managers", found.unusable)]
      : [];
  });
}

async function report(context: Context, problems: Problem[]): Promise<void> {
  const { request, sink, definitions, projectFiles } = context;
  const { project, revision } = request;
  const inline = new Map(request.inline.map(({ name, text }) => [name, text]));
  const all = [...definitions.problems, ...problems];
  const framed = await withFrames(project, projectFiles, all, inline);
  for (const { proposal } of definitions.loaded()) {
    await sink.managers([ofRevision(proposal, revision)]);
  }
  for (let start = 0; start < framed.length; start += CHUNK) {
    await sink.problems(framed.slice(start, start + CHUNK));
  }
}

async function reportWorkflows(
  { request, sink, projectFiles }: Context,
  { files, workflows, problems }: LoadedWorkflows,
): Promise<void> {
  const { project, revision } = request;
  await sink.workflows({
    files,
    workflows: workflows.map((proposal) => ofRevision(proposal, revision)),
    problems: await withFrames(project, projectFiles, problems, new Map()),
  });
}

/** It was found by what the commit holds: also one for every project, which one of the commit hides. */
function ofRevision<T extends ManagerProposal | WorkflowProposal>(
  proposal: T,
  revision: RevisionSource | undefined,
): T {
  return revision === undefined ? proposal : { ...proposal, revision };
}
