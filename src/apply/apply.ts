import type { ManagerProposal } from "../model/batch.ts";
import { toPiWorkflowsError } from "../model/errors.ts";
import type { WorkflowProposal } from "../model/graph.ts";
import type { ApplyReceipt, Plan } from "../model/plan.ts";
import { batchesOf } from "./batches.ts";
import { stepsOf } from "./changes.ts";
import type { OriginOf, Step } from "./changes.ts";
import { commitBatch, commitWhatCan } from "./commit.ts";
import type { Commit } from "./commit.ts";
import { refuseIncomplete } from "./refusals.ts";
import { beginReport, interrupted, receiptOf, record } from "./report.ts";
import type { Target } from "./target.ts";

/** How a plan is applied. */
export type ApplyOptions = {
  /**
   * `stop` (the default) applies nothing where anything is invalid or in conflict, and ends at the
   * first batch that is refused; `continue` applies what it can and reports the rest as failed.
   */
  onError?: "stop" | "continue";
  origin?: OriginOf;
  /**
   * Workflows of the project, accepted before anything is written, so that the first pass finds them.
   * Those that can't be used are no hindrance: they are not among these.
   */
  workflows?: readonly WorkflowProposal[];
  /** Called before the first batch and after each. */
  onProgress?: (progress: { done: number; total: number }) => void;
};

/**
 * Does what a plan says: accepts the definitions, then writes in batches, dependencies first, each
 * batch whole or not at all; then prunes, dependents first, where the gate is clear and no write
 * failed. A prune that is blocked or held is reported as skipped; `pruneRefusal` is its error.
 * @throws INVALID_SPECS, CONFLICT before anything is written; and what the target throws, with the
 * receipt of what was written before it in `details.receipt`.
 */
export async function apply(
  plan: Plan,
  target: Target,
  managers: readonly ManagerProposal[],
  options: ApplyOptions = {},
): Promise<ApplyReceipt> {
  if (options.onError !== "continue") refuseIncomplete(plan);
  for (const proposals of batchesOf(managers)) await target.acceptManagers(plan.project, proposals);
  for (const proposals of batchesOf(options.workflows ?? [])) {
    await target.acceptWorkflows(plan.project, proposals);
  }
  const { writes, prunes } = stepsOf(plan, options.origin ?? {});
  const pruned = plan.prune.state === "clear" ? prunes : [];
  const report = beginReport(plan, writes.length + pruned.length);
  const commitAll = async (steps: Step[]): Promise<void> => {
    for (const batch of batchesOf(steps)) {
      for (const outcome of await commit(batch, plan, target, options)) record(report, outcome);
      options.onProgress?.({ done: report.done.size, total: report.total });
    }
  };
  options.onProgress?.({ done: 0, total: report.total });
  try {
    await commitAll(writes);
    if (report.failed === 0) await commitAll(pruned);
  } catch (thrown) {
    throw interrupted(report, toPiWorkflowsError(thrown));
  }
  return receiptOf(report);
}

async function commit(
  batch: Step[],
  plan: Plan,
  target: Target,
  options: ApplyOptions,
): Promise<Commit[]> {
  if (options.onError === "continue") return commitWhatCan(target, plan.project, batch);
  return [{ steps: batch, receipt: await commitBatch(target, plan.project, batch) }];
}
