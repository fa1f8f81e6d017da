import type { Connection } from "../../src/store/sqlite/connection.ts";
import type { EffectState } from "../../src/model/effect.ts";

export type ResourceRow = {
  id: number;
  uid: string;
  lane: number;
  manager: string;
  key: string;
  state: "live" | "removed";
  resource_version: number;
  generation: number;
  spec_hash: string;
  deletion_at: number | null;
  finalizers: string;
  labels: string;
  suspended: 0 | 1;
  observed_generation: number;
  conditions: string;
  status: string;
  held_generation: number | null;
  owner_kind: string;
  file: string | null;
  origin: string | null;
};
export type QueueRow = {
  resource_id: number;
  lane: number;
  class: 0 | 1 | 2;
  ready_at: number;
  seq: number;
  enqueue_seq: number;
  claimed_seq: number | null;
  attempts: number;
  crash_attempts: number;
  backoff_until: number | null;
  claim_token: string | null;
  claim_generation: number | null;
  read_generation: number | null;
  claim_expires_at: number | null;
};
export type EffectRow = {
  resource_id: number;
  key: string;
  fingerprint: string;
  state: EffectState;
  attempts: number;
  parked: 0 | 1;
  sequence: number;
};
export type RunRow = {
  resource_id: number;
  state: string;
  reason: string | null;
  parent_uid: string | null;
  request_key: string;
  attempt: number;
  epochs: number;
  entries: number;
  cancel_by: string | null;
  lines: number;
  open_questions: number;
};

/** All that invariants are about, at one moment. What two states have in common is the same object. */
export type StoreState = {
  /** By uid. */
  resources: ReadonlyMap<string, ResourceRow>;
  /** These by the id of the resource. */
  byId: ReadonlyMap<number, ResourceRow>;
  queue: ReadonlyMap<number, QueueRow>;
  runs: ReadonlyMap<number, RunRow>;
  /** By id of the resource and key. */
  effects: ReadonlyMap<string, EffectRow>;
  epoch: number;
  revision: number;
  queueTime: number;
};

/** One operation of the store: its name, and what it made of what. */
export type Change = { name: string; before: StoreState; after: StoreState };

export const EMPTY: StoreState = {
  resources: new Map(),
  byId: new Map(),
  queue: new Map(),
  runs: new Map(),
  effects: new Map(),
  epoch: 0,
  revision: 0,
  queueTime: 0,
};

/** True where nothing that invariants are about differs. */
export function isSame(left: StoreState, right: StoreState): boolean {
  return KINDS.every((kind) => left[kind] === right[kind]);
}

const KINDS = ["resources", "queue", "effects", "runs"] as const;

/** A table as it is read: the column that names a row, and the others in the order of the statement. */
type Kind = { sql: string; columns: string[]; tables: string[] };

const KIND: Record<(typeof KINDS)[number], Kind> = {
  resources: kind(
    `id, uid, lane, (SELECT name FROM manager m WHERE m.lane = resource.lane) AS manager, key, state,
     resource_version, generation, spec_hash, deletion_at, finalizers, labels, suspended,
     observed_generation, conditions, status, held_generation, owner_kind, file, origin`,
    "resource",
  ),
  queue: kind(
    `resource_id, lane, class, ready_at, seq, enqueue_seq, claimed_seq, attempts, crash_attempts,
     backoff_until, claim_token, claim_generation, read_generation, claim_expires_at`,
    "queue",
  ),
  effects: kind("resource_id, key, fingerprint, state, attempts, parked, sequence", "effect"),
  runs: kind(
    `resource_id, state, reason, parent_uid, request_key, attempt, epochs, entries, cancel_by,
     (SELECT count(*) FROM journal j WHERE j.resource_id = run.resource_id) AS lines,
     (SELECT count(*) FROM question q WHERE q.resource_id = run.resource_id AND q.open = 1)
       AS open_questions`,
    "run",
    "journal",
    "question",
  ),
};

function kind(columns: string, table: string, ...others: string[]): Kind {
  const names = columns.replaceAll(/\(.*?\)\s+AS /gs, "").split(/,\s+/);
  return {
    sql: `SELECT ${columns} FROM ${table} ORDER BY rowid`,
    columns: names,
    tables: [table, ...others],
  };
}

/**
 * What the store holds now, of which only `changed` tables can differ from `before`. Most of a
 * simulation is spent here, so whatever is as it was is neither made nor looked at again.
 */
export function readState(
  connection: Connection,
  before: StoreState,
  { changed, now }: { changed: ReadonlySet<string>; now: number },
): StoreState {
  const state = connection.get<{ epoch: number; revision: number; queue_time: number }>(
    "SELECT epoch, revision, queue_time FROM store_state",
  );
  const { resources, queue, effects, runs } = KIND;
  const read = <Key, Row>(
    { sql, columns, tables }: Kind,
    old: ReadonlyMap<Key, Row>,
    keyOf: (row: Row) => Key,
  ): ReadonlyMap<Key, Row> => {
    if (!tables.some((table) => changed.has(table))) return old;
    return merged(connection.rows(sql), { columns, old, keyOf });
  };
  const found = read(resources, before.resources, ({ uid }: ResourceRow) => uid);
  return {
    resources: found,
    byId:
      found === before.resources
        ? before.byId
        : new Map([...found.values()].map((row) => [row.id, row])),
    queue: read(queue, before.queue, (row: QueueRow) => row.resource_id),
    runs: read(runs, before.runs, (row: RunRow) => row.resource_id),
    effects: read(effects, before.effects, (row: EffectRow) => `${row.resource_id} ${row.key}`),
    epoch: state?.epoch ?? 0,
    revision: state?.revision ?? 0,
    // The stored one is of the latest commit.
    queueTime: Math.max(state?.queue_time ?? 0, now),
  };
}

type Merge<Key, Row> = {
  columns: readonly string[];
  old: ReadonlyMap<Key, Row>;
  keyOf: (row: Row) => Key;
};

/** The rows by their key; those that are as before are the same objects. */
function merged<Key, Row>(
  rows: unknown[][],
  { columns, old, keyOf }: Merge<Key, Row>,
): ReadonlyMap<Key, Row> {
  const made = new Map<Key, Row>();
  let isNew = rows.length !== old.size;
  for (const values of rows) {
    const row = Object.fromEntries(columns.map((column, index) => [column, values[index]])) as Row;
    const key = keyOf(row);
    const was = old.get(key) as Record<string, unknown> | undefined;
    const isOld =
      was !== undefined && columns.every((column, index) => was[column] === values[index]);
    if (!isOld) isNew = true;
    made.set(key, isOld ? (was as Row) : row);
  }
  return isNew ? made : old;
}
