import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";
import { listWorkflows, loadWorkflows, unusable } from "../workflows/load.ts";
import { workflowTable } from "../workflows/table.ts";

export const run: Action<object> = async (cli, _options, ...named) => {
  const loaded = await loadWorkflows(cli, named);
  if (loaded.workflowProblems.length > 0) throw unusable(loaded.workflowProblems);
  const listings = listWorkflows(cli.project, loaded);
  if (listings.workflows.length === 0) {
    cli.output.note("There is no workflow to validate; add .pi/workflows/NAME.workflow.ts.");
  }
  cli.output.result(listings satisfies Documents["workflow-validate"], () =>
    workflowTable(cli, listings),
  );
};
