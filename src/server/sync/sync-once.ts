import os from "node:os";
import { apply } from "../../apply/apply.ts";
import type { Target } from "../../apply/target.ts";
import { maskPlan } from "../../diff/mask-plan.ts";
import type { Problem } from "../../model/manifest.ts";
import type { ApplyReceipt, Plan } from "../../model/plan.ts";
import type { Clock } from "../../model/ports.ts";
import { describeRef } from "../../model/resource.ts";
import type {
  PruneItem,
  PruneRecord,
  SyncAttempt,
  SyncReport,
  SyncRevision,
  SyncSet,
} from "../../model/sync.ts";
import type { StoreReader, SyncRecord } from "../../store/store.ts";
import { isBelow } from "../../sources/project.ts";
import { mergeSyncConditions, outcomeConditions, watchingCondition } from "./conditions.ts";
import { describeDrift, mergeDrift } from "./drift.ts";
import { loadRevision, type LoadContext } from "./load.ts";
import { marksOf } from "./marks.ts";
import { remember, type Memory } from "./memory.ts";
import { pendingPrune, pruneItems } from "./pending-prune.ts";
import { planRevision, type Consent, type Planned } from "./plan-revision.ts";
import type { Listing } from "./source.ts";

/** One sync of one revision. */
export type SyncJob = {
  set: SyncSet;
  revision: SyncRevision;
  context: LoadContext;
  memory: Memory | undefined;
  consent: Consent;
  /** The report before. */
  before: SyncReport;
  store: StoreReader;
  target: Target;
  clock: Clock;
  /** Called as it gets on: from `applying` on it can't be superseded. */
  onPhase: (phase: "loading" | "planning" | "applying") => void;
};

/** What one sync came to. */
export type Synced = {
  record: SyncRecord;
  memory: Memory;
  /** True where another try may come to more by itself. */
  retry: boolean;
};

/**
 * Makes the store what a revision says: load, plan, apply in batches, dependencies first, then
 * prune, dependents first. What is invalid or another owner's is left alone, and reported.
 * @throws what loading, planning or the store refuses as a whole; nothing is reported then
 */
export async function syncOnce(job: SyncJob): Promise<Synced> {
  const { set, revision, context, memory, store, target, clock, onPhase } = job;
  const at = clock.now();
  const began = clock.monotonic();
  onPhase("loading");
  const loaded = await loadRevision(context, revision, memory);
  onPhase("planning");
  const planning = { context, set, source: target, store, memory, consent: job.consent };
  const planned = await planRevision(planning, loaded);
  const plan = withoutSecrets(planned);
  const isSameTree = isSame(job.before.applied?.revision, revision);
  const found = await describeDrift(store, set, plan, { at, isSameTree });
  const items = await itemsOf(job, plan);
  context.signal.throwIfAborted();
  if (!set.suspended) onPhase("applying");
  const receipt = set.suspended ? undefined : await applyPlan(job, planned);
  const durationMs = Math.round(clock.monotonic() - began);
  const emptyRoots = rootsWithoutSpecs(set, planned.loaded.listing);
  const workflowProblems = planned.loaded.workflows.problems;
  const result = { plan, receipt, items, emptyRoots, at, durationMs, workflowProblems };
  const drift = mergeDrift(found, receipt?.actions, isSameTree ? job.before.drift : []);
  return {
    record: {
      report: { ...reportOf(job, result), drift },
      notSynced: marksOf(plan, receipt?.actions, revision),
      prunes: prunesOf(job, result),
    },
    memory: remember(planned.loaded, memory, { isApplied: receipt !== undefined }),
    retry:
      plan.problems.length + result.workflowProblems.length > 0 ||
      failuresOf(receipt).length > 0 ||
      waitsForDeletion(plan),
  };
}

/** The plan with problems as they may be stored and shown; what it writes is untouched. */
function withoutSecrets({ plan, loaded }: Planned): Plan {
  if (plan.problems.length === 0) return plan;
  const secrets = loaded.managers.map(({ name, secretPaths }) => [name, secretPaths] as const);
  const shown = maskPlan(plan, new Map(secrets)).problems;
  const problems = plan.problems.map(({ frame: _frame, ...problem }, index) => {
    const { message = "", frame } = shown[index] ?? {};
    return { ...problem, message, ...(frame === undefined ? {} : { frame }) };
  });
  return { ...plan, problems };
}

function isSame(before: SyncRevision | undefined, { id, tree }: SyncRevision): boolean {
  return before?.id === id || (tree !== undefined && before?.tree === tree);
}

type Result = {
  plan: Plan;
  receipt: ApplyReceipt | undefined;
  items: PruneItem[];
  emptyRoots: string[];
  /** They block nothing: specs are applied and pruned as if those workflows were not there. */
  workflowProblems: Problem[];
  at: number;
  durationMs: number;
};

