import { existsSync } from "node:fs";
import Database from "better-sqlite3";
import type { Snapshot } from "../../model/batch.ts";
import { isWorkflowLane } from "../../model/graph.ts";
import { LIMITS } from "../../model/limits.ts";
import type { Origin, ResourceRef, StoredResource } from "../../model/resource.ts";
import type { GenerationRecord, StoreInfo, StoreReader } from "../store.ts";
import { Connection } from "./connection.ts";
import { openQueryOnly, sqliteVersion } from "./database.ts";
import { readEffects } from "./effect-row.ts";
import { guarded } from "./errors.ts";
import { readEvents } from "./events.ts";
import { lanesOf, queueEntries } from "./lanes.ts";
import { listResources } from "./listing.ts";
import { findLane, managerRecords } from "./managers.ts";
import { migrate, SCHEMA_VERSION, schemaVersion } from "./migrate.ts";
import { readPasses } from "./passes.ts";
import type { Reading } from "./queue-time.ts";
import {
  RESOURCE_COLUMNS,
  storedResource,
  type LaneNames,
  type ResourceRow,
} from "./resource-row.ts";
import { liveResource, removedResource } from "./resources.ts";
import { LINK_COLUMNS, LINK_TABLES, type LinkColumns } from "./runs/run-row.ts";
import { runReads } from "./runs/run-store.ts";
import { readSnapshot } from "./snapshot.ts";
import { readPrunes, readSyncSets } from "./sync-sets.ts";

/**
 * Opens a store for reading only: beside a running server, or without one. Where there is no
 * database yet it reads as an empty one, and no file is made.
 * @throws UNSUPPORTED, STORE_CORRUPT, SCHEMA_TOO_NEW
 */
export function openReader(path: string): StoreReader & { close(): void } {
  return guarded(() => {
    const connection = new Connection(openOrEmpty(path));
    return {
      ...createReader(connection, { time: () => timeOf(connection), guard: guarded }),
      close: () => {
        connection.database.close();
      },
    };
  });
}

function openOrEmpty(path: string): Database.Database {
  if (existsSync(path)) {
    const database = openQueryOnly(path);
    const version = schemaVersion(database);
    if (version === SCHEMA_VERSION) return database;
    try {
      if (version > 0) return upgradedCopy(database);
    } finally {
      database.close();
    }
  }
  const empty = new Database(":memory:");
  migrate(empty);
  return empty;
}

/**
 * A store that no server of this version has opened yet, as it will be: a copy in memory, so that the
 * queries know one schema and a reader changes no file.
 */
function upgradedCopy(database: Database.Database): Database.Database {
  const image = database.serialize();
  // "File format version": 1, as memory has no write-ahead log (sqlite.org/fileformat2.html).
  image.writeUInt8(1, 18);
  image.writeUInt8(1, 19);
  const copy = new Database(image);
  migrate(copy);
  copy.pragma("query_only = ON");
  return copy;
}

/** Queue time as well as it can be told without the writer's monotonic clock. */
function timeOf(connection: Connection): Reading {
  const state = connection.get<{ queue_time: number }>("SELECT queue_time FROM store_state");
  const now = Date.now();
  return { now, queueTime: Math.max(now, state?.queue_time ?? now) };
}

/** How a reader is tied to its store. */
export type ReaderPorts = {
  time: () => Reading;
  /** Runs each read; turns what it throws into one of our errors. */
  guard: <Result>(work: () => Result) => Result;
};

/** The reading half of a store, on any connection. Each method is short and holds no transaction. */
export function createReader(connection: Connection, { time, guard }: ReaderPorts): StoreReader {
  // Not async functions, yet they must reject instead of throwing.
  const read = async <Result>(work: () => Result): Promise<Result> => guard(work);
  return {
    info: () => read(() => storeInfo(connection)),
    get: (ref) => read(() => getResource(connection, ref)),
    list: (query) => read(() => listResources(connection, query)),
    managers: (project) => read(() => managerRecords(connection, project)),
    snapshot: (project) => read((): Snapshot => readSnapshot(connection, project)),
    specs: (uids) => read(() => readSpecs(connection, uids)),
    effects: (query) => read(() => readEffects(connection, query)),
    events: (query) => read(() => readEvents(connection, query)),
    history: (ref) => read(() => readHistory(connection, ref)),
    passes: (uid, limit) => read(() => readPasses(connection, uid, limit)),
    queue: (query) => read(() => queueEntries(connection, query, time())),
    syncSets: (project) => read(() => readSyncSets(connection, project)),
    prunes: (project) => read(() => readPrunes(connection, project)),
    removed: (ref) => read(() => getRemoved(connection, ref)),
    ...runReads(connection, read),
    lanes: (only) => read(() => lanesOf(connection, time(), only)),
  };
}

