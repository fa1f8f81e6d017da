import type { ApplyChange, SnapshotEntry } from "../model/batch.ts";
import type { Desired } from "../model/manifest.ts";
import type { Plan, PlanAction } from "../model/plan.ts";
import type { Origin } from "../model/resource.ts";

/** What the caller knows of where the files came from. */
type ApplyOrigin = Pick<Origin, "blob" | "commit" | "author" | "committedAt" | "dirty" | "command">;

/** The same for every file, or by file: one may be edited where another is as committed. */
export type OriginOf = ApplyOrigin | ((file: string | undefined) => ApplyOrigin);

/** A change beside the action that it carries out. */
export type Step = { action: PlanAction; change: ApplyChange };

/** What a plan writes, in its order: dependencies first, then what is pruned, dependents first. */
export function stepsOf(plan: Plan, origin: OriginOf): { writes: Step[]; prunes: Step[] } {
  const writes: Step[] = [];
  const prunes: Step[] = [];
  for (const action of plan.actions) {
    const change = changeOf(action, plan, origin);
    if (change) (change.kind === "prune" ? prunes : writes).push({ action, change });
  }
  return { writes, prunes };
}

function changeOf(action: PlanAction, plan: Plan, origins: OriginOf): ApplyChange | undefined {
  const { kind, resourceManager: manager, key, desired, current } = action;
  // Asked for only where something is written: most actions of a large set are `unchanged`.
  const origin = (): ApplyOrigin =>
    typeof origins === "function" ? origins(desired?.place.file ?? current?.file) : origins;
  switch (kind) {
    case "create":
      return { kind, manager, key, write: write(desired as Desired, plan, origin()), expected: 0 };
    case "update":
    case "move": {
      const { resourceVersion: expected } = current as SnapshotEntry;
      return { kind, manager, key, write: write(desired as Desired, plan, origin()), expected };
    }
    case "prune": {
      const { resourceVersion: expected, file } = current as SnapshotEntry;
      const from = file === undefined ? {} : { file };
      return { kind, manager, key, expected, origin: { owner: plan.owner, ...from, ...origin() } };
    }
    case "unchanged":
    case "conflict":
    case "invalid":
      return undefined;
  }
}

function write(
  desired: Desired,
  plan: Plan,
  origin: ApplyOrigin,
): Extract<ApplyChange, { write: unknown }>["write"] {
  const { file, line } = desired.place;
  return {
    spec: desired.spec,
    specHash: desired.specHash,
    initialStatus: desired.initialStatus,
    labels: desired.labels,
    dependsOn: desired.dependsOn,
    prunable: desired.prune !== false,
    suspended: desired.suspend === true,
    origin: { owner: plan.owner, file, line, ...origin },
  };
}
