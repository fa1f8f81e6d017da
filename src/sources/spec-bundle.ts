import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Problem } from "../model/manifest.ts";
import { bundleOptions, buildProblems } from "./bundle.ts";
import { bundler } from "./bundler.ts";
import { type BundleInputs, projectPlugin } from "./bundler-plugin.ts";
import { type ImportGraph, importsIn, recordImports } from "./import-graph.ts";
import { installedModules } from "./installed.ts";
import { displayPath } from "./project.ts";
import type { ProjectFiles } from "./project-files.ts";
import type { BundlePlaces } from "./source-map.ts";
import { problemOf, readFault } from "./text.ts";

/** One file of a bundle. */
export type SpecThunk = {
  /** Absolute path. */
  file: string;
  evaluate: Evaluate;
  /** The same in new instances of all modules but those of packages. */
  evaluateAgain: Evaluate;
};
type Evaluate = () => Promise<Record<string, unknown>>;

/** TypeScript spec files built together; each is evaluated when its thunk is called. */
export type SpecBundle = {
  /** Absolute paths of the files that could be built, with what evaluates each. */
  thunks: SpecThunk[];
  inputs: BundleInputs;
  /** Of those files: the local files that each imports, directly or not, by absolute path. */
  imports: Map<string, string[]>;
  problems: Problem[];
};

export type SpecBundleOptions = {
  project: string;
  projectFiles: ProjectFiles;
  /** A folder of this load's own, for the bundle. */
  scratch: string;
  places: BundlePlaces;
  /** Called around the one step that evaluates packages, which belongs to no single file. */
  onImport: (files: readonly string[]) => void;
  /** Runs that step. */
  evaluate: <T>(step: () => Promise<T>) => Promise<T>;
};

/**
 * Builds all spec files as one bundle in which each file is still evaluated on its own: 10,000 files
 * take 2 s, where a build for each takes 27. Files that can't be built, and those that import them,
 * are left out and reported.
 */
export async function bundleSpecs(
  files: readonly string[],
  options: SpecBundleOptions,
): Promise<SpecBundle> {
  const inputs: BundleInputs = new Map();
  const problems: Problem[] = [];
  let left = [...files];
  while (left.length > 0) {
    const built = await buildTogether(left, inputs, options);
    if (!("failed" in built)) {
      const imported = await importBundle(left, built.output, { ...options, inputs });
      return { ...imported, problems: [...problems, ...imported.problems] };
    }
    const graph = await recordImports(options.project, options.projectFiles, left);
    const { problems: found, affected } = blame(built.failed, left, graph, options.project);
    problems.push(...found);
    left = left.filter((file) => !affected.has(file));
  }
  return { thunks: [], inputs, imports: new Map(), problems };
}

type Built = { code: Uint8Array; map: string; imports: Map<string, string[]> };

async function buildTogether(
  files: readonly string[],
  inputs: BundleInputs,
  { project, projectFiles, scratch }: SpecBundleOptions,
): Promise<{ output: Built } | { failed: Problem[] }> {
  const { build } = bundler();
  const thunks = files.map((file) => `() => import(${JSON.stringify(file)})`);
  try {
    const { outputFiles, metafile } = await build({
      ...bundleOptions(project, projectFiles, [projectPlugin(inputs, projectFiles)]),
      write: false,
      metafile: true,
      stdin: { contents: `export default [${thunks.join(",\n")}];`, resolveDir: project },
      outfile: path.join(scratch, "specs.mjs"),
      sourcemap: "external",
      sourcesContent: false,
      alias: Object.fromEntries(installedModules()),
    });
    const [map, code] = [...outputFiles].sort((left) => (left.path.endsWith(".map") ? -1 : 1));
    if (map === undefined || code === undefined) throw new Error("the bundler wrote no output");
    const imports = importsIn(metafile, project, files);
    return { output: { code: code.contents, map: map.text, imports } };
  } catch (thrown) {
    const problems = await buildProblems(project, projectFiles, thrown, files[0] as string);
    const placed = problems.map((problem) => ofEntry(problem, files, { project, projectFiles }));
    return { failed: await Promise.all(placed) };
  }
}

