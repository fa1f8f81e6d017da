import {
  conditionFalse,
  conditionTrue,
  type ManagedResource,
  type ReconcileContext,
  type ReconcileResult,
} from "@osolmaz/pi-workflows/resource-managers";
import { conditionsOf, notReady, unobserved } from "./conditions.ts";
import { decide, type Decision, type Finding, type Memory } from "./decide.ts";
import { GitHubFault } from "./fault.ts";
import { finish, holding, isFinished } from "./finish.ts";
import { pursue, settleOpenIntent } from "./intent.ts";
import type { Repair } from "./judge-work.ts";
import { short, type Observation } from "./observation.ts";
import { observe } from "./observe.ts";
import { isRefused, type Pass } from "./pass.ts";
import { carryOut, pushIntent, settleOpenPush, withoutPush } from "./push.ts";
import { publish } from "./report.ts";
import type { Settings } from "./settings.ts";
import type { PullRequestSpec } from "./spec.ts";
import type { MergeIntent, PullRequestStatus } from "./status.ts";
import { updateEffect } from "./update.ts";
import { callOff, consult, type Work } from "./work.ts";
import { FINALIZER, removeWorkspace } from "./workspace.ts";

type Result = ReconcileResult<PullRequestStatus>;
type Context = ReconcileContext<PullRequestStatus>;
type Resource = ManagedResource<PullRequestSpec, PullRequestStatus>;

/** Long enough not to burden GitHub with what does not change soon. */
const LASTING_WAIT_MS = 5 * 60_000;
const UNREADABLE_WAIT_MS = 30_000;
const HELD_WAIT_MS = 60_000;
const VERIFY_WAIT_MS = 5_000;
/** How long GitHub may show a merged pull request as open before a person is asked to look. */
const LAG_MS = 2 * 60_000;
/** GitHub carries out an update of a branch in the background. */
const UPDATE_WAIT_MS = 5_000;
/** Between two looks at child runs that are to end. */
const RELEASE_WAIT_MS = 2_000;

/** One pass: look, decide, take one step, say when to look again. */
export async function reconcile(
  ctx: Context,
  resource: Resource,
  settings: Settings,
): Promise<Result> {
  const { spec } = resource;
  const status = resource.status.resourceManagerStatus;
  const deleting = resource.metadata.deletionTimestamp !== undefined;
  if (deleting || isFinished(status, resource.metadata.generation)) return release(ctx, resource);
  try {
    const client = await settings.connect(spec.apiUrl);
    const seen = await observe(client, spec, ctx.signal);
    return await step({ ctx, resource, spec, status, client, settings }, seen);
  } catch (error) {
    if (!(error instanceof GitHubFault)) throw error;
    ctx.signal.throwIfAborted();
    return explain(ctx, error, settings);
  }
}

/** Nothing is left to do but to remove what workflows worked in, once they have ended. */
async function release(ctx: Context, resource: Resource): Promise<Result> {
  const { uid, finalizers } = resource.metadata;
  if (!finalizers.includes(FINALIZER)) return ctx.settled();
  if (!(await callOff(ctx, resource))) return ctx.requeueAfter(RELEASE_WAIT_MS);
  await removeWorkspace(process.env, uid);
  await ctx.finalizers.remove(FINALIZER);
  return ctx.settled();
}

async function step(opened: Pass, seen: Observation): Promise<Result> {
  const pass = await settleOpenPush({ ...opened, status: remember(opened, seen) }, seen);
  const { ctx, spec, status } = pass;
  if (seen.pull.state === "merged") {
    const { status: settled } = await settleOpenIntent(pass, seen, undefined);
    return finish({ ...pass, status: settled }, seen, seen.pull.merged);
  }
  const judged = decide(seen, spec, memoryOf(status), ctx.now());
  const work = await consult(pass, seen, judged);
  const decision = together(judged, work);
  const wanted = decision.step === "merge" && !spec.dryRun ? seen.pull.headSha : undefined;
  const settled = await settleOpenIntent({ ...pass, status: work.status }, seen, wanted);
  const current = { ...pass, status: settled.status };
  if (settled.applied) return afterMerge(current, seen, settled.applied);
  if (work.repair) return push(current, seen, { decision, repair: work.repair });
  switch (decision.step) {
    case "wait":
      return wait(current, seen, decision);
    case "update":
      return spec.dryRun ? wait(current, seen, decision) : update(current, seen, decision);
    case "merge":
      return spec.dryRun ? wouldMerge(current, seen) : pursue(current, seen);
  }
}

