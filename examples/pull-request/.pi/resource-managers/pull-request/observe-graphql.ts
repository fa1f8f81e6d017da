import { z } from "zod";
import { GitHubFault } from "./fault.ts";
import type { GitHubClient } from "./github-client.ts";
import type { Check, Observation, Pull, Review } from "./observation.ts";
import { PULL_REQUEST_QUERY } from "./query.ts";
import { mergeStateOf } from "./rest.ts";
import type { PullRequestSpec } from "./spec.ts";
import { targetOf } from "./target.ts";

const login = z.object({ login: z.string() }).nullable();
const listOf = <T extends z.ZodType>(node: T) =>
  z.object({ totalCount: z.number(), nodes: z.array(node) });
const pagesOf = <T extends z.ZodType>(node: T) =>
  listOf(node).extend({
    pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullable() }),
  });

const contextNode = z.discriminatedUnion("__typename", [
  z.object({
    __typename: z.literal("CheckRun"),
    databaseId: z.number().nullable(),
    name: z.string(),
    status: z.string(),
    conclusion: z.string().nullable(),
    isRequired: z.boolean(),
    checkSuite: z.object({ app: z.object({ databaseId: z.number().nullable() }).nullable() }),
  }),
  z.object({
    __typename: z.literal("StatusContext"),
    context: z.string(),
    state: z.string(),
    isRequired: z.boolean(),
  }),
]);

const pullNode = z.object({
  id: z.string(),
  number: z.number(),
  url: z.string(),
  state: z.enum(["OPEN", "CLOSED", "MERGED"]),
  title: z.string(),
  body: z.string(),
  author: login,
  isDraft: z.boolean(),
  headRefOid: z.string(),
  headRefName: z.string(),
  headRepository: z.object({ nameWithOwner: z.string() }).nullable(),
  isCrossRepository: z.boolean(),
  maintainerCanModify: z.boolean(),
  baseRefName: z.string(),
  isMergeQueueEnabled: z.boolean(),
  labels: listOf(z.object({ name: z.string() })).nullable(),
  mergeable: z.enum(["MERGEABLE", "CONFLICTING", "UNKNOWN"]),
  mergeStateStatus: z.string(),
  autoMergeRequest: z.object({ enabledBy: login }).nullable(),
  mergedAt: z.string().nullable(),
  mergedBy: login,
  mergeCommit: z.object({ oid: z.string() }).nullable(),
  reviewDecision: z.enum(["APPROVED", "CHANGES_REQUESTED", "REVIEW_REQUIRED"]).nullable(),
  reviewRequests: listOf(
    z.object({
      asCodeOwner: z.boolean(),
      requestedReviewer: z
        .object({ login: z.string().optional(), slug: z.string().optional() })
        .nullable(),
    }),
  ).nullable(),
  latestOpinionatedReviews: listOf(
    z.object({
      author: login,
      state: z.string(),
      commit: z.object({ oid: z.string() }).nullable(),
    }),
  ).nullable(),
  reviewThreads: pagesOf(z.object({ isResolved: z.boolean() })),
  commits: z.object({
    nodes: z.array(
      z.object({
        commit: z.object({
          oid: z.string(),
          statusCheckRollup: z.object({ contexts: pagesOf(contextNode) }).nullable(),
        }),
      }),
    ),
  }),
});

const answer = z.object({
  repository: z.object({
    databaseId: z.number(),
    nameWithOwner: z.string(),
    mergeCommitAllowed: z.boolean(),
    squashMergeAllowed: z.boolean(),
    rebaseMergeAllowed: z.boolean(),
    pullRequest: pullNode,
  }),
});
type Answer = z.output<typeof answer>["repository"];
type PullNode = Answer["pullRequest"];
type ContextNode = z.output<typeof contextNode>;

/** What GraphQL tells; checks are missing where its latest commit is not the head. */
type Seen = Omit<Observation, "checks" | "required"> & {
  checks?: { items: Check[]; gaps: string[] };
};

/** Pages of contexts and threads; what is longer is a gap. */
const MAX_PAGES = 20;

/**
 * Undefined where the server does not answer the query: then REST tells, and says why not if it
 * can't either.
 * @throws GitHubFault `limited`, or `moved` where the repository has another name now
 */
export async function observeByGraphQL(
  client: GitHubClient,
  spec: PullRequestSpec,
  signal: AbortSignal,
): Promise<Seen | undefined> {
  try {
    const pages = await readPages(client, spec, signal);
    return seenIn(pages, spec);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GitHubFault) || ["limited", "moved"].includes(error.kind)) throw error;
    return undefined;
  }
}

async function readPages(
  client: GitHubClient,
  spec: PullRequestSpec,
  signal: AbortSignal,
): Promise<[Answer, ...Answer[]]> {
  const { owner, repo, number } = targetOf(spec);
  const fixed = { owner, repo, number, writersOnly: spec.require.approvals.fromWriters };
  const read = async (cursors: Record<string, string | null>) =>
    (await client.graphql(PULL_REQUEST_QUERY, { ...fixed, ...cursors }, answer, signal)).repository;
  const pages: [Answer, ...Answer[]] = [await read({})];
  for (let last: Answer = pages[0]; pages.length < MAX_PAGES; pages.push(last)) {
    const threads = last.pullRequest.reviewThreads.pageInfo;
    const contexts = contextsOf(last.pullRequest)?.pageInfo;
    if (!threads.hasNextPage && !contexts?.hasNextPage) break;
    last = await read({
      threadsAfter: threads.endCursor,
      contextsAfter: contexts?.endCursor ?? null,
    });
    if (last.pullRequest.headRefOid !== pages[0].pullRequest.headRefOid) {
      throw new GitHubFault("unreadable", "GraphQL: the head moved between two pages");
    }
  }
  return pages;
}

