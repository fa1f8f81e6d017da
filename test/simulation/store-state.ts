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
};
export type QueueRow = {
  resource_id: number;
  ready_at: number;
  enqueue_seq: number;
  claimed_seq: number | null;
  attempts: number;
  crash_attempts: number;
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

/** All that invariants are about, at one moment. */
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
  fingerprint: string;
};

export const EMPTY: StoreState = {
  resources: new Map(),
  byId: new Map(),
  queue: new Map(),
  runs: new Map(),
  effects: new Map(),
  epoch: 0,
  revision: 0,
  queueTime: 0,
  fingerprint: "",
};

const RESOURCES = `SELECT r.id, r.uid, r.lane, m.name AS manager, r.key, r.state,
    r.resource_version, r.generation, r.spec_hash, r.deletion_at, r.finalizers, r.labels,
    r.suspended, r.observed_generation, r.conditions, r.status, r.held_generation,
    r.owner_kind
  FROM resource r JOIN manager m ON m.lane = r.lane ORDER BY r.id`;
const QUEUE = `SELECT resource_id, ready_at, enqueue_seq, claimed_seq, attempts, crash_attempts,
    claim_token, claim_generation, read_generation, claim_expires_at FROM queue ORDER BY resource_id`;
const EFFECTS = `SELECT resource_id, key, fingerprint, state, attempts, parked, sequence
  FROM effect ORDER BY id`;
const RUNS = `SELECT resource_id, state, reason, parent_uid, request_key, attempt, epochs, entries,
    cancel_by, (SELECT count(*) FROM journal j WHERE j.resource_id = run.resource_id) AS lines,
    (SELECT count(*) FROM question q WHERE q.resource_id = run.resource_id AND q.open = 1)
      AS open_questions
  FROM run ORDER BY resource_id`;

export function readState(connection: Connection, now: number): StoreState {
  const resources = connection.all<ResourceRow>(RESOURCES);
  const queue = connection.all<QueueRow>(QUEUE);
  const effects = connection.all<EffectRow>(EFFECTS);
  const runs = connection.all<RunRow>(RUNS);
  const state = connection.get<{ epoch: number; revision: number; queue_time: number }>(
    "SELECT epoch, revision, queue_time FROM store_state",
  );
  return {
    resources: new Map(resources.map((row) => [row.uid, row])),
    byId: new Map(resources.map((row) => [row.id, row])),
    queue: new Map(queue.map((row) => [row.resource_id, row])),
    runs: new Map(runs.map((row) => [row.resource_id, row])),
    effects: new Map(effects.map((row) => [`${row.resource_id} ${row.key}`, row])),
    epoch: state?.epoch ?? 0,
    revision: state?.revision ?? 0,
    // The stored one is of the latest commit.
    queueTime: Math.max(state?.queue_time ?? 0, now),
    fingerprint: JSON.stringify([resources, queue, effects, runs]),
  };
}
