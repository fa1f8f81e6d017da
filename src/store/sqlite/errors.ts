import Database from "better-sqlite3";
import { PiWorkflowsError, toPiWorkflowsError, type ErrorCode } from "../../model/errors.ts";

// By prefix, so that the extended codes (SQLITE_IOERR_FSYNC, SQLITE_BUSY_SNAPSHOT) are covered.
const CODES: readonly (readonly [prefix: string, code: ErrorCode, what: string])[] = [
  ["SQLITE_FULL", "STORE_FULL", "the disk is full"],
  ["SQLITE_IOERR", "STORE_FULL", "the disk can't be read or written"],
  ["SQLITE_BUSY", "STORE_BUSY", "another process is writing to the database"],
  ["SQLITE_LOCKED", "STORE_BUSY", "the database is locked"],
  ["SQLITE_CORRUPT", "STORE_CORRUPT", "the database is damaged"],
  ["SQLITE_NOTADB", "STORE_CORRUPT", "the file is not a database"],
  ["SQLITE_CANTOPEN", "UNSUPPORTED", "the database can't be opened"],
  ["SQLITE_READONLY", "UNSUPPORTED", "the database can't be written to"],
];

/** What a file beside the database says, by its errno: the same as SQLite says of the database. */
const ERRNOS: Readonly<Record<string, readonly [code: ErrorCode, what: string]>> = {
  ENOSPC: ["STORE_FULL", "the disk is full"],
  EDQUOT: ["STORE_FULL", "there is no quota left"],
  EIO: ["STORE_FULL", "the disk can't be read or written"],
  EROFS: ["STORE_FULL", "the disk can't be written to"],
  EACCES: ["UNSUPPORTED", "a file can't be used"],
  EPERM: ["UNSUPPORTED", "a file can't be used"],
};

/**
 * The one place where errors of SQLite, and of files beside its database, become ours; anything else
 * unknown becomes `INTERNAL`.
 */
export function toStoreError(thrown: unknown): PiWorkflowsError {
  if (!(thrown instanceof Database.SqliteError))
    return ofFile(thrown) ?? toPiWorkflowsError(thrown);
  const known = CODES.find(([prefix]) => thrown.code.startsWith(prefix));
  if (!known) return toPiWorkflowsError(thrown);
  const [, code, what] = known;
  return new PiWorkflowsError(code, `${what} (${thrown.code}: ${thrown.message})`, {
    details: { sqlite: thrown.code },
    cause: thrown,
  });
}

function ofFile(thrown: unknown): PiWorkflowsError | undefined {
  const errno = thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined;
  const known = errno === undefined ? undefined : ERRNOS[errno];
  if (!known) return undefined;
  const [code, what] = known;
  return new PiWorkflowsError(code, `${what} (${(thrown as Error).message})`, { cause: thrown });
}

/** Runs `work` and throws whatever goes wrong as one of our errors, which `seen` sees first. */
export function guarded<Result>(
  work: () => Result,
  seen: (error: PiWorkflowsError) => void = () => undefined,
): Result {
  try {
    return work();
  } catch (thrown) {
    const error = toStoreError(thrown);
    seen(error);
    throw error;
  }
}

/** A pass that writes without holding its claim any more (F-1). */
export function leaseLost(uid: string): PiWorkflowsError {
  return new PiWorkflowsError("LEASE_LOST", `the claim on resource ${uid} is no longer held`, {
    details: { uid },
  });
}
