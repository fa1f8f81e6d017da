import { formatProblem } from "../../model/manifest.ts";
import type { ActionReceipt, Plan, PlanAction } from "../../model/plan.ts";
import type { SyncRevision } from "../../model/sync.ts";
import { SYNC_OWNER } from "../../model/sync.ts";
import { sameOwner } from "../../diff/absent.ts";
import type { SyncMark } from "../../store/store.ts";
import { shortRevision } from "./conditions.ts";

/** The resources of a set that are not as its source says, and why. */
export function marksOf(
  plan: Plan,
  receipts: readonly ActionReceipt[] | undefined,
  revision: SyncRevision,
): SyncMark[] {
  return plan.actions.flatMap((action, index) => {
    const { current } = action;
    if (!current || !sameOwner(current.owner, SYNC_OWNER)) return [];
    const why = reasonOf(action, plan, receipts?.[index]);
    if (!why) return [];
    const message = `${why.message} (at ${shortRevision(revision.id)})`;
    return [{ uid: current.uid, reason: why.reason, message }];
  });
}

function reasonOf(
  action: PlanAction,
  plan: Plan,
  receipt: ActionReceipt | undefined,
): Omit<SyncMark, "uid"> | undefined {
  const reasons = action.reasons.join("; ");
  switch (action.kind) {
    case "unchanged":
      return undefined;
    case "invalid":
      return { reason: "SourceInvalid", message: problemOf(action, plan) ?? reasons };
    case "conflict":
      return { reason: "Conflict", message: reasons };
    case "prune":
      if (receipt?.outcome === "done") return undefined;
      return { reason: whyKept(plan, receipt), message: reasons };
    case "create":
    case "update":
    case "move":
      if (receipt?.outcome === "done") return undefined;
      return receipt
        ? { reason: "ApplyFailed", message: receipt.message ?? reasons }
        : { reason: "SyncSuspended", message: reasons };
  }
}

function whyKept({ prune }: Plan, receipt: ActionReceipt | undefined): string {
  if (prune.state === "held") return "PruneHeld";
  if (prune.state === "blocked") return "PruneBlocked";
  return receipt ? "ApplyFailed" : "SyncSuspended";
}

function problemOf({ desired, current }: PlanAction, { problems }: Plan): string | undefined {
  const files = new Set([desired?.place.file, current?.file]);
  const problem = problems.find(({ file, specFile }) => files.has(file) || files.has(specFile));
  return problem && formatProblem(problem);
}
