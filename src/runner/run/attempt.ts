import type { GraphNode, NodeKind } from "../../model/graph.ts";
import type { Json } from "../../model/canonical.ts";
import type { AttemptRef, NodeError, RunOrders } from "../../model/run.ts";
import type { CompiledNode } from "../../workflows/compiled.ts";

/** Why an attempt was called off: its own time was up, the run wants it to stop, or the pass ends. */
export type CallOff = "deadline" | "abort" | "pass";

/** One attempt of a node that is being made. */
export type Attempt = {
  ref: AttemptRef;
  node: CompiledNode;
  /** What is said of the node as data: its deadline, its retries. */
  plain: GraphNode;
  startedAt: number;
  /** Aborts when the attempt is called off. */
  signal: AbortSignal;
  /** Why it was, once it was. */
  calledOff: () => CallOff | undefined;
};

/** What an attempt came to. */
export type Verdict =
  | { event: "succeeded"; output?: Json | undefined }
  | { event: "failed"; error: NodeError; retryable: boolean }
  | { event: "aborted" }
  /** What it did can't be told. */
  | { event: "ambiguous" };

/** An answer to a checkpoint. */
export type Answer = RunOrders["answers"][number];

/** Where an attempt is, for messages: `node review/judge`, or `the compensation of node a`. */
export function nameOf({ node, compensation }: AttemptRef): string {
  return compensation ? `the compensation of node ${node}` : `node ${node}`;
}

/** Only what a line of the journal says of an attempt. */
export function refOf({ visit, node, attempt, compensation }: AttemptRef): AttemptRef {
  return { visit, node, attempt, ...(compensation ? { compensation } : {}) };
}

/** What a node handed over, as its line of the journal has it: a decision's is its choice too. */
export function handedOver(
  kind: NodeKind,
  output: Json | undefined,
): { output?: Json; choice?: string } {
  if (output === undefined) return {};
  return {
    output,
    ...(kind === "decision" && typeof output === "string" ? { choice: output } : {}),
  };
}

/** True where a crash must find that it had begun: everything that may act on the outside world. */
export function leavesTraces({ ref, node }: Attempt): boolean {
  if (node.safety !== "pure") return true;
  return !ref.compensation && node.work.by !== "code";
}
