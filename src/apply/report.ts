import { PiWorkflowsError } from "../model/errors.ts";
import type { ActionReceipt, ApplyReceipt, Plan, PlanAction } from "../model/plan.ts";
import type { Commit } from "./commit.ts";

/** What an apply has come to so far. */
export type Report = {
  plan: Plan;
  /** Changes to be written in all. */
  total: number;
  done: Map<PlanAction, ActionReceipt>;
  failed: number;
  storeRevision: number;
};

/** A report before anything is written. */
export function beginReport(plan: Plan, total: number): Report {
  return { plan, total, done: new Map(), failed: 0, storeRevision: plan.storeRevision };
}

/** Adds what one batch came to. */
export function record(report: Report, { steps, ...outcome }: Commit): void {
  for (const [index, { action }] of steps.entries()) {
    const { kind, resourceManager, key } = action;
    const identity = { kind, resourceManager, key };
    if ("error" in outcome) {
      const { message } = outcome.error;
      report.done.set(action, { ...identity, outcome: "failed", message });
      report.failed += 1;
      continue;
    }
    const item = outcome.receipt.items[index];
    report.done.set(action, {
      ...identity,
      outcome: "done",
      ...(item && {
        uid: item.uid,
        generation: item.generation,
        resourceVersion: item.resourceVersion,
      }),
    });
    report.storeRevision = Math.max(report.storeRevision, outcome.receipt.revision);
  }
}

/** One receipt per action of the plan, in its order. */
export function receiptOf(report: Report): ApplyReceipt {
  const { plan, done, storeRevision } = report;
  const actions = plan.actions.map((action) => done.get(action) ?? withoutChange(action, report));
  return { planId: plan.id, actions, storeRevision };
}

/** `error`, with what was written before it came, so that nobody takes it for nothing. */
export function interrupted(report: Report, error: PiWorkflowsError): PiWorkflowsError {
  if (report.done.size === 0) return error;
  const written = report.done.size - report.failed;
  return new PiWorkflowsError(
    error.code,
    `${error.message} (${written} of ${report.total} changes were written before)`,
    {
      hint: `${error.hint} What was written stays; applying again does the rest.`,
      details: { ...error.details, receipt: receiptOf(report) },
      cause: error,
    },
  );
}

function withoutChange(action: PlanAction, { plan, failed }: Report): ActionReceipt {
  const { kind, resourceManager, key, current } = action;
  const wrong = kind === "conflict" || kind === "invalid";
  const reasons = kind === "prune" ? whyNotPruned(plan, failed) : action.reasons;
  return {
    kind,
    resourceManager,
    key,
    outcome: wrong ? "failed" : "skipped",
    ...(current && {
      uid: current.uid,
      generation: current.generation,
      resourceVersion: current.resourceVersion,
    }),
    ...(reasons.length > 0 && { message: reasons.join("; ") }),
  };
}

function whyNotPruned({ prune }: Plan, failed: number): string[] {
  if (prune.state !== "clear") return [`the prune is ${prune.state}`, ...prune.reasons];
  return failed > 0 ? ["not pruned, because other changes failed"] : [];
}
