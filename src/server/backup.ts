import {
  copyFileSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
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
import { startTimeOf } from "../runner/process-table.ts";
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
  finishKilled(home);
  if (!existsSync(home.database)) {
    throw new PiWorkflowsError(
      "NOT_FOUND",
      `there is nothing to back up: ${home.path} has no store`,
    );
  }
  refuseExisting(target);
  const draft = `${target}.${process.pid}.partial`;
  let isNamed = false;
  try {
    mkdirSync(path.dirname(path.resolve(target)), { recursive: true });
    removeLeft(target);
    // What is in it is this user's alone, also while it is written.
    writeFileSync(draft, "", { mode: 0o600, flag: "wx" });
    const options = { filesOf: (digest: string) => filesOf(home, digest), now: clock.now() };
    const facts = await writeBackup(home.database, draft, options);
    refuseExisting(target);
    renameSync(draft, target);
    isNamed = true;
    syncFile(path.dirname(path.resolve(target)));
    return { file: target, bytes: statSync(target).size, ...facts };
  } catch (thrown) {
    // One that may be gone after a power cut is none.
    if (isNamed) attempt(() => rmSync(target));
    attempt(() => removeLeft(target));
    throw toStoreError(thrown);
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

/** Removes what backups into this file left that were killed: their processes are gone, or this one. */
function removeLeft(target: string): void {
  const folder = path.dirname(path.resolve(target));
  const ours = `${path.basename(target)}.`;
  for (const name of readdirSync(folder)) {
    const pid = /^(\d+)\.partial(?:-\w+)?$/.exec(name.slice(ours.length))?.[1];
    if (!name.startsWith(ours) || pid === undefined) continue;
    if (Number(pid) !== process.pid && startTimeOf(Number(pid)) !== undefined) continue;
    rmSync(path.join(folder, name), { force: true });
  }
}

/**
 * Puts the store of a backup in the place of a state folder's, which is kept beside it. No server may
 * run. The renaming of what was made to `home.restored` decides: killed before it, nothing was changed,
 * and killed after it, the next start ends the restore.
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
  const { draft } = draftsOf(home);
  let isDecided = false;
  try {
    finishRestore(home);
    writeFileSync(draft, "", { mode: 0o600 });
    copyFileSync(file, draft, constants.COPYFILE_FICLONE);
    const { storeId } = await makeRestored(draft, { clock, ids });
    syncFile(draft);
    for (const { name, body } of files) putBundle(home, name, body);
    syncFile(home.bundles);
    const kept = keepOld(home, clock.now());
    // Before what decides: a loss of power must not leave that alone.
    syncFile(home.path);
    renameSync(draft, home.restored);
    isDecided = true;
    syncFile(home.path);
    finishRestore(home);
    return { ...facts, file, newStoreId: storeId, ...(kept === undefined ? {} : { kept }) };
  } catch (thrown) {
    attempt(() => removeDrafts(home));
    throw isDecided ? decided(thrown) : toStoreError(thrown);
  } finally {
    release();
  }
}

/** It is too late to change nothing. */
function decided(thrown: unknown): PiWorkflowsError {
  const { code, message } = toStoreError(thrown);
  return new PiWorkflowsError(code, `the restore is decided, but could not be ended: ${message}`, {
    hint: "The next start ends it: `pi-workflows server start`.",
    cause: thrown,
  });
}

/** For what the next start does as well, where this one can't. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // What made it fail is told already.
  }
}

/**
 * Puts a store in place whose restore was killed after it was decided, and removes what one left that
 * was not; true where a store was put in place. For whoever holds the lock, before the store is opened.
 */
export function finishRestore(home: Home): boolean {
  removeDrafts(home);
  if (!existsSync(home.restored)) return false;
  // A log or journal of another database beside it would be taken for its own.
  for (const suffix of SIDECARS) rmSync(`${home.database}${suffix}`, { force: true });
  syncFile(home.path);
  renameSync(home.restored, home.database);
  syncFile(home.path);
  return true;
}

/** Nobody else does so while no server is started. */
function finishKilled(home: Home): void {
  if (!existsSync(home.restored)) return;
  const release = acquireLock(home);
  try {
    finishRestore(home);
  } finally {
    release();
  }
}

/** Whether a restore is under way, or was killed. */
export function isRestoring(home: Home): boolean {
  return [home.restored, draftsOf(home).draft].some((file) => existsSync(file));
}

const SIDECARS = ["-wal", "-journal", "-shm"];

/** What a restore makes before it is decided: the new store, and the copy of the old one. */
function draftsOf({ database }: Home): { draft: string; keeping: string } {
  return { draft: `${database}.restoring`, keeping: `${database}.keeping` };
}

function removeDrafts(home: Home): void {
  for (const file of Object.values(draftsOf(home))) {
    for (const suffix of ["", ...SIDECARS]) rmSync(`${file}${suffix}`, { force: true });
  }
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
  const { keeping } = draftsOf(home);
  const parts = settleLog(home.database) ? [""] : ["-wal", "-journal", ""];
  const there = parts.filter((part) => existsSync(`${home.database}${part}`));
  for (const part of there) {
    copyFileSync(`${home.database}${part}`, `${keeping}${part}`, constants.COPYFILE_FICLONE);
    syncFile(`${keeping}${part}`);
  }
  // The log first: what has the name of a database is all of it.
  for (const part of there) renameSync(`${keeping}${part}`, `${kept}${part}`);
  return kept;
}
