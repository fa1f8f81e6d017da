import { hasChanges } from "../../diff/plan.ts";
import { loadSelected, planOf, selectFiles, type LoadOptions } from "../plan-specs.ts";
import { showPlan } from "../show-plan.ts";
import type { Action } from "../verb.ts";
import type { Plan } from "../../model/plan.ts";

type Options = LoadOptions & { exitCode?: boolean; showSecrets?: boolean };

export const run: Action<Options> = async (cli, options) => {
  const loaded = await loadSelected(cli, await selectFiles(cli, options));
  const plan = await planOf(loaded, await cli.reader());
  await showPlan(cli, plan, loaded, options.showSecrets === true);
  return exitCodeOf(plan, options.exitCode !== false);
};

// Computed from what was printed: errors first, then a guard, then changes.
function exitCodeOf(plan: Plan, reportChanges: boolean): number {
  if (plan.problems.length + plan.counts.conflict + plan.counts.invalid > 0) return 2;
  if (plan.prune.state !== "clear") return 3;
  return reportChanges && hasChanges(plan) ? 1 : 0;
}
