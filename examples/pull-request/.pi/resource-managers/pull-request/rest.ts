import { z } from "zod";
import type { Observation, Pull, RequiredCheck, Review } from "./observation.ts";

/** The parts of GitHub's REST answers that this manager reads; anything else in them is ignored. */
const login = z.object({ login: z.string() }).nullable();
const repositoryOf = z.object({ full_name: z.string() });

export const repositoryAnswer = z.object({
  id: z.number(),
  full_name: z.string(),
  // Absent for tokens that may not write.
  allow_merge_commit: z.boolean().optional(),
  allow_squash_merge: z.boolean().optional(),
  allow_rebase_merge: z.boolean().optional(),
});

export const pullAnswer = z.object({
  node_id: z.string(),
  number: z.number(),
  html_url: z.string(),
  state: z.enum(["open", "closed"]),
  title: z.string(),
  body: z.string().nullable(),
  user: login,
  draft: z.boolean().optional(),
  head: z.object({ sha: z.string(), ref: z.string(), repo: repositoryOf.nullable() }),
  base: z.object({ ref: z.string(), sha: z.string(), repo: repositoryOf }),
  labels: z.array(z.object({ name: z.string() })),
  merged: z.boolean(),
  merged_at: z.string().nullable(),
  merged_by: login.optional(),
  merge_commit_sha: z.string().nullable(),
  mergeable: z.boolean().nullable(),
  mergeable_state: z.string(),
  maintainer_can_modify: z.boolean().optional(),
  auto_merge: z.object({ enabled_by: login }).nullable(),
});
export type PullAnswer = z.output<typeof pullAnswer>;

const reviewAnswer = z.object({
  user: login,
  state: z.string(),
  commit_id: z.string().nullable(),
});
export const reviewPage = z
  .array(reviewAnswer)
  .transform((items): { items: z.output<typeof reviewAnswer>[] } => ({ items }));

const checkRunAnswer = z.object({
  id: z.number(),
  name: z.string(),
  status: z.string(),
  conclusion: z.string().nullable(),
  external_id: z.string().nullable(),
  app: z.object({ id: z.number() }).nullish(),
});
export const checkRunPage = z
  .object({ total_count: z.number(), check_runs: z.array(checkRunAnswer) })
  .transform(({ total_count: total, check_runs: items }) => ({ total, items }));

export const statusPage = z
  .object({
    total_count: z.number(),
    statuses: z.array(z.object({ id: z.number(), context: z.string(), state: z.string() })),
  })
  .transform(({ total_count: total, statuses: items }) => ({ total, items }));

const requiredChecks = z.object({
  checks: z.array(z.object({ context: z.string(), app_id: z.number().nullish() })).optional(),
  contexts: z.array(z.string()).optional(),
});
export const branchAnswer = z.object({
  commit: z.object({ sha: z.string() }),
  protection: z.object({ required_status_checks: requiredChecks.optional() }).optional(),
});

const ruleAnswer = z.object({
  type: z.string(),
  parameters: z
    .object({
      required_status_checks: z
        .array(z.object({ context: z.string(), integration_id: z.number().nullish() }))
        .optional(),
    })
    .optional(),
});
export const rulePage = z
  .array(ruleAnswer)
  .transform((items): { items: z.output<typeof ruleAnswer>[] } => ({ items }));

export const permissionAnswer = z.object({ permission: z.string() });

/** A pull request as REST shows it. */
export function pullOf(answer: PullAnswer): Pull {
  const { head, base } = answer;
  const merged = answer.merged && answer.merge_commit_sha !== null;
  return {
    id: answer.node_id,
    number: answer.number,
    url: answer.html_url,
    state: answer.merged ? "merged" : answer.state,
    title: answer.title,
    body: answer.body ?? "",
    author: answer.user?.login ?? "ghost",
    draft: answer.draft ?? false,
    headSha: head.sha,
    headRef: head.ref,
    ...(head.repo === null ? {} : { headRepository: head.repo.full_name }),
    fork: head.repo?.full_name !== base.repo.full_name,
    maintainerCanModify: answer.maintainer_can_modify ?? false,
    baseRef: base.ref,
    labels: answer.labels.map(({ name }) => name),
    mergeable: answer.mergeable === null ? "unknown" : answer.mergeable ? "yes" : "no",
    mergeState: mergeStateOf(answer.mergeable_state),
    ...(answer.auto_merge === null
      ? {}
      : { autoMergeBy: answer.auto_merge.enabled_by?.login ?? "ghost" }),
    ...(merged
      ? {
          merged: {
            at: answer.merged_at ?? "",
            by: answer.merged_by?.login ?? "ghost",
            sha: answer.merge_commit_sha ?? "",
          },
        }
      : {}),
  };
}

const MERGE_STATES = [
  "CLEAN",
  "HAS_HOOKS",
  "UNSTABLE",
  "BLOCKED",
  "BEHIND",
  "DIRTY",
  "DRAFT",
] as const;

/** A state that GitHub adds later is `UNKNOWN`: own checks decide, and GitHub refuses if it must. */
export function mergeStateOf(text: string): Pull["mergeState"] {
  return MERGE_STATES.find((state) => state === text.toUpperCase()) ?? "UNKNOWN";
}

/** Every review in order; a later one without an opinion leaves the earlier opinion in force. */
export function latestOpinions(answers: z.output<typeof reviewAnswer>[]): Review[] {
  const latest = new Map<string, Review>();
  for (const { user, state, commit_id: sha } of answers) {
    if (user === null) continue;
    if (state !== "APPROVED" && state !== "CHANGES_REQUESTED" && state !== "DISMISSED") continue;
    latest.set(user.login, { author: user.login, state, sha: sha ?? "" });
  }
  return [...latest.values()];
}

export function checkOfRun(run: z.output<typeof checkRunAnswer>): Observation["checks"][number] {
  return {
    kind: "run",
    name: run.name,
    ...(run.app ? { appId: run.app.id } : {}),
    id: run.id,
    state: (run.status === "completed" ? (run.conclusion ?? "") : run.status).toUpperCase(),
    required: false,
  };
}

/** What branch protection requires, as `GET branch` shows it to every reader. */
export function requiredByProtection(branch: z.output<typeof branchAnswer>): RequiredCheck[] {
  const required = branch.protection?.required_status_checks;
  if (!required) return [];
  const checks =
    required.checks ?? (required.contexts ?? []).map((context) => ({ context, app_id: null }));
  return checks.map(({ context, app_id: id }) => requiredCheck(context, id));
}

/** What rulesets require of a branch. */
export function requiredByRules(rules: z.output<typeof ruleAnswer>[]): RequiredCheck[] {
  return rules.flatMap(({ parameters }) =>
    (parameters?.required_status_checks ?? []).map(({ context, integration_id: id }) =>
      requiredCheck(context, id),
    ),
  );
}

/** -1 and null mean any app. */
function requiredCheck(name: string, appId: number | null | undefined): RequiredCheck {
  return appId === null || appId === undefined || appId < 1 ? { name } : { name, appId };
}
