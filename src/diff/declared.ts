import type { SnapshotEntry } from "../model/batch.ts";
import type { Desired, Place, Problem } from "../model/manifest.ts";
import { describeIdentity, identityOf } from "./identity.ts";

/** What the files declare, by identity. */
export type Declared = {
  /** One manifest per identity. */
  single: Map<string, Desired>;
  /** Identities that several places claim, in the order of the places. */
  several: Map<string, Desired[]>;
};

/** Sorts what was loaded by identity. */
export function declare(desired: readonly Desired[]): Declared {
  const single = new Map<string, Desired>();
  const several = new Map<string, Desired[]>();
  for (const item of desired) {
    const identity = identityOf(item.resourceManager, item.key);
    const others = several.get(identity);
    const first = single.get(identity);
    if (others) others.push(item);
    else if (first) several.set(identity, [first, item]);
    else single.set(identity, item);
  }
  for (const [identity, items] of several) {
    single.delete(identity);
    items.sort((a, b) => comparePlaces(a.place, b.place));
  }
  return { single, several };
}

/** One problem at each place that claims an identity which another place claims too. */
export function duplicateProblems({ several }: Declared): Problem[] {
  return [...several].flatMap(([identity, items]) =>
    items.map((item) => {
      const others = items.filter((other) => other !== item).map((other) => at(other.place));
      return problemAt(
        item.place,
        "key",
        `${describeIdentity(identity)} is also declared at ${others.join(", ")}; declare it once`,
      );
    }),
  );
}

/** Names in `dependsOn` that stand for nothing that is declared or stays in the store. */
export function unknownDependencies(
  desired: Desired,
  exists: (identity: string) => boolean,
): Problem[] {
  return desired.dependsOn.flatMap((name, index) =>
    exists(name)
      ? []
      : [
          problemAt(
            desired.place,
            `dependsOn[${index}]`,
            `no resource ${JSON.stringify(name)} is declared or in the store; ` +
              "write MANAGER/KEY of one that is",
          ),
        ],
  );
}

/** One problem at each member of a circle of dependencies. */
export function cycleProblems(
  cycles: readonly string[][],
  single: ReadonlyMap<string, Desired>,
): Map<string, Problem> {
  const problems = new Map<string, Problem>();
  for (const cycle of cycles) {
    for (const identity of cycle) {
      const desired = single.get(identity);
      if (!desired) continue;
      const message = `these depend on each other in a circle: ${cycle.join(", ")}`;
      problems.set(identity, problemAt(desired.place, "dependsOn", message));
    }
  }
  return problems;
}

/** By file, line, column, path and message, so that plans list problems in one order. */
export function compareProblems(a: Problem, b: Problem): number {
  return comparePlaces(a, b) || compareTexts(a.path, b.path) || compareTexts(a.message, b.message);
}

/** Live resources by identity. */
export function storedByIdentity(resources: readonly SnapshotEntry[]): Map<string, SnapshotEntry> {
  const stored = new Map<string, SnapshotEntry>();
  for (const entry of resources) stored.set(identityOf(entry.manager, entry.key), entry);
  return stored;
}

/** `file:line:column` of a place. */
export function at({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

function comparePlaces(a: Place, b: Place): number {
  return compareTexts(a.file, b.file) || a.line - b.line || a.column - b.column;
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function problemAt({ file, line, column }: Place, path: string, message: string): Problem {
  return { file, line, column, path, message };
}