function storeInfo(connection: Connection): StoreInfo {
  const row = connection.get<{ store_id: string; epoch: number; revision: number }>(
    "SELECT store_id, epoch, revision FROM store_state",
  );
  const count = connection.get<{ count: number }>(
    `SELECT (SELECT count(*) FROM resource WHERE state = 'live')
       - (SELECT count(*) FROM run WHERE ended_at IS NULL) AS count`,
  );
  return {
    storeId: row?.store_id ?? "",
    epoch: row?.epoch ?? 0,
    revision: row?.revision ?? 0,
    schemaVersion: schemaVersion(connection.database),
    sqliteVersion: sqliteVersion(connection.database),
    resources: count?.count ?? 0,
  };
}

/** One live resource with its spec and status. */
export function getResource(
  connection: Pick<Connection, "get">,
  ref: ResourceRef,
): StoredResource | undefined {
  if (isWorkflowLane(ref.resourceManager)) return undefined;
  const row = connection.get<ResourceRow & LaneNames & LinkColumns & { body: string }>(
    `SELECT ${RESOURCE_COLUMNS}, ${LINK_COLUMNS}, b.body, m.name AS manager, p.path AS project
     FROM project p JOIN manager m ON m.project_id = p.id JOIN resource r ON r.lane = m.lane
     JOIN spec_body b ON b.id = r.body_id ${LINK_TABLES}
     WHERE p.path = ? AND m.name = ? AND r.key = ? AND r.state = 'live'`,
    ref.project,
    ref.resourceManager,
    ref.key,
  );
  return row && storedResource(row);
}

/** The tombstone of the resource that was removed last under a name. */
function getRemoved(connection: Connection, ref: ResourceRef): StoredResource | undefined {
  if (isWorkflowLane(ref.resourceManager)) return undefined;
  const row = connection.get<ResourceRow & LaneNames & LinkColumns & { body: string }>(
    `SELECT ${RESOURCE_COLUMNS}, ${LINK_COLUMNS}, b.body, m.name AS manager, p.path AS project
     FROM project p JOIN manager m ON m.project_id = p.id JOIN resource r ON r.lane = m.lane
     JOIN spec_body b ON b.id = r.body_id ${LINK_TABLES}
     WHERE p.path = ? AND m.name = ? AND r.key = ? AND r.state = 'removed'
     ORDER BY r.removed_at DESC, r.id DESC LIMIT 1`,
    ref.project,
    ref.resourceManager,
    ref.key,
  );
  return row && storedResource(row);
}

function readSpecs(connection: Connection, uids: string[]): Map<string, string> {
  const specs = new Map<string, string>();
  for (const uid of uids) {
    const row = connection.get<{ body: string }>(
      "SELECT b.body FROM resource r JOIN spec_body b ON b.id = r.body_id WHERE r.uid = ?",
      uid,
    );
    if (row) specs.set(uid, row.body);
  }
  return specs;
}

/** Of the live resource, or else of the one removed last. */
function readHistory(connection: Connection, ref: ResourceRef): GenerationRecord[] {
  const lane = findLane(connection, ref.project, ref.resourceManager);
  if (lane === undefined) return [];
  const resource =
    liveResource(connection, lane, ref.key) ?? removedResource(connection, lane, ref.key);
  if (!resource) return [];
  return connection
    .all<{ generation: number; spec_hash: string; origin: string; at: number; body: string }>(
      `SELECT g.generation, g.spec_hash, g.origin, g.at, b.body
       FROM generation g JOIN spec_body b ON b.id = g.body_id
       WHERE g.resource_id = ? ORDER BY g.generation DESC LIMIT ${LIMITS.generationsKept}`,
      resource.id,
    )
    .map((row) => ({
      generation: row.generation,
      spec: JSON.parse(row.body) as GenerationRecord["spec"],
      specHash: row.spec_hash,
      origin: JSON.parse(row.origin) as Origin,
      at: row.at,
    }));
}
