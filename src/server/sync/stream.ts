import type { SyncItem, SyncStatus } from "../protocol.ts";

/** What a stream of syncs reads from. */
export type SyncFeed = {
  status(project?: string): SyncStatus[];
  /** Calls `listener` with the project of every set that changes, until what it returns is called. */
  subscribe(listener: (project: string) => void): () => void;
};

/**
 * Sync sets: all of them, then `listed`, then each as it changes. A slow reader is told the latest
 * state once.
 */
export async function* streamSync(
  feed: SyncFeed,
  { project }: { project?: string },
  signal: AbortSignal,
): AsyncGenerator<SyncItem> {
  const changed = new Set<string>();
  let wake = (): void => {};
  const unsubscribe = feed.subscribe((name) => {
    if (project !== undefined && project !== name) return;
    changed.add(name);
    wake();
  });
  const onAbort = (): void => wake();
  signal.addEventListener("abort", onAbort);
  try {
    for (const status of feed.status(project)) yield { kind: "present", status };
    yield { kind: "listed" };
    while (!signal.aborted) {
      for (const name of changed) {
        changed.delete(name);
        const [status] = feed.status(name);
        yield status ? { kind: "present", status } : { kind: "removed", project: name };
      }
      if (changed.size > 0 || signal.aborted) continue;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    unsubscribe();
    signal.removeEventListener("abort", onAbort);
  }
}
