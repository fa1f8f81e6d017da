import { formatProblem } from "../../model/manifest.ts";
import { printable } from "../../model/text.ts";
import { displayPath } from "../../sources/project.ts";
import { table } from "../columns.ts";
import type { Cli } from "../invocation.ts";
import type { WorkflowListing, WorkflowListings } from "./load.ts";

/** Workflows under each other, then every problem on a line. */
export function workflowTable(
  { project, output }: Pick<Cli, "project" | "output">,
  { workflows, problems }: WorkflowListings,
): string {
  const { colors } = output;
  const state = ({ shadowed, problems: own }: WorkflowListing): string => {
    if (shadowed) return colors.dim("hidden by the project's");
    if (own.length === 0) return colors.green("ok");
    return colors.red(own.length === 1 ? "1 problem" : `${own.length} problems`);
  };
  const rows = workflows.map((workflow) => [
    printable(workflow.name),
    workflow.scope,
    workflow.nodes === undefined ? "" : String(workflow.nodes),
    state(workflow),
    printable(displayPath(project, workflow.path)),
  ]);
  const all = [...workflows.flatMap((workflow) => workflow.problems), ...problems];
  const lines = all.map((problem) => printable(formatProblem(problem)));
  const heading = ["WORKFLOW", "SCOPE", "NODES", "STATE", "FILE"];
  const list = rows.length === 0 ? [] : [table(heading, rows, colors.bold)];
  return [...list, ...(lines.length === 0 ? [] : [lines.join("\n")])].join("\n\n");
}
