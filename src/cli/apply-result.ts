import { pruneRefusal } from "../apply/refusals.ts";
import type { WaitOutcome } from "../apply/waiting.ts";
import { receiptWord } from "../diff/render/words.ts";
import type { ShownPlan } from "../diff/schema.ts";
import { ERRORS, PiWorkflowsError, type ErrorJson } from "../model/errors.ts";
import type { Problem } from "../model/manifest.ts";
import type { ActionReceipt, ApplyReceipt, Plan } from "../model/plan.ts";
import { describeRef } from "../model/resource.ts";
import { printable } from "../model/text.ts";
import { columns } from "./columns.ts";
import type { Colors } from "./output.ts";

/** What `apply -o json` prints. */
export type ApplyResult = ApplyReceipt & {
  prune: ShownPlan["prune"];
  problems: ShownPlan["problems"];
  /** Of workflows, which kept nothing from being applied. */
  workflowProblems: Problem[];
  /** What became of `--wait`. */
  waited: WaitOutcome[];
  /** Why it is not all done. */
  error?: ErrorJson;
};

/**
 * What kept an apply that ran to its end from being whole: resources that failed, or a prune that a
 * guard stopped.
 */
export function shortfallOf(
  plan: Plan,
  receipt: ApplyReceipt,
  problems: ShownPlan["problems"],
): PiWorkflowsError | undefined {
  const failed = receipt.actions.filter(({ outcome }) => outcome === "failed");
  if (failed.length === 0 && problems.length === 0) return pruneRefusal(plan);
  const code = problems.length > 0 ? "INVALID_SPECS" : "CONFLICT";
  const count = failed.length === 1 ? "1 resource was" : `${failed.length} resources were`;
  return new PiWorkflowsError(code, `${count} not applied`, {
    hint:
      problems.length > 0 ? "Mend the places named; the rest was applied." : ERRORS.CONFLICT.hint,
    ...(problems.length > 0 ? { details: { problems } } : {}),
  });
}

/** One line for each resource that was not left as it was, then the counts. */
export function receiptTable(receipt: ApplyReceipt, colors: Colors): string {
  const shown = receipt.actions.filter(({ kind }) => kind !== "unchanged");
  const rows = shown.map((action) => [
    paint(action, colors),
    printable(describeRef(action)),
    colors.dim(printable(detailOf(action))),
  ]);
  const counts = countsOf(receipt);
  return rows.length === 0 ? counts : `${columns(rows)}\n\n${counts}`;
}

function paint(action: ActionReceipt, colors: Colors): string {
  const word = receiptWord(action);
  if (action.outcome !== "done") return colors.yellow(word);
  if (action.kind === "create") return colors.green(word);
  return action.kind === "prune" ? colors.red(word) : colors.cyan(word);
}

function detailOf({ kind, outcome, message, generation }: ActionReceipt): string {
  if (message !== undefined && outcome !== "done") return message;
  return generation === undefined || kind === "prune" ? "" : `generation ${generation}`;
}

function countsOf({ actions }: ApplyReceipt): string {
  const counts = new Map<string, number>();
  for (const action of actions) {
    counts.set(receiptWord(action), (counts.get(receiptWord(action)) ?? 0) + 1);
  }
  return counts.size === 0
    ? "nothing to apply"
    : [...counts].map(([word, count]) => `${count} ${word}`).join(", ");
}
