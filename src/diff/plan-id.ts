import { fingerprintText } from "../model/canonical.ts";
import type { LoadedSpecs } from "../model/manifest.ts";
import type { Plan, PlanAction } from "../model/plan.ts";

/**
 * The hash of all that a plan was made from and does: the store's revision, every action with the
 * version it expects and the content it writes, and the content of files and definitions.
 */
export function planId(plan: Omit<Plan, "id" | "counts">, loaded: LoadedSpecs): string {
  const files = loaded.files.map(({ file, sha256 }) => [file, sha256].join("\t")).sort();
  const managers = loaded.managers.map(({ name, digest }) => [name, digest].join("\t")).sort();
  return fingerprintText(
    JSON.stringify([
      [plan.version, plan.project, plan.owner.kind, plan.owner.name, plan.storeRevision],
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
  const parts = [kind, resourceManager, key, current?.uid, current?.resourceVersion];
  if (kind === "unchanged" || !desired) return parts;
  const labels = Object.entries(desired.labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    ...parts,
    desired.specHash,
    labels,
    desired.dependsOn,
    desired.prune,
    desired.suspend,
    desired.place.file,
  ];
}
