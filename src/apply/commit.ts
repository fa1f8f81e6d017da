import type { BatchReceipt, SnapshotEntry } from "../model/batch.ts";
import { PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";
import type { ErrorCode } from "../model/errors.ts";
import { describeRef } from "../model/resource.ts";
import { diffFields } from "../diff/fields.ts";
import { identityOf } from "../diff/identity.ts";
import type { Step } from "./changes.ts";
import type { Target } from "./target.ts";

/** A batch that was written, with its receipt; or the steps of it that were refused. */
export type Commit =
  | { steps: Step[]; receipt: BatchReceipt }
  | { steps: Step[]; error: PiWorkflowsError };

// A status is written between plan and commit now and then; that often in a row, something is wrong.
const REREADS = 5;

/**
 * Commits one batch, whole or not at all. A resource whose version moved only because its status
 * was written is not stale: its spec and metadata are as the plan saw them, so the batch is sent
 * again with the version that it has now.
 * @throws STALE and what else the target throws.
 */
export async function commitBatch(
  target: Target,
  project: string,
  batch: readonly Step[],
): Promise<BatchReceipt> {
  let steps = batch;
  for (let left = REREADS; ; left -= 1) {
    try {
      const receipt = await target.commit({ project, changes: steps.map(({ change }) => change) });
      checkReceipt(steps, receipt);
      return receipt;
    } catch (thrown) {
      if (left === 0 || toPiWorkflowsError(thrown).code !== "STALE") throw thrown;
      steps = refresh(steps, (await target.snapshot(project)).resources, thrown);
    }
  }
}

/**
 * Commits a batch, and where it is refused, its halves, so that only what is at fault is left out.
 * Failures that are not about single resources are thrown.
 */
export async function commitWhatCan(
  target: Target,
  project: string,
  steps: Step[],
): Promise<Commit[]> {
  try {
    return [{ steps, receipt: await commitBatch(target, project, steps) }];
  } catch (thrown) {
    const error = toPiWorkflowsError(thrown);
    if (!ABOUT_ONE_RESOURCE.has(error.code)) throw error;
    if (steps.length === 1) return [{ steps, error }];
    const half = Math.ceil(steps.length / 2);
    return [
      ...(await commitWhatCan(target, project, steps.slice(0, half))),
      ...(await commitWhatCan(target, project, steps.slice(half))),
    ];
  }
}

const ABOUT_ONE_RESOURCE: ReadonlySet<ErrorCode> = new Set([
  "STALE",
  "CONFLICT",
  "DELETING",
  "INVALID_SPECS",
  "NOT_FOUND",
  "TOO_LARGE",
  "UNKNOWN_MANAGER",
  "BAD_REQUEST",
]);

function refresh(
  steps: readonly Step[],
  resources: readonly SnapshotEntry[],
  stale: unknown,
): Step[] {
  const present = new Map(resources.map((entry) => [identityOf(entry.manager, entry.key), entry]));
  let moved = false;
  const refreshed = steps.map(({ action, change }): Step => {
    const before = action.current;
    const now = present.get(identityOf(change.manager, change.key));
    if (!before && !now) return { action, change };
    if (!before || !now || !sameButVersion(before, now)) throw staleStep({ action, change }, stale);
    if (change.kind === "create" || change.expected === now.resourceVersion) {
      return { action, change };
    }
    moved = true;
    return { action, change: { ...change, expected: now.resourceVersion } };
  });
  if (!moved) throw toPiWorkflowsError(stale);
  return refreshed;
}

function sameButVersion(before: SnapshotEntry, now: SnapshotEntry): boolean {
  return (
    before.uid === now.uid &&
    before.generation === now.generation &&
    before.specHash === now.specHash &&
    before.file === now.file &&
    before.owner.kind === now.owner.kind &&
    before.owner.name === now.owner.name &&
    before.prunable === now.prunable &&
    before.suspended === now.suspended &&
    before.deleting === now.deleting &&
    before.dependsOn.join("\n") === now.dependsOn.join("\n") &&
    diffFields(before.labels, now.labels).length === 0
  );
}

function staleStep({ action }: Step, cause: unknown): PiWorkflowsError {
  return new PiWorkflowsError("STALE", `${describeRef(action)} changed since it was planned`, {
    hint: "Look at what changed with `pi-workflows diff`, and apply again.",
    details: { resourceManager: action.resourceManager, key: action.key },
    cause,
  });
}

// A target that skips or adds a change must never be reported as done.
function checkReceipt(steps: readonly Step[], { items }: BatchReceipt): void {
  const matches =
    items.length === steps.length &&
    steps.every(({ change }, index) => {
      const item = items[index];
      return item?.manager === change.manager && item.key === change.key;
    });
  if (matches) return;
  throw new PiWorkflowsError(
    "INTERNAL",
    `${steps.length} changes were sent, and the answer is about ${items.length} or about others`,
  );
}
