import type { ResourceRef } from "../model/resource.ts";

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
