import {
  conditionFalse,
  conditionTrue,
  type ReconcileResult,
  type ResultPatch,
} from "@osolmaz/pi-workflows/resource-managers";
import { deleteBranchEffect } from "./branch.ts";
import { contains } from "./evidence.ts";
import { short, type Observation, type Pull } from "./observation.ts";
import { isRefused, type Pass } from "./pass.ts";
import { publish } from "./report.ts";
import type { Merged, PullRequestStatus } from "./status.ts";
import { targetOf } from "./target.ts";

type Result = ReconcileResult<PullRequestStatus>;

const VERIFY_WAIT_MS = 30_000;

/** True where a pass has nothing left to do: a merge can't be undone. */
export function isFinished({ merged, phase }: PullRequestStatus, generation: number): boolean {
  return phase === "merged" && merged?.generation === generation && merged.branch !== undefined;
}

/** The end of a pull request that was merged, by whomever: verified, reported, cleaned up. */
export async function finish(
  pass: Pass,
  seen: Observation,
  merge: Pull["merged"],
): Promise<Result> {
  const { ctx, spec, status, resource, settings } = pass;
  const { headSha } = seen.pull;
  const wrong = whyNotThis(seen, pass);
  if (wrong) return ctx.settled(await holding(pass, seen, wrong.reason, wrong.message));
  // A head that was pushed to the base by hand has no merge commit of its own.
  const { sha = headSha, at = "", by = "ghost" } = merge ?? {};
  const known = status.merged?.generation === resource.metadata.generation;
  if (!known && !(await contains(pass.client, targetOf(spec), sha, ctx.signal))) {
    const message = `GitHub shows it as merged, and ${spec.baseRef} does not contain ${short(sha)}`;
    return ctx.requeueAfter(Math.min(VERIFY_WAIT_MS, settings.pollMs), {
      resourceManagerStatus: { ...status, phase: "merging" },
      conditions: [conditionFalse("Ready", "NotInBase", message)],
    });
  }
  const merged: Merged = { generation: resource.metadata.generation, headSha, sha, at, by };
  const message = `${short(headSha)} was merged into ${spec.baseRef} as ${short(sha)} by ${by}`;
  if (!known && spec.merge.deleteBranch && !spec.dryRun) {
    return ctx.requeue(merging(pass, merged, message));
  }
  const branch = spec.merge.deleteBranch && !spec.dryRun ? await cleanUp(pass, seen) : "kept";
  const report = await publish(pass, { headSha, done: true, title: "Merged", lines: [message] });
  const patch = merging(pass, { ...merged, branch }, message, report);
  return ctx.settled(patch);
}

function merging(
  { status }: Pass,
  merged: Merged,
  message: string,
  report = status.report,
): ResultPatch<PullRequestStatus> {
  const { waitingFor: _past, ...rest } = status;
  return {
    resourceManagerStatus: { ...rest, phase: "merged", merged, ...(report ? { report } : {}) },
    conditions: [
      conditionTrue("Ready", "Merged", message),
      conditionTrue("Merged", "Merged", message),
      conditionTrue("Observed", "Read", `at ${short(merged.headSha)}`),
      conditionFalse("Merging", "Done", message),
      conditionFalse("Blocked", "Merged", message),
      conditionFalse("Held", "NotHeld", `at ${short(merged.headSha)}`),
    ],
  };
}

/** Why what was merged is not what the spec asked for. */
function whyNotThis(
  { pull }: Observation,
  { spec }: Pass,
): { reason: "MergedOtherHead" | "MergedElsewhere"; message: string } | undefined {
  if (spec.expectedHeadSha !== undefined && spec.expectedHeadSha !== pull.headSha) {
    return {
      reason: "MergedOtherHead",
      message: `merged at ${short(pull.headSha)}, expected was ${short(spec.expectedHeadSha)}`,
    };
  }
  if (spec.baseRef !== pull.baseRef) {
    const message = `merged into ${pull.baseRef}, asked for was ${spec.baseRef}`;
    return { reason: "MergedElsewhere", message };
  }
  return undefined;
}

async function cleanUp(pass: Pass, seen: Observation): Promise<string> {
  try {
    await pass.ctx.effects.ensure(deleteBranchEffect(pass, seen.pull));
    return "deleted";
  } catch (error) {
    if (!isRefused(error)) throw error;
    return error.message;
  }
}

/** The state of a pull request that only a person can judge. */
export async function holding(
  pass: Pass,
  seen: Observation,
  reason: "AppliedButOpen" | "MergedOtherHead" | "MergedElsewhere",
  message: string,
): Promise<ResultPatch<PullRequestStatus>> {
  const { headSha } = seen.pull;
  const title = "Held: a person must look";
  const report = await publish(pass, { headSha, done: false, title, lines: [message] });
  return {
    resourceManagerStatus: {
      ...pass.status,
      phase: "held",
      waitingFor: [message],
      ...(report ? { report } : {}),
    },
    conditions: [
      conditionFalse("Ready", "Held", message),
      conditionTrue("Held", reason, message),
      conditionFalse("Merging", "Held", message),
      conditionTrue("Observed", "Read", `at ${short(headSha)}`),
    ],
  };
}