/** What workflows found stands before everything else, and nothing is merged or updated beside it. */
function together(judged: Decision, { findings }: Work): Decision {
  if (findings.length === 0) return judged;
  return { step: "wait", findings: [...findings, ...judged.findings] };
}

/** What this look adds to what is known of the head. */
function remember({ status, ctx }: Pass, { pull }: Observation): PullRequestStatus {
  const same = status.headSha === pull.headSha;
  const headSeenAt = same ? status.headSeenAt : undefined;
  const { mergeabilityPolls: polls = 0, ...rest } = status;
  return {
    ...rest,
    headSha: pull.headSha,
    headSeenAt: headSeenAt ?? new Date(ctx.now()).toISOString(),
    ...(pull.mergeable === "unknown" && pull.state === "open"
      ? { mergeabilityPolls: same ? polls + 1 : 1 }
      : {}),
  };
}

function memoryOf({ headSha, headSeenAt, mergeabilityPolls, merge }: PullRequestStatus): Memory {
  return {
    headSeenAt: Date.parse(headSeenAt ?? ""),
    mergeabilityPolls: (mergeabilityPolls ?? 1) - 1,
    ...(merge?.refusal && merge.headSha === headSha ? { refusal: merge.refusal } : {}),
  };
}

async function wait(pass: Pass, seen: Observation, { findings }: Decision): Promise<Result> {
  const { ctx, settings, status } = pass;
  const waitingFor = findings.map(({ message }) => message);
  const report = await publish(pass, {
    headSha: seen.pull.headSha,
    done: false,
    title: "Not merged yet",
    lines: waitingFor,
  });
  const waitMs = Math.min(...findings.map((finding) => finding.waitMs), settings.pollMs);
  return ctx.requeueAfter(Math.max(1, waitMs), {
    resourceManagerStatus: {
      ...status,
      phase: "waiting",
      waitingFor,
      ...(report ? { report } : {}),
    },
    conditions: [
      notReady(seen, findings),
      ...conditionsOf(seen, findings),
      conditionFalse("Merging", "NotReady", `at ${short(seen.pull.headSha)}`),
    ],
  });
}

async function update(pass: Pass, seen: Observation, decision: Decision): Promise<Result> {
  const { ctx, settings } = pass;
  try {
    await ctx.effects.ensure(updateEffect(pass, seen.pull));
  } catch (error) {
    if (!isRefused(error)) throw error;
    const [first, ...others] = decision.findings;
    if (!first) throw error;
    const message = `${first.message}; GitHub refused: ${error.message}`;
    return wait(pass, seen, { ...decision, findings: [{ ...first, message }, ...others] });
  }
  return ctx.requeueAfter(Math.min(UPDATE_WAIT_MS, settings.pollMs), {
    resourceManagerStatus: { ...pass.status, phase: "waiting", waitingFor: ["the updated branch"] },
    conditions: [notReady(seen, decision.findings), ...conditionsOf(seen, decision.findings)],
  });
}

/**
 * Pushes a repair. It is decided on by one pass and carried out by the next, as a merge is. The head
 * that follows is another: everything about it is judged anew.
 */
