import type { ResourceRef } from "../model/resource.ts";
import type { RunSummary } from "../model/run.ts";

/** A resource that may have changed. */
export type Touched = ResourceRef & { uid: string };

/**
 * Tells open streams that there is something to read. It carries no data but names: readers ask the
 * store, and a lost or doubled call costs nothing but time.
 */
export type Changes = {
  touch(changed: readonly Touched[]): void;
  /** Calls `listener` for every touch until the function returned is called. */
  subscribe(listener: (changed: readonly Touched[]) => void): () => void;
};

/** The resource that asked for a run: with the run's state changes what it shows, or whether it is. */
export function parentOf({ project, parent }: Pick<RunSummary, "project" | "parent">): Touched[] {
  if (!parent) return [];
  const { uid, resourceManager, key } = parent;
  return [{ uid, project, resourceManager, key }];
}

export function createChanges(): Changes {
  const listeners = new Set<(changed: readonly Touched[]) => void>();
  return {
    touch(changed) {
      for (const listener of listeners) listener(changed);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
