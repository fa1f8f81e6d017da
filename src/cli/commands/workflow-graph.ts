import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";
import { loadWorkflow } from "../workflows/load.ts";

export const run: Action<object> = async (cli, _options, ...args) => {
  const [named] = args as [string];
  const { graph } = await loadWorkflow(cli, named);
  cli.output.result(graph satisfies Documents["workflow-graph"], () => JSON.stringify(graph));
};
