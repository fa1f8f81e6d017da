import { existsSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { PiWorkflowsError } from "../../model/errors.ts";
import { checkSchema, migrate } from "./migrate.ts";

// SQLite up to 3.51.2 can corrupt a WAL database when two connections write and checkpoint at the
// same time (sqlite.org/wal.html, "The WAL-Reset Bug").
const OLDEST_SQLITE = "3.51.3";

// The f_type of statfs(2) for filesystems on which the shared memory of WAL does not work.
const NETWORK_FILESYSTEMS: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB",
  0x01021997: "9P (a Windows folder seen from WSL)",
  0x5346414f: "AFS",
  0x73757245: "Coda",
  0x00c36400: "Ceph",
  0x0bd00bd0: "Lustre",
  0x786f4256: "a VirtualBox shared folder",
};

/** How long a statement waits for another process's lock. It blocks the event loop, so not long. */
const BUSY_TIMEOUT_MS = 2_000;

/** WAL bytes kept after a checkpoint; without a limit the file stays at its largest size. */
const WAL_KEPT_BYTES = 16 * 1024 * 1024;

const CACHE_KIB = 16 * 1024;

/**
 * Opens the database for the one process that writes, creating or migrating it where needed.
 * @throws UNSUPPORTED, STORE_CORRUPT, SCHEMA_TOO_NEW, STORE_BUSY
 */
export function openDatabase(file: string): Database.Database {
  refuseNetworkFolder(path.dirname(file));
  const isSuspect = hasWal(file) || existsSync(damageNote(file));
  const database = new Database(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    requireSqlite(sqliteVersion(database));
    checkSchema(database);
    configure(database);
    if (isSuspect) requireSound(database);
    migrate(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens an existing database query-only, beside a running server or without one. */
export function openQueryOnly(file: string): Database.Database {
  const database = new Database(file, {
    readonly: true,
    fileMustExist: true,
    timeout: BUSY_TIMEOUT_MS,
  });
  try {
    requireSqlite(sqliteVersion(database));
    checkSchema(database);
    // A second fence: nothing, not even a mistake of ours, writes through this connection.
    database.pragma("query_only = ON");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

export function sqliteVersion(database: Database.Database): string {
  return database.prepare("SELECT sqlite_version()").pluck().get() as string;
}

/** @throws UNSUPPORTED where `version` is older than the one that is safe. */
export function requireSqlite(version: string): void {
  if (compareVersions(version, OLDEST_SQLITE) >= 0) return;
  throw new PiWorkflowsError(
    "UNSUPPORTED",
    `SQLite ${version} is older than ${OLDEST_SQLITE}, before which it can damage the database`,
    { hint: "Install better-sqlite3 12.8.0 or later." },
  );
}

// Not by localeCompare: loading the collation takes 5 ms, a tenth of a command that reads.
function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split(".").map(Number));
  const differing = b?.findIndex((part, index) => part !== a?.[index]) ?? -1;
  return (a?.[differing] ?? 0) - (b?.[differing] ?? 0);
}

/** @throws UNSUPPORTED where the folder's filesystem can't hold a WAL database. */
export function refuseNetworkFolder(folder: string, typeOf = filesystemType): void {
  // macOS and others number filesystems by load order, so the table says nothing there.
  const name = process.platform === "linux" ? NETWORK_FILESYSTEMS[typeOf(folder)] : undefined;
  if (name === undefined) return;
  throw new PiWorkflowsError(
    "UNSUPPORTED",
    `${folder} is on ${name}, where SQLite's locks and shared memory do not work`,
    { hint: "Set PI_WORKFLOWS_HOME to a folder on a local disk." },
  );
}

function filesystemType(folder: string): number {
  return statfsSync(folder).type;
}

function configure(database: Database.Database): void {
  // Readers never block the writer and one fsync commits. It answers the mode that it reached.
  const mode = database.pragma("journal_mode = WAL", { simple: true });
  if (mode !== "wal") {
    throw new PiWorkflowsError("UNSUPPORTED", `${database.name} can't use write-ahead logging`, {
      hint: "Set PI_WORKFLOWS_HOME to a folder on a local disk.",
    });
  }
  // What is acknowledged survives a power cut. better-sqlite3's default in WAL mode is NORMAL,
  // which is not durable and shows as FULL until the first write.
  database.pragma("synchronous = FULL");
  if (process.platform === "darwin") {
    // fsync there does not flush the drive's cache.
    database.pragma("fullfsync = ON");
    database.pragma("checkpoint_fullfsync = ON");
  }
  database.pragma(`journal_size_limit = ${WAL_KEPT_BYTES}`);
  // Holds the queue and the latest rows of 10,000 resources; the default of 2 MiB reads each claimed
  // resource from the file again.
  database.pragma(`cache_size = -${CACHE_KIB}`);
  database.pragma("foreign_keys = ON");
  // The page copies of savepoints stay in memory, not in temporary files.
  database.pragma("temp_store = MEMORY");
  // A damaged schema can't run functions of ours.
  database.pragma("trusted_schema = OFF");
}

/**
 * Call after the connection's first write, before which SQLite answers what was asked for.
 * @throws UNSUPPORTED where commits would not be durable.
 */
export function assertDurable(database: Database.Database): void {
  const synchronous = database.pragma("synchronous", { simple: true });
  if (synchronous !== 2) {
    throw new PiWorkflowsError(
      "UNSUPPORTED",
      `SQLite runs with synchronous=${String(synchronous)}, so commits would not be durable`,
    );
  }
}

// `stat` opens no descriptor: closing one on these files would drop SQLite's locks.
function hasWal(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function damageNote(file: string): string {
  return `${file}-damaged`;
}

/** Has the next start look at the whole database, as after an unclean end (P-7). */
export function noteDamage(file: string): void {
  try {
    writeFileSync(damageNote(file), "", { mode: 0o600 });
  } catch {
    // What is damaged may lie on a disk that takes nothing more; the log says it too.
  }
}

// After an unclean end, or where damage was met: it reads the whole file.
function requireSound(database: Database.Database): void {
  const found = database.pragma("quick_check(1)", { simple: true });
  if (found === "ok") {
    rmSync(damageNote(database.name), { force: true });
    return;
  }
  throw new PiWorkflowsError("STORE_CORRUPT", `${database.name} is damaged: ${String(found)}`);
}
