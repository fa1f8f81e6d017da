import { z } from "zod";

const sha = z.string().regex(/^[0-9a-f]{40}$/, "must be a full commit SHA, 40 lower-case digits");
const duration = z.string().regex(/^\d+[smhd]$/, 'must be a whole number and s, m, h or d: "10m"');
const clock = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be hours and minutes: "18:00"');
const name = z.string().min(1).max(256);

/** What a message template may hold: `{{title}}`, `{{body}}`, … */
export const PLACEHOLDERS = [
  "number",
  "title",
  "body",
  "author",
  "headRef",
  "headSha",
  "baseRef",
] as const;

const template = z
  .string()
  .max(16_384)
  .regex(
    new RegExp(`^(?:[^{]|\\{(?!\\{)|\\{\\{(?:${PLACEHOLDERS.join("|")})\\}\\})*$`),
    `may hold ${PLACEHOLDERS.map((one) => `{{${one}}}`).join(", ")} and no other {{…}}`,
  );

const check = z.strictObject({
  name,
  /** Only check runs of this GitHub App count. */
  appId: z.number().int().positive().optional(),
  /** A check run (Actions and other apps) or a commit status; either by default. */
  kind: z.enum(["run", "status"]).optional(),
});

const checks = z.strictObject({
  /** Checks that must pass on the head. With none here or by rule, every check there must pass. */
  names: z.array(check).max(100).default([]),
  /** Also those that branch protection and rulesets require. */
  alsoProviderRequired: z.boolean().default(true),
  /** Whether a head without any successful check may be merged. */
  allowNoChecks: z.boolean().default(false),
  /** Conclusions that pass. */
  accept: z
    .array(z.enum(["success", "neutral", "skipped"]))
    .min(1)
    .default(["success", "neutral", "skipped"]),
  /** The least time between the first sight of a head and its merge: catches checks not yet begun. */
  minWait: duration.default("0s"),
  /** How long checks of one head may be missing or running before they are called overdue. */
  deadline: duration.default("6h"),
});

const approvals = z.strictObject({
  count: z.number().int().min(0).max(20).default(0),
  /** Count and heed only people who may write to the repository. */
  fromWriters: z.boolean().default(true),
  /** Count only approvals of the very head that would be merged. */
  onHead: z.boolean().default(true),
  /** GitHub's own review decision, with code owners, must be "approved". */
  codeOwners: z.boolean().default(false),
});

const freezeWindow = z.strictObject({
  /** The days on which the window begins; every day by default. */
  days: z.array(z.enum(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])).optional(),
  from: clock,
  /** Earlier than `from` means the next day. */
  to: clock,
  /** An IANA name, such as Europe/Berlin. */
  timeZone: z.string().refine(isTimeZone, "is no time zone that is known here").default("UTC"),
});

function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone }).format(0) !== "";
  } catch {
    return false;
  }
}

const workflowName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, "must be lower-case letters, digits and dashes");
/** What a workflow gets besides what it is always told. */
const workflowInput = z.record(z.string(), z.json()).default({});

/** The desired state of one pull request: merged, at a head and under conditions that it states. */
export const pullRequestSpec = z.strictObject({
  repository: z.string().regex(/^[\w.-]+\/[\w.-]+$/, 'must be "OWNER/NAME"'),
  number: z.number().int().positive(),
  /** The branch that it must be merged into; a pull request retargeted elsewhere is not merged. */
  baseRef: name,
  /** Merge this commit or none. Left out: whatever head satisfies the conditions. */
  expectedHeadSha: sha.optional(),
  merge: z
    .strictObject({
      method: z.enum(["merge", "squash", "rebase"]).default("squash"),
      title: template.optional(),
      body: template.optional(),
      deleteBranch: z.boolean().default(false),
    })
    .prefault({}),
  require: z
    .strictObject({
      labels: z.array(name).max(50).default([]),
      noLabels: z.array(name).max(50).default([]),
      approvals: approvals.prefault({}),
      checks: checks.prefault({}),
      /** Needs GraphQL. */
      resolvedThreads: z.boolean().default(false),
      notDraft: z.boolean().default(true),
    })
    .prefault({}),
  update: z
    .strictObject({
      /** `whenBehind`: bring the base into the head where GitHub says that it must be. */
      mode: z.enum(["never", "whenBehind"]).default("never"),
      /** `rebase` needs GraphQL. */
      method: z.enum(["merge", "rebase"]).default("merge"),
    })
    .prefault({}),
  freeze: z
    .strictObject({
      /** ISO 8601 instant. */
      until: z.iso.datetime({ offset: true }).optional(),
      /** Frozen while the pull request has this label. */
      label: name.optional(),
      windows: z.array(freezeWindow).max(20).default([]),
    })
    .optional(),
  /** A workflow that looks at each head before it is merged; what it finds blocking blocks. */
  review: z
    .strictObject({ workflow: workflowName.default("review-pull-request"), input: workflowInput })
    .optional(),
  /** A workflow that mends a head whose checks fail; not with `expectedHeadSha`, not on forks. */
  repair: z
    .strictObject({
      workflow: workflowName.default("repair-pull-request"),
      input: workflowInput,
      /** The project's own tests: nothing is pushed on which they do not pass. */
      test: z.array(z.string().min(1)).min(1).max(64),
      /** Files and folders that a repair may touch; none: all but those that no repair touches. */
      paths: z.array(name).max(100).default([]),
      /** Repairs pushed before a person must look; a new generation of the spec counts anew. */
      pushes: z.number().int().min(1).max(10).default(3),
    })
    .optional(),
  /** Where these workflows fetch the head from: a URL or a path that git understands. */
  checkout: z.strictObject({ remote: z.string().min(1).max(1_024) }).optional(),
  /** Where people see what it waits for: nowhere, a check run, or one comment that is edited. */
  report: z.enum(["none", "check", "comment"]).default("none"),
  /** Observe and decide, and write nothing to GitHub. */
  dryRun: z.boolean().default(false),
  /** Of GitHub Enterprise Server: https://HOST/api/v3, without a slash at the end. */
  apiUrl: z
    .string()
    .regex(/^https?:\/\/[^\s/]+(\/[^\s]*[^\s/])?$/, "must be a URL without a slash at the end")
    .default("https://api.github.com"),
});

export type PullRequestSpec = z.output<typeof pullRequestSpec>;
/** A spec as a person writes it: everything that has a default may be left out. */
export type PullRequestSpecInput = z.input<typeof pullRequestSpec>;
export type MergeMethod = PullRequestSpec["merge"]["method"];

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `"10m"` in milliseconds. */
export function milliseconds(text: string): number {
  return Number(text.slice(0, -1)) * (UNITS[text.slice(-1)] ?? Number.NaN);
}
