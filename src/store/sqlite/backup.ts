import { hash } from "node:crypto";
import { closeSync, fsyncSync, openSync } from "node:fs";
import Database from "better-sqlite3";
import { PiWorkflowsError } from "../../model/errors.ts";
import { openQueryOnly, requireSqlite, sqliteVersion } from "./database.ts";
import { checkSchema, schemaVersion } from "./migrate.ts";

/** What a backup says of itself. */
export type BackupFacts = {
  /** Epoch milliseconds; nothing later is in it. */
  takenAt: number;
  /** Of the store that it is a copy of. */
  storeId: string;
  schemaVersion: number;
  /** Live ones of resource managers. */
  resources: number;
  /** Runs that have not ended. */
  openRuns: number;
  /** Effects of which it is not known whether they happened. */
  openEffects: number;
  /** Files of definitions that the store names. */
  files: number;
  /** Digests of definitions of which no file was found. */
  missing: string[];
};

/** A file that belongs to a store and is not in its database, by name. */
export type BackupFile = { name: string; body: Buffer };

/** Finds the files of a definition; none where it was handed over as an object. */
export type FilesOf = (digest: string) => BackupFile[];

// Beside the tables of the store, in the same file: a backup is one file, and SQLite checks it whole.
const TABLES = `
CREATE TABLE backup (id INTEGER PRIMARY KEY CHECK (id = 1), facts TEXT NOT NULL) STRICT;
CREATE TABLE backup_file (
  name TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL,
  body BLOB NOT NULL
) STRICT, WITHOUT ROWID;
`;

/**
 * Copies a store into a new file, consistent though a server goes on writing: everything is read in
 * one transaction, which keeps no writer waiting. The file is on the disk when it resolves.
 * @throws STORE_CORRUPT, SCHEMA_TOO_NEW, UNSUPPORTED
 */
export async function writeBackup(
  source: string,
  target: string,
  { filesOf, now }: { filesOf: FilesOf; now: number },
): Promise<BackupFacts> {
  const database = openQueryOnly(source);
  try {
    // All pages in one step: SQLite begins again where another process writes between two.
    await database.backup(target, { progress: () => ALL_PAGES });
  } finally {
    database.close();
  }
  const copy = new Database(target);
  try {
    // Without a log beside it.
    copy.pragma("journal_mode = DELETE");
    requireSound(copy, "The copy of the database");
    copy.exec(TABLES);
    const facts = copy.transaction(() => complete(copy, filesOf, now))();
    return facts;
  } finally {
    copy.close();
    syncFile(target);
  }
}

const ALL_PAGES = 0x7fff_ffff;

function complete(copy: Database.Database, filesOf: FilesOf, now: number): BackupFacts {
  const insert = copy.prepare(
    "INSERT OR IGNORE INTO backup_file (name, sha256, body) VALUES (?, ?, ?)",
  );
  const digests = namedDigests(copy);
  const missing: string[] = [];
  for (const digest of digests) {
    const files = filesOf(digest);
    if (files.length === 0) missing.push(digest);
    for (const { name, body } of files) insert.run(name, sha256(body), body);
  }
  const count = (sql: string): number => copy.prepare(sql).pluck().get() as number;
  const facts: BackupFacts = {
    takenAt: now,
    storeId: copy.prepare("SELECT store_id FROM store_state").pluck().get() as string,
    schemaVersion: schemaVersion(copy),
    resources: count("SELECT count(*) FROM resource WHERE state = 'live'") - count(LIVE_RUNS(copy)),
    openRuns: count(OPEN_RUNS(copy)),
    openEffects: count("SELECT count(*) FROM effect WHERE state IN ('pending', 'indeterminate')"),
    files: count("SELECT count(*) FROM backup_file"),
    missing,
  };
  copy.prepare("INSERT INTO backup (id, facts) VALUES (1, ?)").run(JSON.stringify(facts));
  return facts;
}

