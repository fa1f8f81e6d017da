import { PiWorkflowsError } from "../model/errors.ts";
import { formatProblem } from "../model/manifest.ts";
import type { Plan, PlanAction } from "../model/plan.ts";
import { describeRef } from "../model/resource.ts";

const SHOWN = 20;

/**
 * Refuses a plan that can't be applied whole, naming every place at once.
 * @throws INVALID_SPECS with the problems, CONFLICT with the owners.
 */
export function refuseIncomplete(plan: Plan): void {
  const { problems } = plan;
  if (problems.length > 0) {
    const places = list(problems.map((problem) => formatProblem(problem)));
    throw new PiWorkflowsError("INVALID_SPECS", `the specs have problems:\n${places}`, {
      hint: "Mend the places named, or apply the rest with --on-error continue; nothing was changed.",
      details: { problems },
    });
  }
  const conflicts = plan.actions.filter(({ kind }) => kind === "conflict");
  if (conflicts.length > 0) throw conflictError(conflicts);
}

function conflictError(conflicts: PlanAction[]): PiWorkflowsError {
  const resources = list(
    conflicts.map((action) => `${describeRef(action)} ${action.reasons.join("; ")}`),
  );
  return new PiWorkflowsError("CONFLICT", `some resources can't be applied:\n${resources}`, {
    details: {
      conflicts: conflicts.map(({ resourceManager, key, reasons, owner }) => ({
        resourceManager,
        key,
        reasons,
        owner,
      })),
    },
  });
}

/**
 * The error of a prune that did not happen, for the caller to raise after the rest was applied:
 * PRUNE_BLOCKED or PRUNE_HELD (exit code 3). Undefined where nothing was kept from being pruned.
 */
export function pruneRefusal({ prune, counts }: Plan): PiWorkflowsError | undefined {
  const what = counts.prune === 1 ? "1 resource was" : `${counts.prune} resources were`;
  switch (prune.state) {
    case "clear":
      return undefined;
    case "blocked":
      return new PiWorkflowsError(
        "PRUNE_BLOCKED",
        `${what} not pruned: ${prune.reasons.join("; ")}`,
        { details: { reasons: prune.reasons } },
      );
    case "held":
      return new PiWorkflowsError("PRUNE_HELD", `${what} not pruned: ${prune.reasons.join("; ")}`, {
        hint: `Review them, then confirm exactly this set with --confirm-prune ${prune.hash}.`,
        details: { reasons: prune.reasons, hash: prune.hash },
      });
  }
}

/** What the renderers print of a plan's id is enough to name it. */
const SHORTEST_ID = 12;

/**
 * Holds a plan to the id that a person has seen: whole, or the first twelve characters or more.
 * @throws PLAN_STALE with what the plan does now.
 */
export function expectPlan(plan: Plan, id: string): void {
  if (id.length >= SHORTEST_ID && plan.id.startsWith(id)) return;
  const doing = plan.actions.filter(({ kind }) => kind !== "unchanged");
  const now =
    doing.length === 0
      ? "nothing is left to do"
      : `it would now do this:\n${list(doing.map((action) => `${action.kind} ${describeRef(action)}: ${action.reasons.join("; ")}`))}`;
  throw new PiWorkflowsError("PLAN_STALE", `plan ${id} no longer holds; ${now}`, {
    details: {
      expected: id,
      id: plan.id,
      counts: plan.counts,
      actions: doing.map(({ kind, resourceManager, key, reasons }) => ({
        kind,
        resourceManager,
        key,
        reasons,
      })),
    },
  });
}

function list(lines: readonly string[]): string {
  const shown = lines.slice(0, SHOWN).map((line) => `  ${line}`);
  const rest = lines.length - shown.length;
  return [...shown, ...(rest > 0 ? [`  and ${rest} more`] : [])].join("\n");
}
