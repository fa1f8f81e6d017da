import type { SnapshotEntry } from "../model/batch.ts";
import type { Desired, Problem } from "../model/manifest.ts";
import type { Owner } from "../model/resource.ts";
import { sameOwner } from "./absent.ts";
import { cycleProblems, unknownDependencies } from "./declared.ts";
import type { Declared } from "./declared.ts";
import { describeIdentity } from "./identity.ts";
import { dependencyOrder } from "./order.ts";

/** Single declarations in the order in which they may be applied, and which of them may not. */
export type Checked = {
  order: { identity: string; desired: Desired }[];
  /** Reasons by identity; a rejected resource is left as it is stored. */
  rejected: Map<string, string[]>;
  problems: Problem[];
};

/** What the declarations are checked against. */
export type CheckContext = {
  owner: Owner;
  stored: ReadonlyMap<string, SnapshotEntry>;
  failedFiles: ReadonlySet<string>;
  /** True for a resource that is in the store and stays there. */
  stays: (identity: string) => boolean;
};

/** Orders what is declared once, and rejects what stands in a failed file or depends on nothing. */
export function checkDeclared(declared: Declared, context: CheckContext): Checked {
  const nodes: { identity: string; dependsOn: string[]; desired: Desired }[] = [];
  for (const [identity, desired] of declared.single) {
    nodes.push({ identity, dependsOn: desired.dependsOn, desired });
  }
  const { order, cycles } = dependencyOrder(nodes);
  const circles = cycleProblems(cycles, declared.single);
  const exists = (identity: string): boolean =>
    declared.single.has(identity) || declared.several.has(identity) || context.stays(identity);
  const checked: Checked = { order, rejected: new Map(), problems: [] };
  for (const { identity, desired } of order) {
    if (desired.dependsOn.length === 0 && context.failedFiles.size === 0) continue;
    const problems = desired.dependsOn.length === 0 ? [] : unknownDependencies(desired, exists);
    const circle = circles.get(identity);
    if (circle) problems.push(circle);
    checked.problems.push(...problems);
    const reasons = [
      ...failedFile(desired, context.stored.get(identity), context),
      ...problems.map((problem) => `${problem.path}: ${problem.message}`),
      ...missingDependencies(desired, context, declared, checked.rejected),
    ];
    if (reasons.length > 0) checked.rejected.set(identity, reasons);
  }
  return checked;
}

function failedFile(
  desired: Desired,
  stored: SnapshotEntry | undefined,
  { failedFiles, owner }: CheckContext,
): string[] {
  const { file } = desired.place;
  if (failedFiles.has(file)) return [`${file} has problems, so nothing of it is applied`];
  const before = stored?.file;
  if (!stored || before === undefined || !failedFiles.has(before)) return [];
  if (!sameOwner(stored.owner, owner)) return [];
  return [`${before}, which declared it until now, has problems, so it can't be told which counts`];
}

// Without this, a resource would be created whose dependency was rejected and does not exist.
function missingDependencies(
  desired: Desired,
  { stays }: CheckContext,
  { several }: Declared,
  rejected: ReadonlyMap<string, string[]>,
): string[] {
  return desired.dependsOn
    .filter((name) => (rejected.has(name) || several.has(name)) && !stays(name))
    .map((name) => `depends on ${describeIdentity(name)}, which is not valid and not in the store`);
}
