import type { Problem } from "../model/manifest.ts";
import { checkDefinition, type LoadedDefinition } from "./definition.ts";
import { bundleDefinition, type DefinitionBundle } from "./definition-bundle.ts";
import {
  type DefinitionFile,
  type DefinitionFiles,
  findDefinitions,
  RESOURCE_MANAGERS,
} from "./definition-files.ts";
import { evaluateDefinition, type EvaluateDefinitionOptions } from "./evaluate-definition.ts";
import { didYouMean } from "../model/nearest.ts";
import { displayPath } from "./project.ts";
import type { ProjectFiles } from "./project-files.ts";

export type DefinitionLoaderOptions = EvaluateDefinitionOptions & {
  /** The project's files, where definitions and what they import are read. */
  projectFiles: ProjectFiles;
  globalFolder: string;
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

function evaluate(
  file: DefinitionFile,
  built: DefinitionBundle | { problems: Problem[] },
  options: DefinitionLoaderOptions,
): Promise<LoadedDefinition | { problems: Problem[] }> {
  const evaluated = { path: file.path, bundleName: `${file.name}.mjs` };
  return evaluateDefinition(evaluated, built, options, (exported, bundle) =>
    checkDefinition(file, exported, bundle, options),
  );
}

function unusable(name: string, file: string): Unusable {
  return { unusable: `the definition of ${JSON.stringify(name)} can't be used: see ${file}` };
}

function unknown(name: string, { byName, problems }: DefinitionFiles): Unusable {
  const known = [...byName.keys(), ...problems.keys()].sort();
  const hint =
    known.length === 0
      ? `; there are none yet: add .pi/resource-managers/${name}.resource-manager.ts`
      : didYouMean(name, known);
  return { unusable: `no resource manager is named ${JSON.stringify(name)}${hint}` };
}
