import type { Graph } from "../../model/graph.ts";
import { questionOf } from "../../model/question.ts";
import type { RunQuestion } from "../../model/run.ts";
import type { RunReader } from "../../store/runs.ts";

/** The open questions of a run. */
export async function questionsOf(
  store: Pick<RunReader, "awaited">,
  runId: string,
  graph: Graph | undefined,
): Promise<RunQuestion[]> {
  const lines = await store.awaited(runId);
  return lines
    .filter(({ event }) => event === "begun")
    .map((line) => questionOf(runId, line, graph?.nodes[line.node]));
}
