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

/** The one place where SQLite's errors become ours; anything else unknown becomes `INTERNAL`. */
export function toStoreError(thrown: unknown): PiWorkflowsError {
  if (!(thrown instanceof Database.SqliteError)) return toPiWorkflowsError(thrown);
  const known = CODES.find(([prefix]) => thrown.code.startsWith(prefix));
  if (!known) return toPiWorkflowsError(thrown);
  const [, code, what] = known;
  return new PiWorkflowsError(code, `${what} (${thrown.code}: ${thrown.message})`, {
    details: { sqlite: thrown.code },
    cause: thrown,
  });
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
