import type { PlanSource } from "../../apply/target.ts";
import { hasChanges } from "../../diff/plan.ts";
import type { Cli } from "../invocation.ts";
import { loadSelected, planOf, prepareLoad, type Loaded, type LoadOptions } from "../plan-specs.ts";
import { selectWorkTree } from "../select-synced.ts";
import { showPlan } from "../show-plan.ts";
import type { Action } from "../verb.ts";
import { noteWorkflowProblems } from "../workflows/note-problems.ts";
import type { Snapshot } from "../../model/batch.ts";
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
  noteWorkflowProblems(cli, loaded.resolution.workflowProblems);
  return exitCodeOf(plan, options.exitCode !== false);
};

async function planned(cli: Cli, options: Options): Promise<{ plan: Plan; loaded: Loaded }> {
  if (options.rev !== undefined) {
    const { planRevision } = await import("../revisions.ts");
    return planRevision(cli, options.rev, options);
  }
  prepareLoad(cli);
  const selected = await selectWorkTree(cli, options);
  const [loaded, source] = await Promise.all([loadSelected(cli, selected), readAhead(cli)]);
  return { plan: await planOf(loaded, source), loaded };
}

/** The store, whose snapshot is read while another process loads the files. */
async function readAhead(cli: Cli): Promise<PlanSource> {
  const reader = await cli.reader();
  let ahead: Promise<Snapshot> | undefined = reader.snapshot(cli.project);
  // Whoever plans is told.
  ahead.catch(() => undefined);
  return {
    snapshot(project) {
      const snapshot = ahead ?? reader.snapshot(project);
      ahead = undefined;
      return snapshot;
    },
    specs: (uids) => reader.specs(uids),
  };
}

// Computed from what was printed: errors first, then a guard, then changes.
function exitCodeOf(plan: Plan, reportChanges: boolean): number {
  if (plan.problems.length + plan.counts.conflict + plan.counts.invalid > 0) return 2;
  if (plan.prune.state !== "clear") return 3;
  return reportChanges && hasChanges(plan) ? 1 : 0;
}
