import path from "node:path";
import type { WorkflowProposal } from "../model/graph.ts";
import { graphSchema } from "../model/graph-schema.ts";
import { managerName, type Place, type Problem } from "../model/manifest.ts";
import { declarationSite } from "../resource-managers/site.ts";
import { checkWorkflow, type WorkflowProblem } from "../workflows/check.ts";
import { compile } from "../workflows/compile.ts";
import type { CompiledWorkflow } from "../workflows/compiled.ts";
import { isWorkflow, type Workflow } from "../workflows/define.ts";
import { isNode } from "../workflows/nodes.ts";
import type { DefinitionBundle } from "./definition-bundle.ts";
import type { DefinitionFile } from "./definition-files.ts";
import { show } from "./issue.ts";
import { secretPathsOf } from "./json-schema.ts";
import { locateProperty } from "./locate-property.ts";
import { placeOfOffset } from "./place.ts";
import { displayPath } from "./project.ts";
import type { ProjectFiles } from "./project-files.ts";
import { prepareSchema } from "./schema.ts";
import type { BundlePlaces } from "./source-map.ts";
import { problemOf } from "./text.ts";

type Context = { project: string; places: BundlePlaces; projectFiles: ProjectFiles };

/** Checks what a workflow's file exports, and describes it as plain data. */
export async function checkWorkflowFile(
  file: DefinitionFile,
  exported: unknown,
  bundle: DefinitionBundle,
  context: Context,
): Promise<WorkflowProposal | { problems: Problem[] }> {
  const shown = displayPath(context.project, file.path);
  if (!isWorkflow(exported)) {
    const found = exported === undefined ? "has no default export" : `exports ${show(exported)}`;
    return {
      problems: [problemOf(shown, `${found}; write \`export default defineWorkflow({ … })\``)],
    };
  }
  const place = (problem: WorkflowProblem) =>
    placed(problem, { shown, workflow: exported, ...context });
  const problems = [...nameProblems(file, exported), ...checkWorkflow(exported)];
  if (problems.length > 0) return { problems: await Promise.all(problems.map(place)) };
  const proposal = await proposalOf(file, compile(exported), bundle);
  const faults = limitProblems(proposal, exported);
  if (faults.length === 0) return proposal;
  return { problems: await Promise.all(faults.map(place)) };
}

function nameProblems(file: DefinitionFile, workflow: Workflow): WorkflowProblem[] {
  const { name } = workflow;
  // A name that can't be one is told anyway.
  if (name === file.name) return [];
  const wanted = JSON.stringify(file.name);
  const message = managerName.safeParse(file.name).success
    ? `must be ${wanted}, as the file's name says, not ${show(name)}`
    : `must be the file's name, which must be lower-case letters, digits and dashes, not ${wanted}`;
  return [{ path: "name", message, declared: workflow }];
}

/** What the server would refuse, told where nothing else is refused along with it. */
function limitProblems({ graph }: WorkflowProposal, workflow: Workflow): WorkflowProblem[] {
  const issues = graphSchema.safeParse(graph).error?.issues ?? [];
  return issues.map(({ path, message }) => ({
    path: path.join("."),
    message,
    declared: workflow,
  }));
}

/** Where the node or edge at fault is made or named, else where the workflow is. */
async function placed(
  { path: at, message, declared }: WorkflowProblem,
  { shown, workflow, places, ...context }: Context & { shown: string; workflow: Workflow },
): Promise<Problem> {
  const placeOf = (value: unknown) => {
    const stack = declarationSite(value);
    return stack === undefined ? undefined : places.ofStack(stack);
  };
  const own = placeOf(declared);
  const place = own ?? placeOf(workflow);
  const steps = own === undefined ? [] : stepsWithin(at, declared);
  const precise = place && steps.length > 0 ? await propertyAt(place, steps, context) : undefined;
  return { ...problemOf(shown, message), path: at, ...place, ...precise };
}

/** The part of a problem's path that leads on from where `declared` is made. */
function stepsWithin(at: string, declared: unknown): string[] {
  const steps = [...at.matchAll(/\["((?:[^"\\]|\\.)*)"\]|([^.[\]]+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? "",
  );
  // Of what is included the path begins with the includes around it.
  while (steps[0] === "includes" && steps.length > 2) steps.splice(0, 2);
  if (isWorkflow(declared)) return steps;
  return isNode(declared) && steps[0] === "nodes" ? steps.slice(2) : [];
}

async function propertyAt(
  place: Place,
  steps: readonly string[],
  { project, projectFiles }: Pick<Context, "project" | "projectFiles">,
): Promise<Place | undefined> {
  let text: string;
  try {
    text = (await projectFiles.read(path.resolve(project, place.file))).toString("utf8");
  } catch {
    // Changed under the load, or not a file that it may read: the call's own place has to do.
    return undefined;
  }
  const lines = text.split("\n");
  const before = lines.slice(0, place.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  const offset = locateProperty(text, before + place.column - 1, steps);
  return offset === undefined ? undefined : placeOfOffset(place.file, text, offset);
}

async function proposalOf(
  file: DefinitionFile,
  compiled: CompiledWorkflow,
  { digest, inputs, bundle }: DefinitionBundle,
): Promise<WorkflowProposal> {
  const { name, deadlineMs, graph } = compiled;
  const [input, output] = await Promise.all([
    prepareSchema(compiled.input),
    prepareSchema(compiled.output),
  ]);
  return {
    name,
    path: file.path,
    scope: file.scope,
    digest,
    inputs,
    bundle,
    ...(input.json === undefined ? {} : { inputSchema: input.json }),
    ...(output.json === undefined ? {} : { outputSchema: output.json }),
    secretPaths: secretPathsOf(input.json),
    deadlineMs,
    graph: { ...graph, nodes: await withOutputSchemas(compiled) },
  };
}

/** What people see of a node: the schema of what its author says it hands over. */
async function withOutputSchemas({
  graph,
  nodes,
}: CompiledWorkflow): Promise<WorkflowProposal["graph"]["nodes"]> {
  const described: WorkflowProposal["graph"]["nodes"] = {};
  for (const [path, node] of Object.entries(graph.nodes)) {
    const gives = node.cases === undefined ? nodes.get(path)?.gives : undefined;
    const json = gives === undefined ? undefined : (await prepareSchema(gives)).json;
    described[path] = json === undefined ? node : { ...node, outputSchema: json };
  }
  return described;
}
