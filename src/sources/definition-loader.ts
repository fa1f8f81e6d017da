import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Problem } from "../model/manifest.ts";
import { checkDefinition, type LoadedDefinition } from "./definition.ts";
import { bundleDefinition, type DefinitionBundle } from "./definition-bundle.ts";
import {
  type DefinitionFile,
  type DefinitionFiles,
  findDefinitions,
  RESOURCE_MANAGERS,
} from "./definition-files.ts";
import { type ProcessGuard, Refused } from "./guard.ts";
import { thrownProblem } from "./evaluate-specs.ts";
import { nearestName } from "./nearest.ts";
import { displayPath } from "./project.ts";
import type { ProjectFiles } from "./project-files.ts";
import type { BundlePlaces } from "./source-map.ts";
import { withTimeLimit } from "./time-limit.ts";

export type DefinitionLoaderOptions = {
  project: string;
  /** The project's files, where definitions and what they import are read. */
  projectFiles: ProjectFiles;
  globalFolder: string;
  /** A folder of this load's own, for bundles. */
  scratch: string;
  places: BundlePlaces;
  guard: ProcessGuard;
  evaluateMs: number;
  /** Called before each definition is evaluated. */
  onFile: (file: string) => void;
  /** Definitions that an earlier try could not get past, by path. */
  skip: ReadonlySet<string>;
};

/** Why a name has no usable definition, as a spec that names it is told. */
export type Unusable = { unusable: string };

/** Loads definitions when they are named; each once. */
export type DefinitionLoader = {
  /** Begins to build the definition of `name`, so that it is ready sooner. */
  begin(name: string): void;
  beginAll(): void;
  /** Evaluates everything begun, one after another. */
  finish(): Promise<void>;
  /** After `finish`. */
  get: (name: string) => LoadedDefinition | Unusable;
  loaded(): LoadedDefinition[];
  problems: Problem[];
};

export function definitionLoader(options: DefinitionLoaderOptions): DefinitionLoader {
  const files = findDefinitions(
    RESOURCE_MANAGERS,
    options.project,
    options.globalFolder,
    options.projectFiles.definitionNames,
  );
  const bundles = new Map<string, ReturnType<typeof bundleDefinition>>();
  const results = new Map<string, LoadedDefinition | Unusable>();
  const problems: Problem[] = [...files.unreadable];
  const begin = (name: string): void => {
    if (bundles.has(name) || results.has(name)) return;
    const file = files.byName.get(name);
    const problem = files.problems.get(name);
    if (problem !== undefined) {
      problems.push(problem);
      results.set(name, unusable(name, problem.file));
    } else if (file === undefined) {
      results.set(name, unknown(name, files));
    } else if (options.skip.has(file.path)) {
      results.set(name, unusable(name, displayPath(options.project, file.path)));
    } else {
      bundles.set(name, bundleDefinition(file, options.project, options.projectFiles));
    }
  };
  return {
    begin,
    beginAll: () => [...files.byName.keys(), ...files.problems.keys()].forEach(begin),
    async finish() {
      for (const [name, building] of bundles) {
        if (results.has(name)) continue;
        const file = files.byName.get(name) as DefinitionFile;
        const loaded = await evaluate(file, await building, options);
        if ("problems" in loaded) {
          problems.push(...loaded.problems);
          results.set(name, unusable(name, displayPath(options.project, file.path)));
        } else {
          results.set(name, loaded);
        }
      }
    },
    get: (name) => results.get(name) ?? unknown(name, files),
    loaded: () => [...results.values()].filter((result) => "manager" in result),
    problems,
  };
}

async function evaluate(
  file: DefinitionFile,
  built: DefinitionBundle | { problems: Problem[] },
  options: DefinitionLoaderOptions,
): Promise<LoadedDefinition | { problems: Problem[] }> {
  if ("problems" in built) return built;
  const { project, scratch, places, guard, evaluateMs } = options;
  const shown = displayPath(project, file.path);
  const evaluated = path.join(scratch, `${file.name}.mjs`);
  writeFileSync(evaluated, built.bundle);
  places.add(evaluated, built.map);
  options.onFile(file.path);
  try {
    const { default: exported } = await withTimeLimit(
      async () => (await import(pathToFileURL(evaluated).href)) as { default?: unknown },
      evaluateMs,
    );
    return await checkDefinition(file, exported, built, { project, places });
  } catch (thrown) {
    if (!(thrown instanceof Refused)) return { problems: [thrownProblem(shown, thrown, places)] };
    const message = thrown.message;
    return { problems: [{ file: shown, line: 1, column: 1, path: "", message }] };
  } finally {
    // What a definition prints while it loads goes nowhere; that is no reason to refuse it.
    guard.take();
  }
}

function unusable(name: string, file: string): Unusable {
  return { unusable: `the definition of ${JSON.stringify(name)} can't be used: see ${file}` };
}

function unknown(name: string, { byName, problems }: DefinitionFiles): Unusable {
  const known = [...byName.keys(), ...problems.keys()].sort();
  const near = nearestName(name, known);
  const hint = near === undefined ? "" : `; did you mean ${JSON.stringify(near)}?`;
  const list =
    known.length === 0
      ? `; there are none yet: add .pi/resource-managers/${name}.resource-manager.ts`
      : `; there are: ${known.join(", ")}`;
  return { unusable: `no resource manager is named ${JSON.stringify(name)}${hint}${list}` };
}
