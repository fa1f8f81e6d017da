import { GitHubFault } from "./fault.ts";
import type { GitHubClient } from "./github-client.ts";
import type { Check, Observation, Review } from "./observation.ts";
import { observeByGraphQL } from "./observe-graphql.ts";
import {
  branchAnswer,
  checkOfRun,
  checkRunPage,
  latestOpinions,
  permissionAnswer,
  pullAnswer,
  pullOf,
  repositoryAnswer,
  requiredByProtection,
  requiredByRules,
  reviewPage,
  rulePage,
  statusPage,
} from "./rest.ts";
import type { PullRequestSpec } from "./spec.ts";
import { targetOf, type Target } from "./target.ts";

/**
 * One look at everything that a decision needs: by one GraphQL query where the server answers it,
 * else by REST. What the rules of the base require is read by REST in both cases, since GraphQL
 * shows it to administrators only.
 * @throws GitHubFault where it can't be looked at
 */
export async function observe(
  client: GitHubClient,
  spec: PullRequestSpec,
  signal: AbortSignal,
): Promise<Observation> {
  const target = targetOf(spec);
  const base = await readBase(client, target, signal);
  const byGraphQL = await observeByGraphQL(client, spec, signal);
  if (byGraphQL === undefined) return observeByRest(client, spec, base, signal);
  let { pull } = byGraphQL;
  if (pull.state === "open" && pull.mergeable === "unknown") {
    // Only a read by REST makes GitHub compute it.
    const { mergeable, mergeState, headSha } = await readPull(client, target, signal);
    if (headSha === pull.headSha && mergeable !== "unknown") {
      pull = { ...pull, mergeable, mergeState };
    }
  }
  const checks = byGraphQL.checks ?? (await readChecks(client, target, pull.headSha, signal));
  return {
    ...byGraphQL,
    pull,
    checks: checks.items,
    required: base.required,
    queueRequired: base.queueRequired || byGraphQL.queueRequired,
    gaps: [...byGraphQL.gaps, ...checks.gaps, ...base.gaps],
  };
}

/** @throws GitHubFault */
export async function readPull(client: GitHubClient, target: Target, signal: AbortSignal) {
  const route = "GET /repos/{owner}/{repo}/pulls/{number}";
  return pullOf(await client.read(route, target, pullAnswer, signal));
}

async function observeByRest(
  client: GitHubClient,
  spec: PullRequestSpec,
  base: Base,
  signal: AbortSignal,
): Promise<Observation> {
  const target = targetOf(spec);
  const repository = await client.read(
    "GET /repos/{owner}/{repo}",
    target,
    repositoryAnswer,
    signal,
  );
  const pull = await readPull(client, target, signal);
  const checks = await readChecks(client, target, pull.headSha, signal);
  const reviews = await readReviews(client, spec, signal);
  return {
    source: "rest",
    repository: {
      id: repository.id,
      name: repository.full_name,
      methods: {
        merge: repository.allow_merge_commit ?? true,
        squash: repository.allow_squash_merge ?? true,
        rebase: repository.allow_rebase_merge ?? true,
      },
    },
    pull,
    reviews: reviews.items,
    reviewDecision: "unreadable",
    codeOwnersAsked: [],
    checks: checks.items,
    required: base.required,
    queueRequired: base.queueRequired,
    unresolvedThreads: "unreadable",
    gaps: [...base.gaps, ...checks.gaps, ...reviews.gaps],
  };
}

type Base = Pick<Observation, "required" | "queueRequired" | "gaps">;

/** What the rules of the base branch require. */
async function readBase(client: GitHubClient, target: Target, signal: AbortSignal): Promise<Base> {
  const place = { owner: target.owner, repo: target.repo, branch: target.baseRef };
  const branch = await unlessMissing(
    client.read("GET /repos/{owner}/{repo}/branches/{branch}", place, branchAnswer, signal),
  );
  // Servers before rulesets answer 404; branch protection is all there is then.
  const rules = await unlessMissing(
    client.readAll("GET /repos/{owner}/{repo}/rules/branches/{branch}", place, rulePage, signal),
  );
  const items = rules?.items ?? [];
  return {
    required: [...(branch ? requiredByProtection(branch) : []), ...requiredByRules(items)],
    queueRequired: items.some(({ type }) => type === "merge_queue"),
    gaps: [
      ...(branch ? [] : [`branch ${target.baseRef}, which is not there`]),
      ...(rules?.complete === false ? [`rules of ${target.baseRef}`] : []),
    ],
  };
}

type Whole<T> = { items: T[]; gaps: string[] };

/** Every check run and commit status of one commit. */
async function readChecks(
  client: GitHubClient,
  target: Target,
  sha: string,
  signal: AbortSignal,
): Promise<Whole<Check>> {
  const place = { owner: target.owner, repo: target.repo, ref: sha };
  const runs = await client.readAll(
    "GET /repos/{owner}/{repo}/commits/{ref}/check-runs",
    place,
    checkRunPage,
    signal,
  );
  const statuses = await client.readAll(
    "GET /repos/{owner}/{repo}/commits/{ref}/status",
    place,
    statusPage,
    signal,
  );
  return {
    items: [
      ...runs.items.map(checkOfRun),
      ...statuses.items.map(({ id, context, state }): Check => ({
        kind: "status",
        name: context,
        id,
        state: state.toUpperCase(),
        required: false,
      })),
    ],
    gaps: [
      ...(runs.complete ? [] : ["check runs"]),
      ...(statuses.complete ? [] : ["commit statuses"]),
    ],
  };
}

async function readReviews(
  client: GitHubClient,
  spec: PullRequestSpec,
  signal: AbortSignal,
): Promise<Whole<Review>> {
  const target = targetOf(spec);
  const route = "GET /repos/{owner}/{repo}/pulls/{number}/reviews";
  const all = await client.readAll(route, target, reviewPage, signal);
  const gaps = all.complete ? [] : ["reviews"];
  const opinions = latestOpinions(all.items);
  if (!spec.require.approvals.fromWriters) return { items: opinions, gaps };
  const items: Review[] = [];
  for (const opinion of opinions) {
    if (await mayWrite(client, target, opinion.author, signal)) items.push(opinion);
  }
  return { items, gaps };
}

async function mayWrite(
  client: GitHubClient,
  target: Target,
  username: string,
  signal: AbortSignal,
): Promise<boolean> {
  const route = "GET /repos/{owner}/{repo}/collaborators/{username}/permission";
  const answer = await unlessMissing(
    client.read(route, { ...target, username }, permissionAnswer, signal),
  );
  return answer?.permission === "admin" || answer?.permission === "write";
}

/** Undefined where GitHub answers 404. */
export async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof GitHubFault && error.status === 404) return undefined;
    throw error;
  }
}
