import { z } from "zod";
import type { GitHubClient } from "./github-client.ts";
import { carriesIntent } from "./message.ts";
import { unlessMissing } from "./observe.ts";
import type { MergeMethod } from "./spec.ts";
import type { Target } from "./target.ts";

const person = z.object({ email: z.string(), date: z.string() }).partial().nullable();
const commitAnswer = z.object({
  sha: z.string(),
  commit: z.object({ message: z.string(), author: person }),
});
const commitPage = z
  .array(commitAnswer)
  .transform((items): { items: z.output<typeof commitAnswer>[] } => ({ items }));
const comparison = z.object({ ahead_by: z.number(), behind_by: z.number() });

/** One head, and how it would have been merged. */
export type MergeTrace = { target: Target; headSha: string; method: MergeMethod; intent: string };

/**
 * Looks in the base branch itself for the merge of a head, whatever the pull request says: GitHub
 * has been seen to merge and leave it open. Returns the commit that proves it.
 * @throws GitHubFault where it can't be told
 */
export async function findInBase(
  client: GitHubClient,
  trace: MergeTrace,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { target, headSha, method, intent } = trace;
  if (await contains(client, target, headSha, signal)) return headSha;
  const recent = await client.read(
    "GET /repos/{owner}/{repo}/commits",
    { owner: target.owner, repo: target.repo, sha: target.baseRef, per_page: 100 },
    commitPage,
    signal,
  );
  if (method !== "rebase") {
    return recent.items.find(({ commit }) => carriesIntent(commit.message, intent))?.sha;
  }
  // A rebase writes no message of ours, but keeps each commit's message and author's date.
  const head = await readCommit(client, target, headSha, signal);
  const key = (one: z.output<typeof commitAnswer>) =>
    JSON.stringify([one.commit.message, one.commit.author?.email, one.commit.author?.date]);
  return head && recent.items.find((one) => key(one) === key(head))?.sha;
}

/** True where the base branch contains a commit. @throws GitHubFault */
export async function contains(
  client: GitHubClient,
  { owner, repo, baseRef }: Target,
  sha: string,
  signal: AbortSignal,
): Promise<boolean> {
  const route = "GET /repos/{owner}/{repo}/compare/{basehead}";
  const place = { owner, repo, basehead: `${baseRef}...${sha}`, per_page: 1 };
  const compared = await unlessMissing(client.read(route, place, comparison, signal));
  return compared?.ahead_by === 0;
}

/** True where the commit that merged carries this intent: the merge is ours. @throws GitHubFault */
export async function isOurs(
  client: GitHubClient,
  trace: MergeTrace,
  mergeSha: string,
  signal: AbortSignal,
): Promise<boolean> {
  const commit = await readCommit(client, trace.target, mergeSha, signal);
  return commit !== undefined && carriesIntent(commit.commit.message, trace.intent);
}

async function readCommit(
  client: GitHubClient,
  { owner, repo }: Target,
  ref: string,
  signal: AbortSignal,
): Promise<z.output<typeof commitAnswer> | undefined> {
  const route = "GET /repos/{owner}/{repo}/commits/{ref}";
  return unlessMissing(client.read(route, { owner, repo, ref }, commitAnswer, signal));
}
