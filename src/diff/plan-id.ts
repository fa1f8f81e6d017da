import type { SnapshotEntry } from "../model/batch.ts";
import { fingerprintText } from "../model/canonical.ts";
import type { LoadedSpecs } from "../model/manifest.ts";
import type { Plan, PlanAction } from "../model/plan.ts";

/**
 * The hash of all that a plan was made from and does: every action with what it saw in the store
 * and the content it writes, and the content of files and definitions. Of the store only what people
 * declare counts: a pass that writes its status, which happens at any time, changes no plan.
 */
export function planId(plan: Omit<Plan, "id" | "counts">, loaded: LoadedSpecs): string {
  const files = loaded.files.map(({ file, sha256 }) => [file, sha256].join("\t")).sort();
  const managers = loaded.managers.map(({ name, digest }) => [name, digest].join("\t")).sort();
  return fingerprintText(
    JSON.stringify([
      [plan.version, plan.project, plan.owner.kind, plan.owner.name],
      plan.actions.map(actionParts),
      plan.problems.map(({ file, line, column, path, message }) => [
        file,
        line,
        column,
        path,
        message,
      ]),
      plan.prune.state,
      files,
      managers,
    ]),
  );
}

function actionParts({ kind, resourceManager, key, current, desired }: PlanAction): unknown[] {
  const parts = [kind, resourceManager, key, ...(current ? currentParts(current) : [])];
  if (kind === "unchanged" || !desired) return parts;
  return [
    ...parts,
    desired.specHash,
    sorted(desired.labels),
    desired.dependsOn,
    desired.prune,
    desired.suspend,
    desired.place.file,
  ];
}

function currentParts(current: SnapshotEntry): unknown[] {
  const { uid, generation, owner, file, prunable, suspended, deleting } = current;
  const facts = [uid, generation, owner.kind, owner.name, file, prunable, suspended, deleting];
  return [...facts, sorted(current.labels), current.dependsOn];
}

function sorted(labels: Record<string, string>): [string, string][] {
  return Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1));
}
