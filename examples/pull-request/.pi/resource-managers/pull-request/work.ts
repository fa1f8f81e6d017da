import type { ManagedResource, ReconcileContext } from "@osolmaz/pi-workflows/resource-managers";
import type { Decision, Finding, Reason } from "./decide.ts";
import { judgeRepair, judgeReview, type Repair } from "./judge-work.ts";
import type { Observation } from "./observation.ts";
import type { Pass } from "./pass.ts";
import type { RepairInput, WorkInput } from "./results.ts";
import type { PullRequestSpec } from "./spec.ts";
import type { PullRequestStatus } from "./status.ts";
import { FINALIZER, remoteOf, workspaceOf } from "./workspace.ts";

/** What the workflows of a spec say about the present head. */
export type Work = {
  /** What stands in the way because of them, to be told before everything else. */
  findings: Finding[];
  /** A repair that was judged and may be pushed. */
  repair?: Repair;
  status: PullRequestStatus;
};

type Run = Awaited<ReturnType<ReconcileContext<PullRequestStatus>["workflows"]["ensure"]>>;

/** A head with nothing but these before it is worth a review. */
const REVIEWED_DESPITE: readonly Reason[] = [
  "MissingApprovals",
  "WaitingForChecks",
  "Behind",
  "MergeabilityUnknown",
  "UnresolvedThreads",
];
/** A child that ends wakes its parent; this is for the case that it never does. */
const RUN_WAIT_MS = 5 * 60_000;

/**
 * Starts what the spec wants done about the present head, once per generation and head, and judges
 * what has come of it. Nothing that an agent says changes anything here: it is findings, which hold a
 * merge up, or files, which `judgeRepair` must let through.
 */
export async function consult(pass: Pass, seen: Observation, decision: Decision): Promise<Work> {
  const { spec } = pass;
  if (spec.dryRun) return { findings: [], status: pass.status };
  if (spec.repair !== undefined && decision.findings[0]?.reason === "ChecksFailed") {
    return repair(pass, seen, spec.repair);
  }
  const worthIt = decision.findings.every(({ reason }) => REVIEWED_DESPITE.includes(reason));
  if (spec.review !== undefined && worthIt) return review(pass, seen, spec.review);
  return { findings: [], status: pass.status };
}

async function review(
  pass: Pass,
  seen: Observation,
  { workflow, input }: NonNullable<PullRequestSpec["review"]>,
): Promise<Work> {
  const requestKey = keyOf("review", pass, seen);
  const before = await runBefore(pass, "review", requestKey);
  if (before) {
    const finding = unfinished("Approved", "WaitingForReview", "the earlier review", before);
    return { findings: [finding], status: pass.status };
  }
  const status = withRun(pass, "review", requestKey);
  const run = await start(pass, { requestKey, workflow, input: inputOf(pass, seen, input) });
  if (run.state !== "succeeded") {
    const reason = run.state === "failed" ? "ReviewFailed" : "WaitingForReview";
    return { findings: [unfinished("Approved", reason, workflow, run)], status };
  }
  return { findings: judgeReview(run.output, seen.pull.headSha), status };
}

async function repair(
  pass: Pass,
  seen: Observation,
  wanted: NonNullable<PullRequestSpec["repair"]>,
): Promise<Work> {
  const refusal = whyNot(pass, seen, wanted);
  if (refusal) return { findings: [refusal], status: pass.status };
  const { workflow, input, test } = wanted;
  const requestKey = keyOf("repair", pass, seen);
  const before = await runBefore(pass, "repair", requestKey);
  if (before) {
    const finding = unfinished("ChecksPassing", "Repairing", "the earlier repair", before);
    return { findings: [finding], status: pass.status };
  }
  const status = withRun(pass, "repair", requestKey);
  const asked: RepairInput = { ...inputOf(pass, seen, input), test };
  const run = await start(pass, { requestKey, workflow, input: asked });
  if (run.state !== "succeeded") {
    const reason = run.state === "failed" ? "RepairFailed" : "Repairing";
    return { findings: [unfinished("ChecksPassing", reason, workflow, run)], status };
  }
  const judged = judgeRepair(run.output, { headSha: seen.pull.headSha, ...wanted });
  if ("reason" in judged) return { findings: [judged], status };
  return { findings: [], status, repair: { ...judged, failed: failedChecks(seen) } };
}

