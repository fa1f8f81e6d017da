import { PiWorkflowsError } from "../../model/errors.ts";
import type { WorkflowProposal } from "../../model/graph.ts";
import type { Cli } from "../invocation.ts";

/**
 * One workflow as its file says now, from the project or from the user's folder.
 * @throws PiWorkflowsError UNKNOWN_WORKFLOW, INVALID_DEFINITION with the problems
 */
export async function loadWorkflow(
  { project, signal }: Pick<Cli, "project" | "signal">,
  name: string,
): Promise<WorkflowProposal> {
  const { resolve } = await import("../../runner/resolver.ts");
  const { workflows, workflowFiles, workflowProblems } = await resolve({
    project,
    files: [],
    workflows: [name],
    signal,
  });
  const found = workflows.find((workflow) => workflow.name === name);
  if (found) return found;
  if (workflowFiles.length > 0) {
    throw new PiWorkflowsError("INVALID_DEFINITION", `workflow ${name} can't be used`, {
      hint: "Mend the places named; nothing was started.",
      details: { problems: workflowProblems },
    });
  }
  const [why] = workflowProblems;
  throw new PiWorkflowsError("UNKNOWN_WORKFLOW", why?.message ?? `no workflow is named ${name}`);
}
