import { EffectRejected, type EffectObservation } from "@osolmaz/pi-workflows/resource-managers";
import { createHash } from "node:crypto";
import { z } from "zod";
import { GitHubFault } from "./fault.ts";
import type { GitHubClient } from "./github-client.ts";
import type { Repair } from "./judge-work.ts";
import type { Observation } from "./observation.ts";
import { isRefused, type Pass } from "./pass.ts";
import type { PullRequestStatus, PushIntent } from "./status.ts";

const object = z.object({ sha: z.string() });
const refAnswer = z.object({ object });
const commitAnswer = z.object({ message: z.string(), tree: object, parents: z.array(object) });

/** How far back from the tip of a branch an earlier push of this repair is looked for. */
const LOOKED_BACK = 20;
/** More than a generation may push. */
const REPAIRS_KEPT = 20;

/** One push of one repair onto one head; without a repair it is only looked for. */
type Push = {
  client: GitHubClient;
  repository: { owner: string; repo: string };
  headSha: string;
  /** `heads/BRANCH`. */
  ref: string;
  /** The line of the commit's message by which this push is known again. */
  trailer: string;
  repair: Repair | undefined;
};

/** What is to be pushed onto the present head. */
export function pushIntent({ spec, resource }: Pass, { pull }: Observation, repair: Repair) {
  return {
    generation: resource.metadata.generation,
    request: {
      apiUrl: spec.apiUrl,
      repository: spec.repository,
      branch: pull.headRef,
      headSha: pull.headSha,
      changes: repair.changes.map(({ path, content }) => ({ path, sha256: digestOf(content) })),
    },
  } satisfies PushIntent;
}

/**
 * Finds out what became of a push that an earlier pass decided on, where it is not the one of the
 * present head: it is looked for and given up, never carried out, so that the ledger is right even
 * where the process died in the middle of it.
 */
export async function settleOpenPush(pass: Pass, { pull }: Observation): Promise<Pass> {
  const { push } = pass.status;
  if (push === undefined || push.request.headSha === pull.headSha) return pass;
  try {
    return { ...pass, status: await carryOut(pass, push, undefined) };
  } catch (error) {
    if (!isRefused(error)) throw error;
    return { ...pass, status: withoutPush(pass.status) };
  }
}

/**
 * Pushes a repair, or with none only looks for it. Returns what is remembered then.
 * @throws EffectRejected where it was refused, now or before
 */
export async function carryOut(
  pass: Pass,
  intent: PushIntent,
  repair: Repair | undefined,
): Promise<PullRequestStatus> {
  const { sha, generation, headSha } = await ensurePush(pass, intent, repair);
  const others = (pass.status.repairs ?? []).filter((one) => one.headSha !== headSha);
  const repairs = [...others, { generation, headSha, sha }].slice(-REPAIRS_KEPT);
  return { ...withoutPush(pass.status), repairs };
}

export function withoutPush({ push: _past, ...rest }: PullRequestStatus): PullRequestStatus {
  return rest;
}

/**
 * Puts a repair onto the head's branch as one commit on top of that very head. Blobs, tree and
 * commit change nothing that anyone sees; the one visible step moves the branch, and GitHub refuses
 * it where the branch has moved meanwhile, because it would not be a fast-forward.
 */
async function ensurePush(pass: Pass, intent: PushIntent, repair: Repair | undefined) {
  const { ctx, resource, settings } = pass;
  const { generation, request } = intent;
  const { headSha, repository, branch, apiUrl } = request;
  const [owner = "", repo = ""] = repository.split("/");
  const push: Push = {
    client: await settings.connect(apiUrl),
    repository: { owner, repo },
    headSha,
    ref: `heads/${branch}`,
    trailer: `Repair-Intent: ${resource.metadata.uid}:${generation}:${headSha}`,
    repair,
  };
  const effect = await ctx.effects.ensure({
    key: `push:${generation}:${headSha}`,
    kind: "github-push",
    request,
    consistencyWindowMs: settings.settleMs,
    observe: (signal) => observe(push, signal),
    apply: (signal) => apply(push, signal),
  });
  return { sha: effect.externalRef ?? "", generation, headSha };
}

/** The branch still at the head: absent. Moved: ours, if a commit since then carries the trailer. */
async function observe(push: Push, signal: AbortSignal): Promise<EffectObservation> {
  const { client, repository, ref, headSha, trailer } = push;
  const route = "GET /repos/{owner}/{repo}/git/ref/{ref}";
  const tip = await client.read(route, { ...repository, ref }, refAnswer, signal);
  if (tip.object.sha === headSha) return { state: "absent" };
  let sha: string | undefined = tip.object.sha;
  for (let steps = 0; sha !== undefined && sha !== headSha && steps < LOOKED_BACK; steps += 1) {
    const commit = await readCommit(push, sha, signal);
    if (commit.message.includes(trailer)) return { state: "applied", externalRef: sha };
    sha = commit.parents[0]?.sha;
  }
  return { state: "rejected", reason: "the branch has moved without it" };
}

async function apply(push: Push, signal: AbortSignal): Promise<{ externalRef: string }> {
  const { client, repository, ref, headSha, repair } = push;
  if (repair === undefined) throw new EffectRejected("the head moved before it was pushed");
  try {
    const head = await readCommit(push, headSha, signal);
    const { sha } = await writeCommit({ ...push, repair }, head.tree.sha, signal);
    const route = "PATCH /repos/{owner}/{repo}/git/refs/{ref}";
    await client.write(route, { ...repository, ref, sha, force: false }, refAnswer, signal);
    return { externalRef: sha };
  } catch (error) {
    const certain = error instanceof GitHubFault && error.kind === "refused";
    throw certain ? new EffectRejected(error.message) : error;
  }
}

function readCommit({ client, repository }: Push, sha: string, signal: AbortSignal) {
  const route = "GET /repos/{owner}/{repo}/git/commits/{commit_sha}";
  return client.read(route, { ...repository, commit_sha: sha }, commitAnswer, signal);
}

async function writeCommit(push: Push & { repair: Repair }, baseTree: string, signal: AbortSignal) {
  const { client, repository, repair, headSha, trailer } = push;
  const tree = [];
  for (const { path, content } of repair.changes) {
    const sha = content === null ? null : await writeBlob(push, content, signal);
    tree.push({ path, mode: "100644", type: "blob", sha });
  }
  const treeRoute = "POST /repos/{owner}/{repo}/git/trees";
  const made = await client.write(
    treeRoute,
    { ...repository, base_tree: baseTree, tree },
    object,
    signal,
  );
  // No word of an agent is in it.
  const message = `Repair what fails: ${repair.failed.join(", ")}\n\n${trailer}`;
  const commit = { message, tree: made.sha, parents: [headSha] };
  const route = "POST /repos/{owner}/{repo}/git/commits";
  return client.write(route, { ...repository, ...commit }, object, signal);
}

async function writeBlob(
  { client, repository }: Push,
  content: string,
  signal: AbortSignal,
): Promise<string> {
  const route = "POST /repos/{owner}/{repo}/git/blobs";
  const body = { ...repository, content, encoding: "base64" };
  return (await client.write(route, body, object, signal)).sha;
}

function digestOf(content: string | null): string | null {
  return content === null ? null : createHash("sha256").update(content).digest("hex");
}
