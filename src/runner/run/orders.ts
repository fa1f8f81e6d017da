import type { JournalInput, RunOrders } from "../../model/run.ts";
import type { Visit } from "../../workflows/state.ts";
import type { CompiledNode } from "../../workflows/compiled.ts";
import { handedOver, refOf, type Answer } from "./attempt.ts";
import { handOver, type HandOverError } from "./hand-over.ts";

/** A line by which something that a person said enters the journal. */
type Line = JournalInput & { event: "succeeded" | "failed" | "aborted" | "released" };

/** When the line is written, and when what it ends began. */
type Times = { at: number; startedAt: number };

/**
 * What an answer makes of its checkpoint. One that does not fit (JSON Schema, by which the server has
 * checked it, can't say all that zod can) is dropped, so that the checkpoint asks again: then
 * `problem` says why.
 */
export function answered(
  { node, visit }: { node: CompiledNode; visit: Visit },
  { value, by }: Answer,
  times: Times,
): { line: Line; problem?: string } {
  const line = { ...times, ...refOf(visit), kind: node.kind };
  try {
    const what = `${by} gave node ${visit.node} an answer`;
    const output = handOver(value, node.gives, { what, reason: "InvalidOutput" });
    return {
      line: { event: "succeeded", ...line, ...(output === undefined ? {} : { output }), by },
    };
  } catch (thrown) {
    return { line: { event: "aborted", ...line }, problem: (thrown as HandOverError).message };
  }
}

/** What a person's word makes of an ambiguous attempt. */
export function resolved(
  { node, visit }: { node: CompiledNode; visit: Visit },
  order: RunOrders["resolutions"][number],
  times: Times,
): Line {
  const { by } = order;
  const ref = refOf(visit);
  switch (order.outcome) {
    case "retry":
      return { event: "released", at: times.at, ...ref, by };
    case "failed": {
      const error = { reason: "Resolved", message: `${order.message} (said ${by})` };
      return { event: "failed", ...times, ...ref, kind: node.kind, error, retryable: false };
    }
    case "succeeded":
      return succeeded({ node, visit }, order, times);
  }
}

/** What a command hands over of which is only known that it went well. */
function silent({ work }: CompiledNode): unknown {
  const isPlain = work.by === "command" && work.parse === undefined;
  return isPlain ? { exitCode: 0, stdout: "", stderr: "", isCut: false } : undefined;
}

function succeeded(
  { node, visit }: { node: CompiledNode; visit: Visit },
  { output, by }: { output?: unknown; by: string },
  times: Times,
): Line {
  const line = { ...times, ...refOf(visit), kind: node.kind };
  if (visit.compensation) return { event: "succeeded", ...line, by };
  try {
    const what = `${by} said that node ${visit.node} handed over an output`;
    const value = handOver(output ?? silent(node), node.gives, { what, reason: "InvalidOutput" });
    return {
      event: "succeeded",
      ...line,
      ...handedOver(node.kind, value),
      by,
    };
  } catch (thrown) {
    const error = (thrown as HandOverError).toNodeError();
    return { event: "failed", ...line, error, retryable: false };
  }
}
