import path from "node:path";
import { apply } from "../../apply/apply.ts";
import type { OriginOf } from "../../apply/changes.ts";
import { expectPlan, refuseIncomplete } from "../../apply/refusals.ts";
import type { WaitGoal, WaitOutcome } from "../../apply/waiting.ts";
import { hasChanges } from "../../diff/plan.ts";
import { ERRORS, PiWorkflowsError, toPiWorkflowsError } from "../../model/errors.ts";
import type { Problem } from "../../model/manifest.ts";
import type { ApplyReceipt, Plan } from "../../model/plan.ts";
import type { Client } from "../../server/protocol.ts";
import { receiptTable, shortfallOf, type ApplyResult } from "../apply-result.ts";
import { confirm } from "../confirm.ts";
import { parseGoal } from "../goal.ts";
import type { Cli } from "../invocation.ts";
import {
  loadSelected,
  planOf,
  selectArguments,
  selectFiles,
  type Loaded,
  type LoadOptions,
  type Selected,
} from "../plan-specs.ts";
import { readProvenance } from "../provenance.ts";
import type { Documents } from "../schemas/documents.ts";
import { masked, showPlan } from "../show-plan.ts";
import type { Action } from "../verb.ts";
import { noteWorkflowProblems } from "../workflows/note-problems.ts";
import { DEFAULT_WAIT_MS, describeOutcomes, waitOn } from "../waiting.ts";

type Options = LoadOptions & {
  plan?: string;
  dryRun?: boolean;
  exitCode?: boolean;
  onError?: "stop" | "continue";
  yes?: boolean;
  wait?: string | true;
  timeout?: number;
  showSecrets?: boolean;
};

export const run: Action<Options> = async (cli, options, ...args) => {
  const goal = goalOf(options);
  const selected = await select(cli, options, args);
  if (options.dryRun) return showWhatWouldBe(cli, options, selected);
  // The server starts while the files load.
  const [loaded, client] = await Promise.all([loadSelected(cli, selected), cli.client()]);
  const [plan, origin] = await Promise.all([planOf(loaded, client), originOf(cli, loaded, args)]);
  const { problems } = masked(plan, loaded, options.showSecrets === true);
  if (options.plan !== undefined) expectPlan(plan, options.plan);
  if (options.onError !== "continue")
    refuseIncomplete({ ...plan, problems: problems as Problem[] });
  await confirmPrune(cli, options, { plan, loaded });
  const receipt = await apply(plan, client, loaded.resolution.managers, {
    onError: options.onError ?? "stop",
    workflows: loaded.resolution.workflows,
    origin,
    onProgress: progressOf(cli),
  });
  const { workflowProblems } = loaded.resolution;
  return finish(cli, options, { plan, receipt, problems, workflowProblems, client, goal });
};

function goalOf(options: Options): WaitGoal | undefined {
  if (options.wait === undefined) return undefined;
  return parseGoal(options.wait === true ? "ready" : options.wait);
}

async function select(cli: Cli, options: Options, args: string[]): Promise<Selected> {
  const [manager, key, spec] = args;
  if (manager === undefined) return selectFiles(cli, options);
  const hint = "Give -f PATH, or MANAGER KEY SPEC, not both.";
  if (options.file) throw new PiWorkflowsError("USAGE", `-f beside ${manager}`, { hint });
  if (key === undefined || spec === undefined) {
    const missing = key === undefined ? "KEY and SPEC are" : "SPEC is";
    throw new PiWorkflowsError("USAGE", `${missing} missing after ${manager}`, { hint });
  }
  const wrong = (["prune", "set", "recursive"] as const).find(
    (name) => options[name] !== undefined,
  );
  if (wrong) throw new PiWorkflowsError("USAGE", `--${wrong} goes with -f`, { hint });
  return selectArguments(cli, { manager, key, spec }, options.force === true);
}

async function showWhatWouldBe(cli: Cli, options: Options, selected: Selected): Promise<number> {
  const loaded = await loadSelected(cli, selected);
  const plan = await planOf(loaded, await cli.reader());
  if (options.plan !== undefined) expectPlan(plan, options.plan);
  await showPlan(cli, plan, loaded, options.showSecrets === true);
  noteWorkflowProblems(cli, loaded.resolution.workflowProblems);
  if (plan.counts.conflict + plan.counts.invalid + plan.problems.length > 0) return 2;
  if (plan.prune.state !== "clear") return 3;
  return options.exitCode && hasChanges(plan) ? 1 : 0;
}