// Schemas before version 4 have no runs.
const NONE = "SELECT 0";
const LIVE_RUNS = (copy: Database.Database): string =>
  hasRuns(copy)
    ? "SELECT count(*) FROM run u JOIN resource r ON r.id = u.resource_id WHERE r.state = 'live'"
    : NONE;
const OPEN_RUNS = (copy: Database.Database): string =>
  hasRuns(copy) ? "SELECT count(*) FROM run WHERE ended_at IS NULL" : NONE;

function hasRuns(copy: Database.Database): boolean {
  return copy.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'run'").get() !== undefined;
}

/** Of accepted definitions, but those that a program hands over, and of runs that have not ended. */
function namedDigests(copy: Database.Database): string[] {
  const ofRuns = hasRuns(copy) ? "UNION SELECT digest FROM run WHERE ended_at IS NULL" : "";
  return copy
    .prepare(
      `SELECT digest FROM manager WHERE digest IS NOT NULL
         AND ifnull(json_extract(definition, '$.scope'), '') <> 'hosted' ${ofRuns}`,
    )
    .pluck()
    .all() as string[];
}

/**
 * Reads a backup and checks all of it; changes nothing.
 * @throws INVALID_BACKUP, SCHEMA_TOO_NEW
 */
export function readBackup(file: string): { facts: BackupFacts; files: BackupFile[] } {
  let database: Database.Database;
  try {
    database = new Database(file, { readonly: true, fileMustExist: true });
  } catch (cause) {
    throw invalid(file, cause instanceof Error ? cause.message : String(cause), cause);
  }
  try {
    requireSqlite(sqliteVersion(database));
    return checked(database, file);
  } catch (cause) {
    if (cause instanceof PiWorkflowsError && cause.code !== "STORE_CORRUPT") throw cause;
    throw invalid(file, cause instanceof Error ? cause.message : String(cause), cause);
  } finally {
    database.close();
  }
}

function checked(
  database: Database.Database,
  file: string,
): { facts: BackupFacts; files: BackupFile[] } {
  checkSchema(database);
  const isBackup = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'backup'").get();
  if (!isBackup) throw invalid(file, "it was not made by `pi-workflows backup`");
  requireSound(database, file);
  const facts = database.prepare("SELECT facts FROM backup").pluck().get();
  if (typeof facts !== "string") throw invalid(file, "it was not finished");
  const rows = database
    .prepare("SELECT name, sha256, body FROM backup_file ORDER BY name")
    .all() as (BackupFile & { sha256: string })[];
  for (const { name, sha256: sum, body } of rows) {
    // A name is made a path: none may lead elsewhere.
    if (!/^[0-9a-f]{64}\.(?:mjs|json)$/.test(name) || sha256(body) !== sum) {
      throw invalid(file, `its file ${JSON.stringify(name)} is not as it was written`);
    }
  }
  return {
    facts: JSON.parse(facts) as BackupFacts,
    files: rows.map(({ name, body }) => ({ name, body })),
  };
}

/** Makes a copy of a backup what a store is: without the tables that only backups have. */
export function removeBackupTables(database: Database.Database): void {
  database.exec("DROP TABLE backup; DROP TABLE backup_file;");
}

/** @throws STORE_CORRUPT */
function requireSound(database: Database.Database, what: string): void {
  const found = database.pragma("integrity_check(1)", { simple: true });
  if (found === "ok") return;
  throw new PiWorkflowsError("STORE_CORRUPT", `${what} is damaged: ${String(found)}`);
}

function invalid(file: string, why: string, cause?: unknown): PiWorkflowsError {
  return new PiWorkflowsError("INVALID_BACKUP", `${file} can't be restored: ${why}`, { cause });
}

function sha256(body: Buffer): string {
  return hash("sha256", body, "hex");
}

/** What was written to a file is on the disk when it returns. */
export function syncFile(file: string): void {
  const descriptor = openSync(file, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
