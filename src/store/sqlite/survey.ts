import { existsSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import type { StoredSyncSet } from "../../model/sync.ts";
import { describeRef } from "../../model/resource.ts";
import { Connection } from "./connection.ts";
import { APPLICATION_ID, SCHEMA_VERSION, schemaVersion } from "./migrate.ts";
import { readSyncSets } from "./sync-sets.ts";

/** Some things of one kind: how many, and the first few by name. */
export type Some = { count: number; first: string[] };

/** What a look at a store's database found; nothing of it was changed. */
export type Survey = {
  bytes: number;
  walBytes: number;
  /** Why it can't be read; then nothing below is known. */
  unreadable?: string;
  isOurs: boolean;
  schemaVersion: number;
  knownSchema: number;
  /** `ok`, or what is damaged. */
  integrity: string;
  /** Latest time that the store has seen, epoch milliseconds. */
  latestAt: number;
  /** Digests of definitions that passes and runs need. */
  digests: string[];
  workflows: number;
  parkedEffects: Some;
  stalledResources: Some;
  interruptedRuns: Some;
  /** Managers that have resources and no definition. */
  undefinedManagers: Some;
  syncs: StoredSyncSet[];
};

const NAMED = 5;

/** Looks at a database, whatever its state. Undefined where there is none. */
export function survey(file: string): Survey | undefined {
  if (!existsSync(file)) return undefined;
  const sizes = { bytes: statSync(file).size, walBytes: sizeOf(`${file}-wal`) };
  let database: Database.Database | undefined;
  try {
    database = new Database(file, { readonly: true, fileMustExist: true });
    database.pragma("query_only = ON");
    const isOurs = database.pragma("application_id", { simple: true }) === APPLICATION_ID;
    const version = schemaVersion(database);
    const base = { ...UNKNOWN, ...sizes, isOurs, schemaVersion: version };
    if (!isOurs || version > SCHEMA_VERSION) return base;
    const integrity = String(database.pragma("quick_check(1)", { simple: true }));
    return { ...base, integrity, ...contents(new Connection(database)) };
  } catch (thrown) {
    const unreadable = thrown instanceof Error ? thrown.message : String(thrown);
    return { ...UNKNOWN, ...sizes, unreadable };
  } finally {
    database?.close();
  }
}

const NONE: Some = { count: 0, first: [] };
const UNKNOWN: Omit<Survey, "bytes" | "walBytes"> = {
  isOurs: false,
  schemaVersion: 0,
  knownSchema: SCHEMA_VERSION,
  integrity: "ok",
  latestAt: 0,
  digests: [],
  workflows: 0,
  parkedEffects: NONE,
  stalledResources: NONE,
  interruptedRuns: NONE,
  undefinedManagers: NONE,
  syncs: [],
};

const OF_RESOURCE = `resource r JOIN manager m ON m.lane = r.lane`;

/** Tables that the schema does not have yet hold nothing. */
function contents(connection: Connection): Partial<Survey> {
  const has = (table: string): boolean =>
    connection.get("SELECT 1 AS found FROM sqlite_schema WHERE name = ?", table) !== undefined;
  const named = (from: string): Some => someOf(connection, from);
  const runs = has("run");
  const isRun = runs ? "EXISTS (SELECT 1 FROM run x WHERE x.resource_id = r.id)" : "0";
  return {
    latestAt: latestOf(connection),
    digests: digestsOf(connection, runs),
    workflows: connection.all("SELECT 1 FROM manager WHERE name LIKE 'workflow/%'").length,
    parkedEffects: named(`${OF_RESOURCE} JOIN effect e ON e.resource_id = r.id WHERE e.parked = 1`),
    stalledResources: named(
      `${OF_RESOURCE} WHERE r.state = 'live' AND r.held_generation = r.generation AND NOT ${isRun}`,
    ),
    interruptedRuns: runs
      ? named(`${OF_RESOURCE} JOIN run u ON u.resource_id = r.id WHERE u.state = 'interrupted'`)
      : NONE,
    undefinedManagers: undefinedManagers(connection),
    syncs: readSyncSets(connection),
  };
}

function someOf(connection: Connection, from: string): Some {
  const count = connection.get<{ count: number }>(`SELECT count(*) AS count FROM ${from}`);
  const first = connection.all<{ manager: string; key: string }>(
    `SELECT m.name AS manager, r.key FROM ${from} ORDER BY r.id LIMIT ${NAMED}`,
  );
  return {
    count: count?.count ?? 0,
    first: first.map(({ manager, key }) => describeRef({ resourceManager: manager, key })),
  };
}

function undefinedManagers(connection: Connection): Some {
  const rows = connection.all<{ name: string }>(
    `SELECT m.name FROM manager m WHERE m.accepted_at IS NULL
       AND EXISTS (SELECT 1 FROM resource r WHERE r.lane = m.lane AND r.state = 'live')
     ORDER BY m.name`,
  );
  return { count: rows.length, first: rows.slice(0, NAMED).map(({ name }) => name) };
}

function digestsOf(connection: Connection, runs: boolean): string[] {
  const ofRuns = runs ? "UNION SELECT digest FROM run WHERE ended_at IS NULL" : "";
  return connection
    .all<{ digest: string }>(
      `SELECT digest FROM manager WHERE digest IS NOT NULL
         AND ifnull(json_extract(definition, '$.scope'), '') <> 'hosted' ${ofRuns}`,
    )
    .map(({ digest }) => digest);
}

function latestOf(connection: Connection): number {
  const sql = "SELECT max(queue_time, opened_at) AS at FROM store_state";
  return connection.get<{ at: number }>(sql)?.at ?? 0;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