async function confirmPrune(
  cli: Cli,
  options: Options,
  { plan, loaded }: { plan: Plan; loaded: Loaded },
): Promise<void> {
  const asks = cli.output.interactive && cli.output.format !== "json" && !options.yes;
  if (!asks || plan.counts.prune === 0 || plan.prune.state !== "clear") return;
  await showPlan(cli, plan, loaded, options.showSecrets === true);
  const what = plan.counts.prune === 1 ? "1 resource" : `${plan.counts.prune} resources`;
  await confirm(cli, `deleting ${what}`, false);
}

/** A spec given as an argument may hold a secret, so the command that is kept leaves it out. */
async function originOf(cli: Cli, { resolution }: Loaded, args: string[]): Promise<OriginOf> {
  const [manager, key] = args;
  if (manager !== undefined) return { command: `apply ${manager} ${key ?? ""}` };
  const { command } = cli;
  const { files, imports = {} } = resolution;
  const { commit, isDirty } = await readProvenance(
    cli.project,
    files.map(({ file }) => file).filter((file) => !path.isAbsolute(file)),
  );
  if (commit === undefined) return { command };
  // What a spec file imports is part of what it says.
  return (file) => ({
    command,
    commit,
    dirty: file !== undefined && [file, ...(imports[file] ?? [])].some(isDirty),
  });
}

/** Progress on a terminal, where an apply takes several batches. */
function progressOf(cli: Cli): (progress: { done: number; total: number }) => void {
  let last = 0;
  return ({ done, total }) => {
    if (!cli.output.interactive || done === 0 || done === total || done === last) return;
    last = done;
    cli.output.note(`${done} of ${total} written`);
  };
}

type Applied = {
  plan: Plan;
  receipt: ApplyReceipt;
  problems: ApplyResult["problems"];
  workflowProblems: ApplyResult["workflowProblems"];
  client: Client;
  goal: WaitGoal | undefined;
};

async function finish(cli: Cli, options: Options, applied: Applied): Promise<number> {
  const { plan, receipt, problems, workflowProblems, goal } = applied;
  const { output } = cli;
  const json = output.format === "json";
  if (!json) output.line(receiptTable(receipt, output.colors));
  noteWorkflowProblems(cli, workflowProblems);
  let failure = shortfallOf(plan, receipt, problems);
  let waited: WaitOutcome[] = [];
  try {
    if (goal) waited = await waitForAll(cli, options, applied, goal);
  } catch (thrown) {
    failure ??= toPiWorkflowsError(thrown);
  }
  if (!json && goal && waited.length > 0) output.line(describeOutcomes(waited, goal));
  if (!json && failure) throw failure;
  const error = failure ? { error: failure.toJSON() } : {};
  const found = { prune: plan.prune, problems, workflowProblems };
  const result = { ...receipt, ...found, waited, ...error };
  if (json) output.result(result satisfies Documents["apply"], () => "");
  if (failure) return ERRORS[failure.code].exit;
  const stalled = waited.some(({ state }) => state === "stalled");
  return stalled || (options.exitCode && hasChanges(plan)) ? 1 : 0;
}

/** Waits for what was applied, or where deletion is waited for, for what was pruned. */
async function waitForAll(
  cli: Cli,
  options: Options,
  { receipt, client }: Applied,
  goal: WaitGoal,
): Promise<WaitOutcome[]> {
  const targets = receipt.actions
    .filter(
      ({ kind, outcome }) => outcome !== "failed" && (kind === "prune") === (goal === "deleted"),
    )
    .map(({ resourceManager, key, uid, generation }) => ({
      resourceManager,
      key,
      ...(uid === undefined ? {} : { uid }),
      ...(generation === undefined ? {} : { generation }),
    }));
  return waitOn(cli, client, { targets, goal, timeoutMs: options.timeout ?? DEFAULT_WAIT_MS });
}
