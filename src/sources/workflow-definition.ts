import type { WorkflowProposal } from "../model/graph.ts";
import { graphSchema } from "../model/graph-schema.ts";
import { managerName, type Problem } from "../model/manifest.ts";
import { declarationSite } from "../resource-managers/site.ts";
import { checkWorkflow, type WorkflowProblem } from "../workflows/check.ts";
import { compile } from "../workflows/compile.ts";
import type { CompiledWorkflow } from "../workflows/compiled.ts";
import { isWorkflow, type Workflow } from "../workflows/define.ts";
import type { DefinitionBundle } from "./definition-bundle.ts";
import type { DefinitionFile } from "./definition-files.ts";
import { show } from "./issue.ts";
import { secretPathsOf } from "./json-schema.ts";
import { displayPath } from "./project.ts";
import { prepareSchema } from "./schema.ts";
import type { BundlePlaces } from "./source-map.ts";
import { problemOf } from "./text.ts";

type Context = { project: string; places: BundlePlaces };

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
  const problems = [...nameProblems(file, exported), ...checkWorkflow(exported)].map((problem) =>
    placed(problem, { shown, workflow: exported, ...context }),
  );
  if (problems.length > 0) return { problems };
  const proposal = await proposalOf(file, compile(exported), bundle);
  const faults = limitProblems(proposal, exported);
  if (faults.length === 0) return proposal;
  return {
    problems: faults.map((fault) => placed(fault, { shown, workflow: exported, ...context })),
  };
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

/** Where the node or edge at fault is made, else where the workflow is. */
function placed(
  { path, message, declared }: WorkflowProblem,
  { shown, workflow, places }: Context & { shown: string; workflow: Workflow },
): Problem {
  const placeOf = (value: unknown) => {
    const stack = declarationSite(value);
    return stack === undefined ? undefined : places.ofStack(stack);
  };
  const place = placeOf(declared) ?? placeOf(workflow);
  return { ...problemOf(shown, message), path, ...place };
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