/** The entry has one line for each spec file; an error in it is that the file can't be read. */
async function ofEntry(
  problem: Problem,
  files: readonly string[],
  { project, projectFiles }: Pick<SpecBundleOptions, "project" | "projectFiles">,
): Promise<Problem> {
  const file = problem.file === "<stdin>" ? files[problem.line - 1] : undefined;
  if (file === undefined) return problem;
  const shown = displayPath(project, file);
  try {
    await projectFiles.read(file);
    return problemOf(shown, problem.message);
  } catch (thrown) {
    return problemOf(shown, readFault(thrown));
  }
}

/**
 * Packages are evaluated as the bundle is imported, so one that a single spec file can't use spoils
 * all. The set is then halved until the file is found.
 */
async function importBundle(
  files: readonly string[],
  { code, map, imports }: Built,
  options: SpecBundleOptions & { inputs: BundleInputs },
): Promise<SpecBundle> {
  const { scratch, places, inputs } = options;
  const bundle = path.join(scratch, `specs-${nextNumber()}.mjs`);
  writeFileSync(bundle, code);
  places.add(bundle, map);
  options.onImport(files);
  try {
    const { href } = pathToFileURL(bundle);
    const instance = async (url: string) =>
      ((await import(url)) as { default: Evaluate[] }).default;
    const thunks = await options.evaluate(() => instance(href));
    return {
      thunks: files.map((file, index) => ({
        file,
        evaluate: thunks[index] as Evaluate,
        evaluateAgain: async () => ((await instance(`${href}?again`))[index] as Evaluate)(),
      })),
      inputs,
      imports,
      problems: [],
    };
  } catch (thrown) {
    if (files.length === 1) {
      const file = displayPath(options.project, files[0] as string);
      const message = `a package that it imports can't be loaded: ${reasonOf(thrown)}`;
      return { thunks: [], inputs, imports, problems: [problemOf(file, message)] };
    }
    const middle = files.length >> 1;
    const first = await bundleSpecs(files.slice(0, middle), options);
    const second = await bundleSpecs(files.slice(middle), options);
    return {
      thunks: [...first.thunks, ...second.thunks],
      inputs: new Map([...inputs, ...first.inputs, ...second.inputs]),
      imports: new Map([...first.imports, ...second.imports]),
      problems: [...first.problems, ...second.problems],
    };
  }
}

let lastNumber = 0;
/** Node keeps a module for good under its name, so each bundle needs a name of its own. */
function nextNumber(): number {
  lastNumber += 1;
  return lastNumber;
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Whom build errors concern: the spec file they are in, or every one that imports the file. */
function blame(
  failed: readonly Problem[],
  files: readonly string[],
  graph: ImportGraph,
  project: string,
): { problems: Problem[]; affected: Set<string> } {
  const byDisplay = new Map(files.map((file) => [displayPath(project, file), file]));
  const affected = new Set<string>();
  const problems: Problem[] = [];
  for (const problem of failed) {
    const own = byDisplay.get(problem.file);
    const users = graph.usersOf(path.resolve(project, problem.file), files);
    for (const user of [...(own === undefined ? [] : [own]), ...users]) affected.add(user);
    const [first, ...others] = users.filter((user) => user !== own);
    if (own !== undefined || first === undefined) problems.push(problem);
    else problems.push({ ...problem, specFile: displayPath(project, first) });
    for (const other of own === undefined ? others : users.filter((user) => user !== own)) {
      const message = `can't be loaded, because ${problem.file} has an error`;
      problems.push(problemOf(displayPath(project, other), message));
    }
  }
  // An error that belongs to no file we know concerns all.
  return { problems, affected: affected.size === 0 ? new Set(files) : affected };
}
