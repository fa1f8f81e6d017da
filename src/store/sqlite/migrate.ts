import type Database from "better-sqlite3";
import { PiWorkflowsError } from "../../model/errors.ts";
import { INIT } from "./migrations/0001-init.ts";
import { SYNC } from "./migrations/0002-sync.ts";
import { SOURCES } from "./migrations/0003-sources.ts";
import { RUNS } from "./migrations/0004-runs.ts";
import { RESTORE } from "./migrations/0005-restore.ts";

/** Forward only; a released one is never edited. Its number is its place, counted from one. */
const MIGRATIONS: readonly string[] = [INIT, SYNC, SOURCES, RUNS, RESTORE];

/** "piWF": tells our databases from others. */
export const APPLICATION_ID = 0x7069_5746;
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The number of the latest migration that the database has; 0 where it is empty. */
export function schemaVersion(database: Database.Database): number {
  return database.pragma("user_version", { simple: true }) as number;
}

/**
 * Refuses databases that are not ours or are newer than this version. Changes nothing.
 * @throws STORE_CORRUPT, SCHEMA_TOO_NEW
 */
export function checkSchema(database: Database.Database): void {
  const version = schemaVersion(database);
  const application = database.pragma("application_id", { simple: true }) as number;
  const empty = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  if (application !== APPLICATION_ID && !(application === 0 && empty)) {
    throw new PiWorkflowsError("STORE_CORRUPT", `${database.name} is another program's database`, {
      hint: "Move it away, or set PI_WORKFLOWS_HOME to another folder.",
    });
  }
  if (version > SCHEMA_VERSION) {
    throw new PiWorkflowsError(
      "SCHEMA_TOO_NEW",
      `${database.name} has schema version ${version}; this version knows ${SCHEMA_VERSION}`,
      { details: { found: version, known: SCHEMA_VERSION } },
    );
  }
}

/**
 * Brings the database to the present schema, each migration in one transaction with its number, so
 * that a crash leaves the version before or the version after (P-8).
 * @throws STORE_CORRUPT, SCHEMA_TOO_NEW
 */
export function migrate(
  database: Database.Database,
  migrations: readonly string[] = MIGRATIONS,
): void {
  checkSchema(database);
  for (let version = schemaVersion(database); version < migrations.length; version += 1) {
    const apply = database.transaction(() => {
      // Another process may have migrated while this one waited for the write lock.
      if (schemaVersion(database) !== version) return;
      database.exec(migrations[version] as string);
      database.pragma(`application_id = ${APPLICATION_ID}`);
      database.pragma(`user_version = ${version + 1}`);
    });
    apply.immediate();
  }
}
