import { chmodSync, type FSWatcher, readFileSync, statfsSync, statSync, watch } from "node:fs";

/**
 * Hints that something in some folders may have changed; they may be missing or too many. Node's own
 * watches of folders, because hints are all that is asked for: with 10,000 files chokidar 5 takes
 * 15 to 110 MB and reads the whole folder for each event (150 ms), where these take nothing that
 * can be measured. New folders are told by the scan that a hint leads to.
 */
export type FolderHints = {
  /** Watches these folders and no others. True where one is watched that was not before. */
  watch(folders: Iterable<string>): boolean;
  /** Whether events of `folder` arrive at all; `false` also where it can't be found out. */
  probe(folder: string): Promise<boolean>;
  /** Why some or all events do not arrive, with the limit to raise; undefined while they do. */
  readonly problem: string | undefined;
  close(): void;
};

/** How `node:fs` watches; tests give their own. */
export type WatchFolder = (
  folder: string,
  onEvent: (event: string, name: string | null) => void,
) => Pick<FSWatcher, "close" | "on">;

const watchFolder: WatchFolder = (folder, onEvent) => watch(folder, { persistent: false }, onEvent);

type Watched = {
  watcher: Pick<FSWatcher, "close">;
  identity: string;
  /** Why events from here are not all there are. */
  network: string | undefined;
};

/** Begins to watch nothing. `onHint` is told the folder and, mostly, a name in it. */
export function folderHints(
  onHint: (folder: string, name: string | null) => void,
  watchOne: WatchFolder = watchFolder,
): FolderHints {
  const watched = new Map<string, Watched>();
  const probes = new Set<(folder: string | undefined) => void>();
  let failure: string | undefined;

  const drop = (folder: string): void => {
    watched.get(folder)?.watcher.close();
    watched.delete(folder);
  };
  const add = (folder: string, identity: string): boolean => {
    try {
      const watcher = watchOne(folder, (_event, name) => {
        for (const probe of probes) probe(folder);
        onHint(folder, name);
      });
      watcher.on("error", (error: NodeJS.ErrnoException) => {
        failure = reasonOf(error);
        drop(folder);
      });
      watched.set(folder, { watcher, identity, network: networkOf(folder) });
      return true;
    } catch (thrown) {
      failure ??= reasonOf(thrown as NodeJS.ErrnoException);
      return false;
    }
  };
  return {
    watch(folders) {
      const wanted = new Map([...folders].map((folder) => [folder, identityOf(folder)]));
      for (const folder of watched.keys()) if (!wanted.has(folder)) drop(folder);
      failure = undefined;
      let isMore = false;
      for (const [folder, identity] of wanted) {
        const known = watched.get(folder);
        // A folder that was moved away keeps its watch, and another may be in its place.
        if (known !== undefined && known.identity !== identity) drop(folder);
        if (identity === undefined || watched.has(folder)) continue;
        isMore = add(folder, identity) || isMore;
      }
      return isMore;
    },
    probe: (folder) => probe(folder, probes),
    get problem() {
      if (failure !== undefined) return failure;
      for (const { network } of watched.values()) if (network !== undefined) return network;
      return undefined;
    },
    close() {
      for (const folder of watched.keys()) drop(folder);
      for (const probe of probes) probe(undefined);
    },
  };
}

function identityOf(folder: string): string | undefined {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() === true ? `${stats.dev}:${stats.ino}` : undefined;
}

/** How long an event may take to arrive where events do. */
const PROBE_MS = 500;

/** Gives a folder the mode that it has, which changes nothing that anybody reads, and is an event. */
async function probe(
  folder: string,
  probes: Set<(folder: string | undefined) => void>,
): Promise<boolean> {
  let end = (_from: string | undefined): void => {};
  let timer: NodeJS.Timeout | undefined;
  const answer = new Promise<boolean>((resolve) => {
    end = (from) => {
      if (from === folder || from === undefined) resolve(from === folder);
    };
    timer = setTimeout(() => resolve(false), PROBE_MS);
  });
  probes.add(end);
  try {
    chmodSync(folder, statSync(folder).mode & 0o7777);
    return await answer;
  } catch {
    // Not ours to touch.
    return false;
  } finally {
    clearTimeout(timer);
    probes.delete(end);
  }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ENOSPC") {
    const limit = kernelLimit("max_user_watches");
    return `the kernel watches no more folders: fs.inotify.max_user_watches${limit} is used up; raise it with sysctl`;
  }
  if (code === "EMFILE" || code === "ENFILE") {
    const limit = kernelLimit("max_user_instances");
    return `no more watches can be opened: fs.inotify.max_user_instances${limit} or the limit of open files (ulimit -n) is used up`;
  }
  return `a folder can't be watched: ${message}`;
}

function kernelLimit(name: string): string {
  try {
    return ` (${readFileSync(`/proc/sys/fs/inotify/${name}`, "utf8").trim()})`;
  } catch {
    // Not Linux.
    return "";
  }
}

// Magic numbers of statfs(2) for file systems where others' changes send no events.
const NETWORKS = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9p"],
  [0x65735546, "FUSE"],
  [0x786f4256, "a VirtualBox shared folder"],
  [0x5346414f, "AFS"],
  [0x00c36400, "Ceph"],
]);

function networkOf(folder: string): string | undefined {
  try {
    const name = NETWORKS.get(statfsSync(folder).type);
    return name && `${folder} is on ${name}, where changes made elsewhere send no events`;
  } catch {
    return undefined;
  }
}