/** Why this head is not repaired by anyone here. */
function whyNot(
  { spec, status, resource }: Pass,
  { pull }: Observation,
  { pushes }: NonNullable<PullRequestSpec["repair"]>,
): Finding | undefined {
  const no = (message: string): Finding => ({
    about: "ChecksPassing",
    reason: "RepairRefused",
    message,
    waitMs: RUN_WAIT_MS,
  });
  if (spec.expectedHeadSha !== undefined) {
    return no("checks failed; expectedHeadSha pins the head, so it is not repaired");
  }
  if (pull.fork) return no("checks failed; the head is a fork's, which is not pushed to");
  const { generation } = resource.metadata;
  const pushed = (status.repairs ?? []).filter((one) => one.generation === generation).length;
  if (pushed < pushes) return undefined;
  return no(`checks failed, and ${pushed} repairs have been pushed already: a person must look`);
}

/**
 * Calls off the run about the head or the generation before, which would cost time and say nothing,
 * and returns it while it lasts: the next one waits for its end, and may have its folder.
 */
async function runBefore(
  { ctx, status }: Pass,
  kind: "review" | "repair",
  requestKey: string,
): Promise<Run | undefined> {
  const before = status.runs?.[kind];
  if (before === undefined || before === requestKey) return undefined;
  const run = await ctx.workflows.cancel(before);
  return run === undefined || hasEnded(run) ? undefined : run;
}

function withRun(
  { status }: Pass,
  kind: "review" | "repair",
  requestKey: string,
): PullRequestStatus {
  return { ...status, runs: { ...status.runs, [kind]: requestKey } };
}

function hasEnded({ state }: Run): boolean {
  return state === "succeeded" || state === "failed";
}

/** The finalizer is durable before there is anything that it would have to remove (D-4). */
async function start(
  { ctx, resource }: Pass,
  request: { requestKey: string; workflow: string; input: WorkInput },
): Promise<Run> {
  if (!resource.metadata.finalizers.includes(FINALIZER)) await ctx.finalizers.add(FINALIZER);
  return ctx.workflows.ensure(request);
}

function keyOf(kind: string, { resource }: Pass, { pull }: Observation): string {
  return `${kind}:${resource.metadata.generation}:${pull.headSha}`;
}

function inputOf(
  { spec, resource }: Pass,
  { pull }: Observation,
  extra: WorkInput["extra"],
): WorkInput {
  const { repository, number, baseRef, apiUrl } = spec;
  return {
    repository,
    number,
    baseRef,
    apiUrl,
    headSha: pull.headSha,
    remote: remoteOf(spec),
    workspace: workspaceOf(process.env, resource.metadata.uid),
    extra,
  };
}

function failedChecks({ checks }: Observation): string[] {
  const failed = checks.filter(({ state }) => ["FAILURE", "TIMED_OUT", "ERROR"].includes(state));
  return [...new Set(failed.map(({ name }) => name))].sort();
}

function unfinished(
  about: Finding["about"],
  reason: Reason,
  workflow: string,
  { state, runId = "" }: Run,
): Finding {
  return { about, reason, message: `${workflow} ${state} (run ${runId})`, waitMs: RUN_WAIT_MS };
}

type Context = ReconcileContext<PullRequestStatus>;

/**
 * Ends what this resource still has running. True once nothing runs any more, so that what the runs
 * worked in can be removed.
 */
export async function callOff(
  ctx: Context,
  { status }: ManagedResource<PullRequestSpec, PullRequestStatus>,
): Promise<boolean> {
  let quiet = true;
  for (const requestKey of Object.values(status.resourceManagerStatus.runs ?? {})) {
    const run = await ctx.workflows.cancel(requestKey);
    if (run !== undefined && !hasEnded(run)) quiet = false;
  }
  return quiet;
}
