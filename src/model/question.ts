import type { Json } from "./canonical.ts";
import type { GraphNode } from "./graph.ts";
import type { JournalEntry, RunQuestion } from "./run.ts";

/** What a checkpoint asks, by the line with which it began to and what its graph says of it. */
export function questionOf(
  runId: string,
  line: Extract<JournalEntry, { visit: number }> & { input?: Json },
  node: Pick<GraphNode, "title" | "outputSchema"> | undefined,
): RunQuestion {
  return {
    runId,
    visit: line.visit,
    node: line.node,
    message: messageOf(line.input) ?? node?.title ?? line.node,
    ...(node?.outputSchema ? { schema: node.outputSchema } : {}),
    askedAt: line.at,
  };
}

/** A checkpoint's `begun` keeps its message as its input. */
function messageOf(input: Json | undefined): string | undefined {
  if (typeof input === "string") return input;
  if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined;
  const { message } = input;
  return typeof message === "string" ? message : undefined;
}
