import { chmodSync } from "node:fs";
import Database from "better-sqlite3";
import { PiWorkflowsError } from "../model/errors.ts";
import { readInfo, type Home } from "./home.ts";

/**
 * Makes this process the only server of a state folder until the function returned is called or the
 * process ends. The lock is the operating system's (an exclusive SQLite transaction that is never
 * committed), so a killed server leaves none behind and a reused pid means nothing (F-8).
 * @throws SERVER_RUNNING
 */
export function acquireLock(home: Home): () => void {
  // No waiting: a second server is told at once.
  const file = new Database(home.lock, { timeout: 0 });
  try {
    chmodSync(home.lock, 0o600);
    file.pragma("locking_mode = EXCLUSIVE");
    // Nothing is ever written; a journal in a file would only be left behind by a kill.
    file.pragma("journal_mode = MEMORY");
    file.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    file.close();
    throw isBusy(cause) ? runningError(home, cause) : unusable(home, cause);
  }
  return () => file.close();
}

function isBusy(thrown: unknown): boolean {
  return thrown instanceof Database.SqliteError && /^SQLITE_(?:BUSY|LOCKED)/.test(thrown.code);
}

function runningError(home: Home, cause: unknown): PiWorkflowsError {
  const owner = readInfo(home);
  const who = owner ? `Server ${owner.pid} (version ${owner.version})` : "Another server";
  return new PiWorkflowsError("SERVER_RUNNING", `${who} owns ${home.path}`, { cause });
}

function unusable(home: Home, cause: unknown): PiWorkflowsError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new PiWorkflowsError("UNSUPPORTED", `${home.lock} can't be locked: ${reason}`, {
    hint: "Remove the file if no server runs, and keep the state folder on a local disk.",
    cause,
  });
}
