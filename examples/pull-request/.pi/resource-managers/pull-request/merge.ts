import {
  EffectRejected,
  type EffectRequest,
  type Json,
} from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
import { findInBase, isOurs, type MergeTrace } from "./evidence.ts";
import { GitHubFault } from "./fault.ts";
import type { GitHubClient } from "./github-client.ts";
import { intentId, mergeMessage } from "./message.ts";
import { short, type Pull } from "./observation.ts";
import { readPull } from "./observe.ts";
import type { MergeIntent, MergeResult, RefusalKind } from "./status.ts";
import { targetOf } from "./target.ts";

/** One merge, as the ledger keeps it, with what it needs to be carried out. */
export type MergeCall = {
  client: GitHubClient;
  uid: string;
  intent: MergeIntent;
  /** False where the intent is given up: it is looked for, and never carried out. */
  pursue: boolean;
  /** How long after a call its absence proves nothing, milliseconds. */
  settleMs: number;
};

const mergeAnswer = z.object({ sha: z.string(), merged: z.literal(true), message: z.string() });

/** The merge of one head as an effect: always with the head's SHA, once, and looked for before any repeat. */
export function mergeEffect(call: MergeCall): EffectRequest {
  const { intent } = call;
  return {
    key: intent.key,
    kind: "github-merge",
    request: intent.request,
    consistencyWindowMs: call.settleMs,
    observe: async (signal) => {
      const pull = await readPull(call.client, targetOf(intent.request), signal);
      if (pull.merged && pull.headSha === intent.headSha) {
        return applied(await resultOf(call, pull, signal));
      }
      const found = await findInBase(call.client, traceOf(call), signal);
      if (found !== undefined) return applied({ sha: found, ours: true, open: true });
      const obstacle = obstacleTo(pull, intent);
      return obstacle === undefined ? { state: "absent" } : { state: "rejected", reason: obstacle };
    },
    apply: async (signal) => applied(await merge(call, signal)),
  };
}

function applied(result: MergeResult) {
  return { state: "applied" as const, externalRef: result.sha, result: result as Json };
}

async function merge(call: MergeCall, signal: AbortSignal): Promise<MergeResult> {
  const { intent } = call;
  if (!call.pursue) throw refusal("withdrawn", "the merge is not wanted any more");
  const ready = await confirm(call, signal);
  if ("sha" in ready) return ready;
  const { owner, repo, number } = targetOf(intent.request);
  try {
    const { sha } = await call.client.write(
      "PUT /repos/{owner}/{repo}/pulls/{number}/merge",
      {
        owner,
        repo,
        number,
        sha: intent.headSha,
        merge_method: intent.request.method,
        ...mergeMessage(ready.pull, intent.request, intentId(call.uid, intent.headSha)),
      },
      mergeAnswer,
      signal,
    );
    return { sha, ours: true, open: false };
  } catch (error) {
    throw certainRefusal(error) ?? error;
  }
}

/**
 * The last look before the call, by REST, which GraphQL may lag behind. What fails here has not
 * been carried out, so that it is a refusal and leaves no doubt.
 */
async function confirm(
  call: MergeCall,
  signal: AbortSignal,
): Promise<MergeResult | { pull: Pull }> {
  const { intent } = call;
  try {
    const pull = await readPull(call.client, targetOf(intent.request), signal);
    if (pull.merged && pull.headSha === intent.headSha) return await resultOf(call, pull, signal);
    const obstacle = obstacleTo(pull, intent);
    if (obstacle !== undefined) throw new EffectRejected(obstacle);
    const found = await findInBase(call.client, traceOf(call), signal);
    return found === undefined ? { pull } : { sha: found, ours: true, open: true };
  } catch (error) {
    if (!(error instanceof GitHubFault)) throw error;
    throw certainRefusal(error) ?? refusal("refused", `not called: ${error.message}`);
  }
}

async function resultOf(call: MergeCall, pull: Pull, signal: AbortSignal): Promise<MergeResult> {
  const { sha = "", by = "ghost" } = pull.merged ?? {};
  return { sha, by, ours: await isOurs(call.client, traceOf(call), sha, signal), open: false };
}

/** Why this head can't be merged by this intent any more. */
function obstacleTo(pull: Pull, intent: MergeIntent): string | undefined {
  if (pull.headSha !== intent.headSha) return `head-moved: the head is ${short(pull.headSha)} now`;
  if (pull.state === "closed") return "withdrawn: the pull request was closed";
  if (pull.baseRef !== intent.request.baseRef) {
    return `withdrawn: it is to be merged into ${pull.baseRef} now`;
  }
  return pull.draft ? "withdrawn: it is a draft now" : undefined;
}

function traceOf({ uid, intent: { request, headSha } }: MergeCall): MergeTrace {
  const target = targetOf(request);
  return { target, headSha, method: request.method, intent: intentId(uid, headSha) };
}

/** The refusal that a fault proves; undefined where the merge may have happened. */
function certainRefusal(error: unknown): EffectRejected | undefined {
  if (!(error instanceof GitHubFault)) return undefined;
  switch (error.kind) {
    case "unreadable":
      return undefined;
    case "limited":
      return refusal("limited", error.message, error.waitMs);
    case "no-access":
    case "moved":
      return refusal("no-access", error.message);
    case "refused":
      return refusal(kindOfRefusal(error), error.message);
  }
}

/** GitHub answers 405 for all of these: only its message tells them apart. */
function kindOfRefusal({ status, message }: GitHubFault): RefusalKind {
  if (status === 409) return "head-moved";
  if (/base branch was modified/i.test(message)) return "base-modified";
  if (/merge queue/i.test(message)) return "queue-required";
  return "refused";
}

function refusal(kind: RefusalKind, message: string, waitMs?: number): EffectRejected {
  return new EffectRejected(`${kind}${waitMs === undefined ? "" : `(${waitMs})`}: ${message}`);
}

const REFUSAL = /^([a-z-]+)(?:\((\d+)\))?: ([\s\S]*)$/;
const KINDS: readonly RefusalKind[] = [
  "head-moved",
  "base-modified",
  "queue-required",
  "limited",
  "no-access",
  "refused",
  "withdrawn",
];

/** A refusal as the ledger kept it. */
export function parseRefusal(text: string): {
  kind: RefusalKind;
  message: string;
  waitMs?: number;
} {
  const [, word, wait, message] = REFUSAL.exec(text) ?? [];
  const kind = KINDS.find((one) => one === word);
  if (kind === undefined || message === undefined) return { kind: "refused", message: text };
  return { kind, message, ...(wait === undefined ? {} : { waitMs: Number(wait) }) };
}
