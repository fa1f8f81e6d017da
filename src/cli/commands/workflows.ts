import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";
import { listWorkflows, loadWorkflows } from "../workflows/load.ts";
import { workflowTable } from "../workflows/table.ts";

export const run: Action<object> = async (cli) => {
  const listings = listWorkflows(cli.project, await loadWorkflows(cli, []));
  if (listings.workflows.length + listings.problems.length === 0) {
    cli.output.note("There is no workflow yet; add .pi/workflows/NAME.workflow.ts.");
  }
  cli.output.result(listings satisfies Documents["workflows"], () => workflowTable(cli, listings));
};
