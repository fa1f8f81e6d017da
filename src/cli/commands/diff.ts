import { hasChanges } from "../../diff/plan.ts";
import type { Cli } from "../invocation.ts";
import { loadSelected, planOf, type Loaded, type LoadOptions } from "../plan-specs.ts";
import { selectWorkTree } from "../select-synced.ts";
import { showPlan } from "../show-plan.ts";
import type { Action } from "../verb.ts";
import type { Plan } from "../../model/plan.ts";

type Options = LoadOptions & {
  rev?: string;
  watch?: boolean;
  exitCode?: boolean;
  showSecrets?: boolean;
};

export const run: Action<Options> = async (cli, options) => {
  if (options.watch) return (await import("../watch-diff.ts")).watchDiff(cli, options);
  const { plan, loaded } = await planned(cli, options);
  await showPlan(cli, plan, loaded, options.showSecrets === true);
  return exitCodeOf(plan, options.exitCode !== false);
};

async function planned(cli: Cli, options: Options): Promise<{ plan: Plan; loaded: Loaded }> {
  if (options.rev !== undefined) {
    const { planRevision } = await import("../revisions.ts");
    return planRevision(cli, options.rev, options);
  }
  const loaded = await loadSelected(cli, await selectWorkTree(cli, options));
  return { plan: await planOf(loaded, await cli.reader()), loaded };
}

// Computed from what was printed: errors first, then a guard, then changes.
function exitCodeOf(plan: Plan, reportChanges: boolean): number {
  if (plan.problems.length + plan.counts.conflict + plan.counts.invalid > 0) return 2;
  if (plan.prune.state !== "clear") return 3;
  return reportChanges && hasChanges(plan) ? 1 : 0;
}