function seenIn(pages: [Answer, ...Answer[]], spec: PullRequestSpec): Seen {
  const [repository] = pages;
  const { pullRequest: node } = repository;
  if (repository.nameWithOwner.toLowerCase() !== spec.repository.toLowerCase()) {
    throw new GitHubFault("moved", `${spec.repository} is ${repository.nameWithOwner} now`, {
      location: repository.nameWithOwner,
    });
  }
  const threads = pages.flatMap(({ pullRequest }) => pullRequest.reviewThreads.nodes);
  const checks = checksIn(pages.map(({ pullRequest }) => pullRequest));
  return {
    source: "graphql",
    repository: {
      id: repository.databaseId,
      name: repository.nameWithOwner,
      methods: {
        merge: repository.mergeCommitAllowed,
        squash: repository.squashMergeAllowed,
        rebase: repository.rebaseMergeAllowed,
      },
    },
    pull: pullIn(node),
    reviews: reviewsIn(node),
    reviewDecision: node.reviewDecision,
    codeOwnersAsked: (node.reviewRequests?.nodes ?? [])
      .filter(({ asCodeOwner }) => asCodeOwner)
      .map(({ requestedReviewer: who }) => who?.login ?? who?.slug ?? "unknown"),
    ...(checks === undefined ? {} : { checks }),
    queueRequired: node.isMergeQueueEnabled,
    unresolvedThreads: threads.filter(({ isResolved }) => !isResolved).length,
    gaps: [
      ...gap("labels", node.labels),
      ...gap("reviews", node.latestOpinionatedReviews),
      ...gap("review requests", node.reviewRequests),
      ...gap("review threads", { totalCount: node.reviewThreads.totalCount, nodes: threads }),
    ],
  };
}

/** The list's name where a part of it is missing. */
function gap(name: string, list: { totalCount: number; nodes: unknown[] } | null): string[] {
  return list === null || list.nodes.length === list.totalCount ? [] : [name];
}

function pullIn(node: PullNode): Pull {
  return {
    id: node.id,
    number: node.number,
    url: node.url,
    state: ({ OPEN: "open", CLOSED: "closed", MERGED: "merged" } as const)[node.state],
    title: node.title,
    body: node.body,
    author: node.author?.login ?? "ghost",
    draft: node.isDraft,
    headSha: node.headRefOid,
    headRef: node.headRefName,
    ...(node.headRepository === null ? {} : { headRepository: node.headRepository.nameWithOwner }),
    fork: node.isCrossRepository,
    maintainerCanModify: node.maintainerCanModify,
    baseRef: node.baseRefName,
    labels: (node.labels?.nodes ?? []).map(({ name }) => name),
    mergeable: ({ MERGEABLE: "yes", CONFLICTING: "no", UNKNOWN: "unknown" } as const)[
      node.mergeable
    ],
    mergeState: mergeStateOf(node.mergeStateStatus),
    ...(node.autoMergeRequest === null
      ? {}
      : { autoMergeBy: node.autoMergeRequest.enabledBy?.login ?? "ghost" }),
    ...(node.state === "MERGED" && node.mergeCommit !== null
      ? {
          merged: {
            at: node.mergedAt ?? "",
            by: node.mergedBy?.login ?? "ghost",
            sha: node.mergeCommit.oid,
          },
        }
      : {}),
  };
}

function reviewsIn(node: PullNode): Review[] {
  return (node.latestOpinionatedReviews?.nodes ?? []).flatMap(({ author, state, commit }) =>
    author !== null &&
    (state === "APPROVED" || state === "CHANGES_REQUESTED" || state === "DISMISSED")
      ? [{ author: author.login, state, sha: commit?.oid ?? "" }]
      : [],
  );
}

/** Commits are in the order of their author's dates, so the last one need not be the head. */
function contextsOf(node: PullNode) {
  const commit = node.commits.nodes[0]?.commit;
  return commit?.oid === node.headRefOid ? commit.statusCheckRollup?.contexts : undefined;
}

function checksIn(nodes: PullNode[]): Seen["checks"] {
  const [first] = nodes;
  if (first?.commits.nodes[0]?.commit.oid !== first?.headRefOid) return undefined;
  const items = nodes.flatMap((node) => contextsOf(node)?.nodes ?? []);
  const total = first && contextsOf(first)?.totalCount;
  return {
    items: items.map(checkIn),
    gaps: total === undefined || total === items.length ? [] : ["checks"],
  };
}

function checkIn(node: ContextNode, index: number): Check {
  if ("context" in node) {
    const { context: name, state, isRequired: required } = node;
    return { kind: "status", name, id: index, state, required };
  }
  const appId = node.checkSuite.app?.databaseId ?? undefined;
  return {
    kind: "run",
    name: node.name,
    ...(appId === undefined ? {} : { appId }),
    id: node.databaseId ?? index,
    state: node.status === "COMPLETED" ? (node.conclusion ?? "") : node.status,
    required: node.isRequired,
  };
}
