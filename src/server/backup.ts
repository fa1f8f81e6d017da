import {
  copyFileSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { systemClock } from "../model/clock.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { Clock, Ids } from "../model/ports.ts";
import {
  readBackup,
  syncFile,
  writeBackup,
  type BackupFacts,
  type BackupFile,
} from "../store/sqlite/backup.ts";
import { guarded, toStoreError } from "../store/sqlite/errors.ts";
import { makeRestored, settleLog } from "../store/sqlite/restore.ts";
import { homeAt, prepareHome, type Home } from "./home.ts";
import { acquireLock } from "./lock.ts";
import { systemIds } from "./system.ts";

export type { BackupFacts };

/** A backup that was written. */
export type Backup = BackupFacts & { file: string; bytes: number };

/** A store that was put in place. */
export type Restored = BackupFacts & {
  /** Where the backup was read. */
  file: string;
  /** The new identity of the store. */
  newStoreId: string;
  /** Where the database that it replaced was put; absent where there was none. */
  kept?: string;
};

/**
 * Writes the store of a state folder, with the code that it names, into one new file. A server may go
 * on working meanwhile.
 * @throws NOT_FOUND where there is no store, USAGE where the file exists already
 */
export async function backup(
  folder: string,
  target: string,
  clock: Clock = systemClock,
): Promise<Backup> {
  const home = homeAt(folder);
  if (!existsSync(home.database)) {
    throw new PiWorkflowsError(
      "NOT_FOUND",
      `there is nothing to back up: ${home.path} has no store`,
    );
  }
  refuseExisting(target);
  const draft = `${target}.${process.pid}.partial`;
  mkdirSync(path.dirname(path.resolve(target)), { recursive: true });
  // What is in it is this user's alone, also while it is written.
  writeFileSync(draft, "", { mode: 0o600, flag: "wx" });
  try {
    const options = { filesOf: (digest: string) => filesOf(home, digest), now: clock.now() };
    const facts = await writeBackup(home.database, draft, options);
    refuseExisting(target);
    renameSync(draft, target);
    syncFile(path.dirname(path.resolve(target)));
    return { file: target, bytes: statSync(target).size, ...facts };
  } catch (thrown) {
    throw toStoreError(thrown);
  } finally {
    rmSync(draft, { force: true });
  }
}

function refuseExisting(target: string): void {
  if (!existsSync(target)) return;
  throw new PiWorkflowsError("USAGE", `${target} exists already`, {
    hint: "Name a new file; backups are never overwritten.",
  });
}

/** The bundle of a definition, and what a workflow says of itself. */
function filesOf(home: Home, digest: string): BackupFile[] {
  return [home.bundle(digest), home.workflow(digest)].flatMap((file) => {
    try {
      return [{ name: path.basename(file), body: readFileSync(file) }];
    } catch {
      return [];
    }
  });
}

/**
 * Puts the store of a backup in the place of a state folder's, which is kept beside it. At every moment
 * the one or the other is there, whole. No server may run.
 *
 * The restored store is behind the world: it looks before it does anything that it does not know to be
 * undone (E-12).
 * @throws INVALID_BACKUP, SCHEMA_TOO_NEW, SERVER_RUNNING
 */
export async function restore(
  folder: string,
  file: string,
  { clock = systemClock, ids = systemIds(clock) }: { clock?: Clock; ids?: Ids } = {},
): Promise<Restored> {
  const { facts, files } = guarded(() => readBackup(file));
  const home = homeAt(folder);
  prepareHome(home);
  const release = acquireLock(home);
  const draft = `${home.database}.restoring`;
  try {
    removeDatabase(draft);
    writeFileSync(draft, "", { mode: 0o600 });
    copyFileSync(file, draft, constants.COPYFILE_FICLONE);
    const { storeId } = await makeRestored(draft, { clock, ids });
    syncFile(draft);
    for (const { name, body } of files) putBundle(home, name, body);
    syncFile(home.bundles);
    const kept = keepOld(home, clock.now());
    // A log of another database beside it would be read as its own.
    for (const suffix of SIDECARS) rmSync(`${home.database}${suffix}`, { force: true });
    renameSync(draft, home.database);
    syncFile(home.path);
    return { ...facts, file, newStoreId: storeId, ...(kept === undefined ? {} : { kept }) };
  } finally {
    removeDatabase(draft);
    release();
  }
}

const SIDECARS = ["-wal", "-shm"];

function removeDatabase(file: string): void {
  for (const suffix of ["", ...SIDECARS]) rmSync(`${file}${suffix}`, { force: true });
}

/** Named by its digest, and checked by the backup: what is there already may be damaged. */
function putBundle(home: Home, name: string, body: Buffer): void {
  const file = path.join(home.bundles, name);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, body, { mode: 0o600 });
  syncFile(draft);
  renameSync(draft, file);
}

/** Copies the present database, with its log where that can't be settled; undefined where there is none. */
function keepOld(home: Home, now: number): string | undefined {
  if (!existsSync(home.database)) return undefined;
  const stamp = new Date(now).toISOString().replaceAll(/[:.]/g, "-");
  const kept = `${home.database}.before-restore-${stamp}`;
  const parts = settleLog(home.database) ? [""] : ["", "-wal"];
  for (const part of parts) {
    if (!existsSync(`${home.database}${part}`)) continue;
    copyFileSync(`${home.database}${part}`, `${kept}${part}`, constants.COPYFILE_FICLONE);
    syncFile(`${kept}${part}`);
  }
  return kept;
}