function rootsWithoutSpecs({ roots }: SyncSet, { specs }: Listing): string[] {
  const files = [...specs.keys()];
  return roots.filter((root) => !files.some((file) => isBelow(root, file)));
}

async function itemsOf({ context, revision, set, target }: SyncJob, plan: Plan) {
  if (plan.counts.prune === 0) return [];
  const { resources } = await target.snapshot(set.project);
  return pruneItems(plan, context.source, revision, resources);
}

async function applyPlan(job: SyncJob, { plan, loaded }: Planned): Promise<ApplyReceipt> {
  const { context, revision, consent, target, before } = job;
  const { listing, resolution } = loaded;
  const since = before.applied?.revision;
  const originOf = await context.source.originsOf(filesOf(plan), { revision, listing, since });
  const command =
    consent.confirm === undefined
      ? {}
      : { command: `sync confirm-prune ${consent.confirm.slice(0, 12)} by ${userName()}` };
  return apply(plan, target, resolution.managers, {
    onError: "continue",
    workflows: resolution.workflows,
    origin: (file) => ({
      ...originOf(file),
      ...(file !== undefined && listing.specs.has(file) ? {} : command),
    }),
  });
}

/** The files of everything that a plan writes. */
function filesOf({ actions }: Plan): string[] {
  const files = new Set<string>();
  for (const { kind, desired, current } of actions) {
    if (kind === "create" || kind === "update" || kind === "move" || kind === "prune") {
      files.add(desired?.place.file ?? current?.file ?? "");
    }
  }
  return [...files];
}

// A report is stored and sent as a whole; nobody reads more than this.
const SHOWN = 500;

function reportOf(job: SyncJob, result: Result): SyncReport {
  const { set, revision, before, context, clock } = job;
  const { plan, receipt, items, emptyRoots, at, durationMs } = result;
  const workflowProblems = result.workflowProblems.slice(0, SHOWN);
  const now = clock.now();
  const conflicts = conflictsOf(plan);
  const failures = failuresOf(receipt);
  const isWhole = plan.problems.length + conflicts.length + failures.length === 0;
  const attempt: SyncAttempt = {
    revision,
    at,
    durationMs,
    outcome: !receipt
      ? "planned"
      : isWhole && plan.prune.state === "clear"
        ? "applied"
        : "incomplete",
    counts: plan.counts,
  };
  const pending = pendingPrune(plan, items, before.pendingPrune, { now, revision });
  const isSuspended = set.suspended;
  const outcome = { revision, plan, conflicts, failures, emptyRoots, isSuspended };
  const says = [...outcomeConditions(outcome), watchingCondition(context.source.deaf)];
  const applied = receipt ? attempt : before.applied;
  return {
    attempted: attempt,
    ...(applied ? { applied } : {}),
    conditions: mergeSyncConditions(before.conditions, says, now),
    problems: plan.problems.slice(0, SHOWN),
    ...(workflowProblems.length > 0 ? { workflowProblems } : {}),
    conflicts: conflicts.slice(0, SHOWN),
    drift: [],
    ...(pending ? { pendingPrune: pending } : {}),
  };
}

function conflictsOf({ actions }: Plan): string[] {
  return actions
    .filter(({ kind }) => kind === "conflict")
    .map((action) => `${describeRef(action)} ${action.reasons.join("; ")}`);
}

function failuresOf(receipt: ApplyReceipt | undefined): string[] {
  return (receipt?.actions ?? [])
    .filter(
      ({ kind, outcome }) => outcome === "failed" && kind !== "conflict" && kind !== "invalid",
    )
    .map((action) => `${describeRef(action)}: ${action.message ?? "was refused"}`);
}

function waitsForDeletion({ actions }: Plan): boolean {
  return actions.some(({ kind, current }) => kind === "conflict" && current?.deleting === true);
}

function prunesOf(
  { consent, revision, clock }: SyncJob,
  { receipt, items }: Result,
): PruneRecord[] {
  const done = new Set(
    receipt?.actions
      .filter(({ kind, outcome }) => kind === "prune" && outcome === "done")
      .map(({ uid }) => uid),
  );
  const pruned = items.filter(({ uid }) => done.has(uid));
  if (pruned.length === 0) return [];
  const { confirm } = consent;
  const confirmation = confirm === undefined ? {} : { hash: confirm, confirmedBy: userName() };
  return [{ revision: revision.id, items: pruned, at: clock.now(), ...confirmation }];
}

/** Only this user can reach the server, so whoever asks is they. */
export function userName(): string {
  return os.userInfo().username;
}
