import type { SnapshotEntry } from "../model/batch.ts";
import type { Json } from "../model/canonical.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { Desired } from "../model/manifest.ts";
import type { FieldChange, PlanAction } from "../model/plan.ts";
import type { Owner } from "../model/resource.ts";
import { describeRef } from "../model/resource.ts";
import { sameOwner } from "./absent.ts";
import { diffFields } from "./fields.ts";
import { parseSecretPaths } from "./path.ts";
import { describeChanges, describeOwner } from "./sentences.ts";

/** What deciding one action needs beside the two states. */
export type ActionContext = {
  owner: Owner;
  force: boolean | ((stored: SnapshotEntry) => boolean);
  /** Canonical specs by uid of every resource whose hash differs. */
  specs: ReadonlyMap<string, string>;
  /** Secret paths by manager. */
  secrets: ReadonlyMap<string, readonly string[]>;
};

/** What to do about one valid declaration, given what is stored of it. */
export function decideAction(
  desired: Desired,
  stored: SnapshotEntry | undefined,
  context: ActionContext,
): PlanAction {
  if (!stored) return createAction(desired);
  if (stored.deleting) {
    const reason = "is being deleted; apply again when it is gone";
    return conflictAction(desired, stored, [reason]);
  }
  const owned = sameOwner(stored.owner, context.owner);
  const handedOn = isHandedOn(desired, stored, context.owner);
  if (!owned && !handedOn && !isForced(stored, context)) {
    return conflictAction(desired, stored, waysOut(desired, stored, context.owner));
  }
  const sameSpec = stored.specHash === desired.specHash;
  const metadata = metadataChanges(desired, stored);
  const moved = stored.file !== desired.place.file;
  if (sameSpec && metadata.length === 0 && owned) {
    return moved ? moveAction(desired, stored) : unchangedAction(desired, stored);
  }
  const changes = sameSpec ? metadata : [...specChanges(desired, stored, context), ...metadata];
  const reasons = describeChanges(changes);
  if (handedOn)
    reasons.push(`is taken over from ${describeOwner(stored.owner)}, as its file is synced`);
  else if (!owned) reasons.push(`is taken over by force from ${describeOwner(stored.owner)}`);
  if (sameSpec) reasons.push("the spec is the same, so the generation stays");
  if (moved) reasons.push(movedFrom(desired, stored));
  return {
    ...identify(desired),
    kind: "update",
    reasons,
    current: sameSpec ? stored : { ...stored, spec: context.specs.get(stored.uid) as string },
    desired: settled(desired, stored),
    changes,
    owner: stored.owner,
  };
}

/**
 * Whether `apply` stored it from the very file that a sync follows now: whoever tries specs out with
 * `apply` before they enable sync means the same resources.
 */
function isHandedOn(
  { place }: Pick<Desired, "place">,
  stored: Pick<SnapshotEntry, "owner" | "file">,
  owner: Owner,
): boolean {
  return owner.kind === "sync" && stored.owner.kind === "apply" && stored.file === place.file;
}

function isForced(stored: SnapshotEntry, { force }: ActionContext): boolean {
  return typeof force === "function" ? force(stored) : force;
}

function createAction(desired: Desired): PlanAction {
  const reasons = [`is new in ${desired.place.file}`];
  return { ...identify(desired), kind: "create", reasons, desired: settled(desired) };
}

function moveAction(desired: Desired, stored: SnapshotEntry): PlanAction {
  return {
    ...identify(desired),
    kind: "move",
    reasons: [movedFrom(desired, stored)],
    current: stored,
    desired: settled(desired, stored),
  };
}

function unchangedAction(desired: Desired, stored: SnapshotEntry): PlanAction {
  return {
    kind: "unchanged",
    resourceManager: desired.resourceManager,
    key: desired.key,
    reasons: stored.suspended ? ["is suspended"] : [],
    current: stored,
    desired,
  };
}

function conflictAction(desired: Desired, stored: SnapshotEntry, reasons: string[]): PlanAction {
  return {
    ...identify(desired),
    kind: "conflict",
    reasons,
    current: stored,
    desired,
    owner: stored.owner,
  };
}

function waysOut({ place }: Desired, stored: SnapshotEntry, owner: Owner): string[] {
  const from = stored.file === undefined ? "" : ` (${stored.file})`;
  return [
    `belongs to ${describeOwner(stored.owner)}${from}`,
    owner.kind === "sync"
      ? `hand it to sync with \`pi-workflows apply -f ${place.file} --force\`, or delete it first`
      : "change it there, take it over with --force, or delete it there first",
  ];
}

function movedFrom(desired: Desired, stored: SnapshotEntry): string {
  return stored.file === undefined
    ? `is now declared in ${desired.place.file}`
    : `moved from ${stored.file} to ${desired.place.file}`;
}

// A manifest that says nothing of `prune` or `suspend` leaves what a person or an earlier one set.
function settled(desired: Desired, stored?: SnapshotEntry): Desired {
  return {
    ...desired,
    prune: desired.prune ?? stored?.prunable ?? true,
    suspend: desired.suspend ?? stored?.suspended ?? false,
  };
}

function specChanges(
  desired: Desired,
  stored: SnapshotEntry,
  { specs, secrets }: ActionContext,
): FieldChange[] {
  const before = specs.get(stored.uid);
  if (before === undefined) {
    throw new PiWorkflowsError("STALE", `${describeRef(desired)} changed while it was being read`);
  }
  return diffFields(
    JSON.parse(before) as Json,
    JSON.parse(desired.spec) as Json,
    "spec",
    parseSecretPaths(secrets.get(desired.resourceManager) ?? []),
  );
}

function metadataChanges(desired: Desired, stored: SnapshotEntry): FieldChange[] {
  const changes =
    hasMembers(stored.labels) || hasMembers(desired.labels)
      ? diffFields(stored.labels, desired.labels, "labels")
      : [];
  const { dependsOn, prune, suspend } = desired;
  if (
    dependsOn.length !== stored.dependsOn.length ||
    dependsOn.some((name, index) => name !== stored.dependsOn[index])
  ) {
    changes.push({ path: "dependsOn", before: stored.dependsOn, after: dependsOn });
  }
  if (prune !== undefined && prune !== stored.prunable) {
    changes.push({ path: "prune", before: stored.prunable, after: prune });
  }
  if (suspend !== undefined && suspend !== stored.suspended) {
    changes.push({ path: "suspend", before: stored.suspended, after: suspend });
  }
  return changes;
}

// Ten thousand unchanged resources are planned in milliseconds: nothing is built for the usual case.
function hasMembers(labels: Record<string, string>): boolean {
  for (const _ in labels) return true;
  return false;
}

function identify({ resourceManager, key }: Desired): { resourceManager: string; key: string } {
  return { resourceManager, key };
}
