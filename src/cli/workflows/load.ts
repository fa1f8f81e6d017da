import { realpathSync } from "node:fs";
import path from "node:path";
import { PiWorkflowsError } from "../../model/errors.ts";
import type { Graph, WorkflowProposal } from "../../model/graph.ts";
import { formatProblem, type Problem } from "../../model/manifest.ts";
import type { ResolvedWorkflows } from "../../runner/resolver.ts";
import { isDefinition, WORKFLOWS } from "../../sources/definition-files.ts";
import { displayPath } from "../../sources/project.ts";
import type { Cli } from "../invocation.ts";
import { isSeam } from "../runs/node-table.ts";

/** One workflow as `workflows` and `workflow validate` list it. */
export type WorkflowListing = {
  name: string;
  scope: "project" | "global";
  /** Absolute path of its file. */
  path: string;
  /** True where the project has one of that name, which is taken instead. */
  shadowed: boolean;
  /** How many nodes its graph has, those of included workflows counted; absent where it has problems. */
  nodes?: number;
  /** A run of it must end within this, milliseconds. */
  deadlineMs?: number;
  problems: Problem[];
};

/** What was found, and problems that belong to none of it. */
export type WorkflowListings = { workflows: WorkflowListing[]; problems: Problem[] };

/**
 * Loads workflows of the project and the user by name or by file, all where none is named.
 * @throws PiWorkflowsError RESOLVE_FAILED
 */
export async function loadWorkflows(
  cli: Cli,
  named: readonly string[],
): Promise<ResolvedWorkflows> {
  return load(cli, named.length === 0 ? "all" : named.map(nameOrPath));
}

type Loading = Pick<Cli, "project" | "signal">;

async function load(
  { project, signal }: Loading,
  workflows: string[] | "all",
): Promise<ResolvedWorkflows> {
  const { resolve } = await import("../../runner/resolver.ts");
  return resolve({ project, files: [], workflows, signal });
}

/** The absolute path of a file where `given` looks like one; a name otherwise. */
export function nameOrPath(given: string): string {
  if (!given.includes(path.sep) && !isDefinition(WORKFLOWS, given)) return given;
  const file = path.resolve(given);
  try {
    return path.join(realpathSync(path.dirname(file)), path.basename(file));
  } catch {
    // Loading it says that it is not there.
    return file;
  }
}

/**
 * One workflow as its file says now, by its name or the absolute path of its file.
 * @throws PiWorkflowsError UNKNOWN_WORKFLOW, INVALID_DEFINITION with its problems
 */
export async function loadWorkflow(cli: Loading, wanted: string): Promise<WorkflowProposal> {
  const { workflows, workflowFiles, workflowProblems } = await load(cli, [wanted]);
  const [workflow] = workflows;
  if (workflow) return workflow;
  const [why] = workflowProblems;
  if (workflowFiles.length > 0 || why === undefined) throw unusable(workflowProblems);
  throw new PiWorkflowsError("UNKNOWN_WORKFLOW", why.message);
}

/** The error of workflows that can't be used. */
export function unusable(problems: readonly Problem[]): PiWorkflowsError {
  const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  const lines = problems.map((problem) => `\n  ${formatProblem(problem)}`).join("");
  return new PiWorkflowsError("INVALID_DEFINITION", `workflows have ${count}:${lines}`, {
    hint: "Mend the places named.",
    details: { problems },
  });
}

/** What was loaded, as a list by name. */
export function listWorkflows(project: string, loaded: ResolvedWorkflows): WorkflowListings {
  const known = new Map(loaded.workflows.map((workflow) => [workflow.path, workflow]));
  const rest = new Set(loaded.workflowProblems);
  const workflows = loaded.workflowFiles.map(({ name, scope, path: file, shadowed }) => {
    const shown = displayPath(project, file);
    const problems = loaded.workflowProblems.filter(
      (problem) => !shadowed && (problem.specFile ?? problem.file) === shown,
    );
    for (const problem of problems) rest.delete(problem);
    const workflow = known.get(file);
    return {
      name,
      scope,
      path: file,
      shadowed,
      ...(workflow === undefined
        ? {}
        : { nodes: countNodes(workflow.graph), deadlineMs: workflow.deadlineMs }),
      problems,
    };
  });
  workflows.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : Number(a.shadowed)));
  return { workflows, problems: [...rest] };
}

/** Those that an author wrote: not where workflows begin and end. */
function countNodes({ nodes }: Graph): number {
  return Object.values(nodes).filter(({ kind }) => !isSeam(kind)).length;
}
