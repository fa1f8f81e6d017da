import { existsSync, watch, type FSWatcher } from "node:fs";
import path from "node:path";
import type { Repository } from "./repository.ts";

/** Hints that a branch may have moved; they carry nothing and may be missing or too many. */
export type BranchWatch = {
  /** Why no folder could be watched, so that only sweeps notice; undefined while events arrive. */
  readonly problem: string | undefined;
  close(): void;
};

/**
 * Watches the places where git keeps `branch`: its loose ref's folder (or the nearest one that
 * exists), `packed-refs`, and the reftable stack. Folders are watched, not files, because git
 * replaces files by renaming.
 */
export function watchBranch(
  repository: Repository,
  branch: string,
  onHint: () => void,
): BranchWatch {
  const watchers = new Map<string, FSWatcher>();
  let failure: string | undefined;

  const arm = () => {
    const wanted = foldersOf(repository, branch);
    for (const [folder, watcher] of watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      watchers.delete(folder);
    }
    for (const folder of wanted) {
      if (!watchers.has(folder)) add(folder);
    }
  };
  const hint = () => {
    // The branch's folder may have come or gone: feature/x needs refs/heads/feature.
    arm();
    onHint();
  };
  const add = (folder: string) => {
    try {
      const watcher = watch(folder, { persistent: false }, hint);
      watcher.on("error", (error) => {
        failure = error.message;
        watcher.close();
        watchers.delete(folder);
      });
      watchers.set(folder, watcher);
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
  };

  arm();
  return {
    get problem() {
      return watchers.size > 0 ? undefined : (failure ?? "there is nothing to watch");
    },
    close: () => {
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}

function foldersOf(repository: Repository, branch: string): Set<string> {
  const folders = new Set<string>();
  const reftable = path.join(repository.commonDir, "reftable");
  if (existsSync(reftable)) folders.add(reftable);
  folders.add(repository.commonDir);
  const heads = path.join(repository.commonDir, "refs/heads");
  let folder = path.dirname(path.join(heads, branch));
  while (!existsSync(folder) && folder.length > repository.commonDir.length) {
    folder = path.dirname(folder);
  }
  folders.add(folder);
  return folders;
}