async function push(
  pass: Pass,
  seen: Observation,
  { decision, repair }: { decision: Decision; repair: Repair },
): Promise<Result> {
  const { ctx, settings, status } = pass;
  const intent = pushIntent(pass, seen, repair);
  if (status.push?.request.headSha !== seen.pull.headSha) {
    return ctx.requeue({ resourceManagerStatus: { ...status, push: intent } });
  }
  let pushed: PullRequestStatus;
  try {
    pushed = await carryOut(pass, intent, repair);
  } catch (error) {
    if (!isRefused(error)) throw error;
    const findings = [refusedPush(error.message), ...decision.findings];
    return wait({ ...pass, status: withoutPush(status) }, seen, { step: "wait", findings });
  }
  return ctx.requeueAfter(Math.min(UPDATE_WAIT_MS, settings.pollMs), {
    resourceManagerStatus: { ...pushed, phase: "waiting", waitingFor: ["the repaired head"] },
    conditions: [notReady(seen, decision.findings), ...conditionsOf(seen, decision.findings)],
  });
}

function refusedPush(message: string): Finding {
  const waitMs = LASTING_WAIT_MS;
  return { about: "ChecksPassing", reason: "RepairRefused", message, waitMs };
}

function wouldMerge({ ctx, settings, spec, status }: Pass, seen: Observation): Result {
  const message = `${short(seen.pull.headSha)} would be merged (${spec.merge.method}); dryRun is set`;
  return ctx.requeueAfter(Math.min(60_000, settings.pollMs), {
    resourceManagerStatus: { ...status, phase: "waiting", waitingFor: [message] },
    conditions: [
      conditionFalse("Ready", "DryRun", message),
      ...conditionsOf(seen, []),
      conditionFalse("Merging", "DryRun", message),
    ],
  });
}

/**
 * The merge happened, and GitHub does not show it: soon it will, or somebody closed the pull
 * request; else a person must look. Whatever it is, the merge is not called again.
 */
async function afterMerge(pass: Pass, seen: Observation, merge: MergeIntent): Promise<Result> {
  const { ctx, settings, status } = pass;
  const { sha = "", open = false } = merge.result ?? {};
  if (seen.pull.state === "closed") {
    return finish(pass, seen, { sha, at: merge.appliedAt ?? "", by: "this manager" });
  }
  const conditions = conditionsOf(seen, []).filter(({ type }) => type === "Observed");
  const waitMs = Math.min(VERIFY_WAIT_MS, settings.pollMs);
  if (!open && ctx.now() - Date.parse(merge.appliedAt ?? "") < LAG_MS) {
    const message = `${short(merge.headSha)} was merged as ${short(sha)}; GitHub does not show it yet`;
    const ready = conditionFalse("Ready", "Verifying", message);
    const merging = conditionTrue("Merging", "Verifying", message);
    return ctx.requeueAfter(waitMs, {
      resourceManagerStatus: { ...status, phase: "merging" },
      conditions: [ready, merging, ...conditions],
    });
  }
  const message =
    `${short(merge.headSha)} was merged as ${short(sha)}, and GitHub shows the pull request as ` +
    "open: close it, or push a new head and change the spec";
  return ctx.requeueAfter(Math.min(HELD_WAIT_MS, settings.pollMs), {
    ...(await holding(pass, seen, "AppliedButOpen", message)),
  });
}

/** A pass that could not look: what is known stays, and why it can't look is said. */
function explain(ctx: Context, fault: GitHubFault, settings: Settings): Result {
  const { message } = fault;
  switch (fault.kind) {
    case "limited":
      return ctx.requeueAfter(fault.waitMs, { conditions: unobserved("RateLimited", message) });
    case "no-access":
      return ctx.requeueAfter(Math.min(LASTING_WAIT_MS, settings.pollMs), {
        conditions: unobserved("NoAccess", message),
      });
    case "moved":
      return ctx.requeueAfter(Math.min(LASTING_WAIT_MS, settings.pollMs), {
        conditions: unobserved("RepositoryMoved", message),
      });
    case "refused":
    case "unreadable":
      return ctx.requeueAfter(Math.min(UNREADABLE_WAIT_MS, settings.pollMs), {
        conditions: unobserved("Unreadable", message),
      });
  }
}
