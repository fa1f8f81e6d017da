import {
  conditionFalse,
  conditionTrue,
  type AppliedEffect,
  type ReconcileResult,
} from "@osolmaz/pi-workflows/resource-managers";
import { conditionsOf } from "./conditions.ts";
import { mergeEffect, parseRefusal } from "./merge.ts";
import { short, type Observation } from "./observation.ts";
import { isRefused, type Pass } from "./pass.ts";
import type { MergeIntent, MergeResult, PullRequestStatus, RefusalKind } from "./status.ts";

/** What the intent of an earlier pass has come to. */
export type IntentOutcome = {
  status: PullRequestStatus;
  /** The merge that happened, where GitHub still shows the pull request as it was before it. */
  applied?: MergeIntent;
};

/** The first wait after a refusal; doubles with each, up to the longest. */
const FIRST_RETRY_MS: Readonly<Record<RefusalKind, number>> = {
  "head-moved": 1_000,
  withdrawn: 1_000,
  // As Tide waits for GitHub to notice that the base has moved.
  "base-modified": 4_000,
  limited: 60_000,
  "queue-required": 600_000,
  "no-access": 300_000,
  refused: 60_000,
};
const LONGEST_RETRY_MS = 30 * 60_000;

/**
 * Finds out what became of an intent that an earlier pass recorded and that is not the one wanted
 * now (`wanted` is the head to be merged, if any). It is looked for and given up, never carried
 * out: so the ledger is right even where the pass before died, and nothing is merged on the
 * strength of an old decision.
 */
export async function settleOpenIntent(
  pass: Pass,
  seen: Observation,
  wanted: string | undefined,
): Promise<IntentOutcome> {
  const { generation } = pass.resource.metadata;
  const before = pass.status.merge;
  const isCurrent = before?.generation === generation && before.headSha === wanted;
  const status =
    before?.state === "intended" && !isCurrent ? await run(pass, before, false) : pass.status;
  const { merge } = status;
  const concerns = merge?.headSha === seen.pull.headSha || merge?.generation === generation;
  return merge?.state === "applied" && concerns ? { status, applied: merge } : { status };
}

/**
 * Merges the present head. The intent is written by one pass and carried out by the next, so that
 * whatever happens during the call, the pass after it knows what was being done.
 */
export async function pursue(
  pass: Pass,
  seen: Observation,
): Promise<ReconcileResult<PullRequestStatus>> {
  const { ctx, status, resource } = pass;
  const { headSha } = seen.pull;
  const message = `merging ${short(headSha)} into ${seen.pull.baseRef}`;
  const conditions = [
    conditionFalse("Ready", "Merging", message),
    conditionTrue("Merging", "Decided", message),
    ...conditionsOf(seen, []),
  ];
  const intended = status.merge;
  const isOpen =
    intended?.state === "intended" &&
    intended.generation === resource.metadata.generation &&
    intended.headSha === headSha;
  const { waitingFor: _past, ...rest } = status;
  if (!isOpen) {
    const merge = nextIntent(pass, headSha);
    return ctx.requeue({ resourceManagerStatus: { ...rest, phase: "merging", merge }, conditions });
  }
  const ended = await run({ ...pass, status: rest }, intended, true);
  // What it came to is judged by the next pass, from a fresh look.
  return ctx.requeue({ resourceManagerStatus: { ...ended, phase: "merging" }, conditions });
}

function nextIntent({ spec, status, resource }: Pass, headSha: string): MergeIntent {
  const { generation } = resource.metadata;
  const { method, title, body } = spec.merge;
  const last = status.merge;
  const isSame = last?.generation === generation && last.headSha === headSha;
  const turn = isSame ? last.turn + 1 : 1;
  return {
    key: `merge:${generation}:${headSha}${turn === 1 ? "" : `:${turn}`}`,
    headSha,
    generation,
    turn,
    state: "intended",
    request: {
      apiUrl: spec.apiUrl,
      repository: spec.repository,
      number: spec.number,
      baseRef: spec.baseRef,
      headSha,
      method,
      ...(title === undefined ? {} : { title }),
      ...(body === undefined ? {} : { body }),
    },
  };
}

/** Runs the effect and writes down how it ended. Doubt is thrown, and ends the pass. */
async function run(pass: Pass, intent: MergeIntent, pursued: boolean): Promise<PullRequestStatus> {
  const { ctx, status, resource, settings } = pass;
  const call = {
    client: await settings.connect(intent.request.apiUrl),
    uid: resource.metadata.uid,
    intent,
    pursue: pursued,
    settleMs: settings.settleMs,
  };
  try {
    const effect = await ctx.effects.ensure(mergeEffect(call));
    const { refusal: _past, ...rest } = intent;
    const appliedAt = new Date(ctx.now()).toISOString();
    const merge: MergeIntent = { ...rest, state: "applied", result: resultIn(effect), appliedAt };
    return { ...status, merge };
  } catch (error) {
    if (!isRefused(error)) throw error;
    const { kind, message, waitMs } = parseRefusal(error.message);
    const growing = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS[kind] * 2 ** (intent.turn - 1));
    const retryAt = new Date(ctx.now() + (waitMs ?? growing)).toISOString();
    const merge: MergeIntent = { ...intent, state: "refused", refusal: { kind, message, retryAt } };
    return { ...status, merge };
  }
}

function resultIn(effect: AppliedEffect): MergeResult {
  const { sha, by, ours, open } = (effect.result ?? {}) as Partial<MergeResult>;
  return {
    sha: sha ?? effect.externalRef ?? "",
    ...(by === undefined ? {} : { by }),
    ours: ours === true,
    open: open === true,
  };
}
