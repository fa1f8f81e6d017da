import type { Graph } from "../../src/model/graph.ts";
import type { JournalInput } from "../../src/model/run.ts";
import type { GraphCommand, GraphEvent, GraphState } from "../../src/workflows/state.ts";
import { INITIAL_STATE, step } from "../../src/workflows/step.ts";

/** Steps through a graph; each call gives the commands of one event. */
export function stepper(graph: Graph): {
  step: (event: GraphEvent) => GraphCommand[];
  state: () => GraphState;
} {
  let state = INITIAL_STATE;
  return {
    state: () => state,
    step(event) {
      const next = step(graph, state, event);
      state = next.state;
      return next.commands;
    },
  };
}

/** What every event about one attempt says. */
export const about = (visit: number, node: string, attempt = 1) =>
  ({ at: 0, visit, node, attempt, kind: "action", startedAt: 0 }) as const;
export const failed = (visit: number, node: string, attempt: number): JournalInput => ({
  ...about(visit, node, attempt),
  event: "failed",
  error: { message: "502", reason: "Error" },
  retryable: true,
});
