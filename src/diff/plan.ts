import type { Snapshot, SnapshotEntry } from "../model/batch.ts";
import type { Desired, LoadedSpecs } from "../model/manifest.ts";
import { PLAN_VERSION } from "../model/plan.ts";
import type { Plan, PlanAction, PlanActionKind } from "../model/plan.ts";
import type { Owner } from "../model/resource.ts";
import { findAbsent } from "./absent.ts";
import type { Absent } from "./absent.ts";
import { decideAction } from "./action.ts";
import type { ActionContext } from "./action.ts";
import { at, compareProblems, declare, duplicateProblems, storedByIdentity } from "./declared.ts";
import type { Declared } from "./declared.ts";
import { judgePrune } from "./guard.ts";
import type { PruneRequest } from "./guard.ts";
import { identityOf } from "./identity.ts";
import { planId } from "./plan-id.ts";
import { checkDeclared } from "./rejected.ts";
import type { Checked } from "./rejected.ts";

/** Whose plan it is, and what it may do. */
export type PlanRequest = {
  project: string;
  owner: Owner;
  /** Takes over resources of other owners, or some of them, instead of reporting a conflict. */
  force?: boolean | ((stored: SnapshotEntry) => boolean);
  /** Absent: nothing is pruned. */
  prune?: PruneRequest;
};

/** All that a plan is made from. */
export type PlanInput = {
  request: PlanRequest;
  loaded: LoadedSpecs;
  snapshot: Snapshot;
  /** Canonical specs by uid of everything that `differing` names. */
  specs: ReadonlyMap<string, string>;
};

/** The uids of stored resources whose spec is not the declared one: the only specs a plan reads. */
export function differing(desired: readonly Desired[], snapshot: Snapshot): string[] {
  const stored = storedByIdentity(snapshot.resources);
  const uids = new Set<string>();
  for (const { resourceManager, key, specHash } of desired) {
    const entry = stored.get(identityOf(resourceManager, key));
    if (entry && entry.specHash !== specHash && !entry.deleting) uids.add(entry.uid);
  }
  return [...uids];
}

/**
 * Compares what is declared with what is stored, and says what apply would do to each resource, in
 * the order in which apply would do it, and why. Pure: the same input in any order of files gives
 * the same plan, to the byte.
 * @throws STALE when the spec of a resource that differs is not among `specs`.
 */
export function planChanges({ request, loaded, snapshot, specs }: PlanInput): Plan {
  const declared = declare(loaded.desired);
  const stored = storedByIdentity(snapshot.resources);
  const failedFiles = new Set(
    loaded.problems.flatMap(({ file, specFile }) =>
      specFile === undefined ? file : [file, specFile],
    ),
  );
  const declares = (identity: string): boolean =>
    declared.single.has(identity) || declared.several.has(identity);
  const absent = findAbsent(stored, { ...request, declares, failedFiles });
  const leaving = new Set<SnapshotEntry>(absent.pruned);
  const stays = (identity: string): boolean => {
    const entry = stored.get(identity);
    return entry !== undefined && !entry.deleting && !leaving.has(entry);
  };
  const checked = checkDeclared(declared, { owner: request.owner, stored, failedFiles, stays });
  const problems = [...loaded.problems, ...duplicateProblems(declared), ...checked.problems];
  const secrets = new Map(loaded.managers.map(({ name, secretPaths }) => [name, secretPaths]));
  const context = { owner: request.owner, force: request.force ?? false, specs, secrets };
  const plan: Omit<Plan, "id" | "counts"> = {
    version: PLAN_VERSION,
    project: request.project,
    owner: request.owner,
    storeRevision: snapshot.revision,
    actions: [
      ...declaredActions(checked, stored, context),
      ...duplicateActions(declared, stored),
      ...absentActions(absent, new Set(loaded.files.map(({ file }) => file))),
    ],
    problems: problems.sort(compareProblems),
    prune: request.prune
      ? judgePrune({
          request: request.prune,
          pruned: absent.pruned,
          owned: absent.owned,
          declared: loaded.desired.length,
          problems: problems.length,
        })
      : { state: "clear" },
  };
  return { ...plan, id: planId(plan, loaded), counts: countKinds(plan.actions) };
}

function declaredActions(
  { order, rejected }: Checked,
  stored: ReadonlyMap<string, SnapshotEntry>,
  context: ActionContext,
): PlanAction[] {
  return order.map(({ identity, desired }) => {
    const current = stored.get(identity);
    const reasons = rejected.size === 0 ? undefined : rejected.get(identity);
    if (!reasons) return decideAction(desired, current, context);
    const { resourceManager, key } = desired;
    const action: PlanAction = { kind: "invalid", resourceManager, key, reasons, desired };
    return current ? { ...action, current } : action;
  });
}

function duplicateActions(
  { several }: Declared,
  stored: ReadonlyMap<string, SnapshotEntry>,
): PlanAction[] {
  return [...several.keys()].sort().map((identity) => {
    const [first, ...rest] = several.get(identity) as [Desired, ...Desired[]];
    const places = [first, ...rest].map(({ place }) => at(place)).join(" and ");
    const current = stored.get(identity);
    return {
      kind: "invalid",
      resourceManager: first.resourceManager,
      key: first.key,
      reasons: [`is declared more than once: ${places}`],
      ...(current ? { current } : {}),
    };
  });
}

function absentActions(absent: Absent, loadedFiles: ReadonlySet<string>): PlanAction[] {
  const gone = ({ file }: SnapshotEntry): string =>
    loadedFiles.has(file as string) ? `${file} no longer declares it` : `${file} is gone`;
  return [
    ...absent.failed.map((entry) =>
      absentAction("invalid", entry, [
        `${entry.file} has problems, so the last good spec stays in force`,
      ]),
    ),
    ...absent.kept.map((entry) =>
      absentAction("unchanged", entry, [
        gone(entry),
        "it is protected (prune: false), so it stays; delete it by hand, " +
          "or declare it with prune: true first",
      ]),
    ),
    ...absent.pruned.map((entry) => absentAction("prune", entry, [gone(entry)])),
  ];
}

function absentAction(kind: PlanActionKind, entry: SnapshotEntry, reasons: string[]): PlanAction {
  const { manager: resourceManager, key } = entry;
  return { kind, resourceManager, key, reasons, current: entry };
}

/** How many actions there are of each kind. */
function countKinds(actions: readonly PlanAction[]): Plan["counts"] {
  const counts: Plan["counts"] = {
    create: 0,
    update: 0,
    unchanged: 0,
    move: 0,
    prune: 0,
    conflict: 0,
    invalid: 0,
  };
  for (const { kind } of actions) counts[kind] += 1;
  return counts;
}

/** True where apply would write something: what makes `diff` exit with 1. */
export function hasChanges({ counts }: Pick<Plan, "counts">): boolean {
  return counts.create + counts.update + counts.move + counts.prune > 0;
}
