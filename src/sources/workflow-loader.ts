import { realpathSync } from "node:fs";
import path from "node:path";
import type { WorkflowProposal } from "../model/graph.ts";
import type { Problem } from "../model/manifest.ts";
import { bundleDefinition } from "./definition-bundle.ts";
import {
  type DefinitionFile,
  type DefinitionFiles,
  findDefinitions,
  WORKFLOWS,
} from "./definition-files.ts";
import type { DefinitionLoaderOptions } from "./definition-loader.ts";
import { evaluateDefinition } from "./evaluate-definition.ts";
import { didYouMean } from "../model/nearest.ts";
import { displayPath } from "./project.ts";
import { problemOf, readFault } from "./text.ts";

/** A workflow's file, whether it can be used or not. */
export type WorkflowFile = DefinitionFile & {
  /** True where the project has one of that name, which is taken instead. */
  shadowed: boolean;
};

/** Workflows that were asked for: their files, what they are, and what is wrong with the others. */
export type LoadedWorkflows = {
  files: WorkflowFile[];
  workflows: WorkflowProposal[];
  problems: Problem[];
};

/** Loads workflows by name, by absolute path, or all that the discovery rules find. */
export type WorkflowLoader = {
  /** Evaluates what has been begun, one after another, and hands over each as it is known. */
  finish(take: (loaded: LoadedWorkflows) => Promise<void>): Promise<void>;
};

type Building = ReturnType<typeof bundleDefinition>;

/**
 * Finds workflows and begins to build them, so that they are ready once all else is loaded. Nothing
 * of a project without workflows is read but the names in two folders.
 */
export function workflowLoader(
  wanted: readonly string[] | "all",
  options: DefinitionLoaderOptions,
): WorkflowLoader {
  const { project, globalFolder, projectFiles, skip } = options;
  if (wanted !== "all" && wanted.length === 0) return NONE;
  const found = findDefinitions(WORKFLOWS, project, globalFolder, projectFiles.definitionNames);
  const selected = select(wanted, found);
  const building = new Map<DefinitionFile, Building>();
  for (const file of selected.files) {
    if (skip.has(file.path)) continue;
    building.set(file, build(file, options));
    // What evaluates it looks at it later; until then nobody does.
    building.get(file)?.catch(() => undefined);
  }
  return {
    async finish(take) {
      const problems = [...found.unreadable, ...selected.problems];
      const files = listed(found, selected.files);
      await take({ files, workflows: [], problems });
      for (const [index, [file, built]] of [...building].entries()) {
        const evaluated = { path: file.path, bundleName: `workflow-${index}.mjs` };
        const { checkWorkflowFile } = await import("./workflow-definition.ts");
        const result = await evaluateDefinition(
          evaluated,
          await built,
          options,
          (exported, bundle) => checkWorkflowFile(file, exported, bundle, options),
        );
        if ("problems" in result) {
          const shown = displayPath(project, file.path);
          const own = result.problems.map((problem) => ofFile(problem, shown));
          await take({ files: [], workflows: [], problems: own });
        } else await take({ files: [], workflows: [result], problems: [] });
      }
    },
  };
}

const NONE: WorkflowLoader = { finish: () => Promise.resolve() };

/** A problem in what a definition imports is the definition's. */
function ofFile(problem: Problem, shown: string): Problem {
  return problem.file === shown || problem.specFile !== undefined
    ? problem
    : { ...problem, specFile: shown };
}

function listed(found: DefinitionFiles, selected: readonly DefinitionFile[]): WorkflowFile[] {
  const names = new Set(selected.map(({ name }) => name));
  return [
    ...selected.map((file) => ({ ...file, shadowed: false })),
    ...found.shadowed
      .filter(({ name }) => names.has(name) || found.problems.has(name))
      .map((file) => ({ ...file, shadowed: true })),
  ];
}

type Selected = { files: DefinitionFile[]; problems: Problem[] };

function select(wanted: readonly string[] | "all", found: DefinitionFiles): Selected {
  if (wanted === "all") {
    return { files: [...found.byName.values()], problems: [...found.problems.values()] };
  }
  const selected: Selected = { files: [], problems: [] };
  for (const one of new Set(wanted)) {
    const file = path.isAbsolute(one) ? namedOutright(one, found) : found.byName.get(one);
    const problem = file ? undefined : (found.problems.get(one) ?? unknown(one, found));
    if (file) selected.files.push(file);
    if (problem) selected.problems.push(problem);
  }
  return selected;
}

/** A file that a person names may lie anywhere, as long as it is called as workflows are. */
function namedOutright(file: string, { byName }: DefinitionFiles): DefinitionFile | undefined {
  const name = WORKFLOWS.pattern.exec(path.basename(file))?.[1];
  if (name === undefined) return undefined;
  const known = byName.get(name);
  return known?.path === file ? known : { name, path: file, scope: "project" };
}

function unknown(wanted: string, { byName, problems }: DefinitionFiles): Problem {
  if (path.isAbsolute(wanted)) {
    return problemOf(wanted, "the name of a workflow's file must end in .workflow.ts");
  }
  const known = [...byName.keys(), ...problems.keys()].sort();
  const hint =
    known.length === 0
      ? `; there are none yet: add ${WORKFLOWS.folder}/${wanted}.workflow.ts`
      : didYouMean(wanted, known);
  const message = `no workflow is named ${JSON.stringify(wanted)}${hint}`;
  return problemOf(WORKFLOWS.folder, message);
}

async function build(file: DefinitionFile, options: DefinitionLoaderOptions): Building {
  const { project, projectFiles } = options;
  const outside = await leadsOut(file, options);
  if (outside !== undefined) {
    return { problems: [problemOf(displayPath(project, file.path), outside)] };
  }
  return bundleDefinition(file, project, projectFiles);
}

/** Why a file must not be read although the discovery rules name it: a link that leads elsewhere. */
async function leadsOut(
  { path: file, scope }: DefinitionFile,
  { project, projectFiles: { commit }, globalFolder }: DefinitionLoaderOptions,
): Promise<string | undefined> {
  try {
    if (commit?.holds(file)) {
      await commit.tree.locate(commit.inTree(file));
      return undefined;
    }
    const root = realpathSync(scope === "global" ? WORKFLOWS.globalFolder(globalFolder) : project);
    const real = realpathSync(file);
    if (!file.startsWith(`${project}${path.sep}`) && scope === "project") return undefined;
    if (real.startsWith(`${root}${path.sep}`)) return undefined;
    const where = scope === "global" ? "the folder of workflows" : "the project";
    return `the symbolic link leads out of ${where}, to ${real}`;
  } catch (thrown) {
    return readFault(thrown);
  }
}
