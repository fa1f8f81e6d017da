import { drawMermaid } from "../../workflows/draw-mermaid.ts";
import { drawText } from "../../workflows/draw-text.ts";
import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";
import { loadWorkflow, nameOrPath } from "../workflows/load.ts";

export const run: Action<object> = async (cli, _options, ...args) => {
  const [named] = args as [string];
  const { graph } = await loadWorkflow(cli, nameOrPath(named));
  const { format, width = Number.POSITIVE_INFINITY, colors } = cli.output;
  cli.output.result(graph satisfies Documents["workflow-graph"], () =>
    format === "mermaid"
      ? drawMermaid(graph)
      : drawText(graph, { width, color: colors.isColorSupported }),
  );
};
