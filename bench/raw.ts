import type Database from "better-sqlite3";
import { randomBytes } from "node:crypto";
import { openDatabase } from "../src/store/sqlite/database.ts";

/** A resource as a bare loop reads it with its claim. */
export type RawClaim = {
  id: number;
  token: string;
  claimGeneration: number;
  uid: string;
  key: string;
  generation: number;
  resourceVersion: number;
  spec: string;
  status: string;
  conditions: string;
};

const LEASE_MS = 60_000;
const PASSES_KEPT = 20;
const TRIM_EVERY = 16;

/**
 * The reference: the statements without which this schema can't do its work, on the same tables
 * with the same indexes and the same durability, in a bare loop without any check.
 */
export class RawStore {
  readonly database: Database.Database;
  readonly #statements: Record<string, Database.Statement>;
  #sequence = 1_000_000_000;

  constructor(file: string) {
    this.database = openDatabase(file);
    this.#statements = Object.fromEntries(
      Object.entries(SQL).map(([name, sql]) => [name, this.database.prepare(sql)]),
    );
  }

  /** Runs `work` as one durable transaction. */
  group(work: () => void): void {
    this.#run("begin");
    work();
    this.#run("counters", this.#sequence);
    this.#run("commit");
  }

  enqueueAll(lane: number): void {
    this.group(() => this.#run("enqueueAll", Date.now(), lane));
  }

  claim(lane: number): RawClaim | undefined {
    const now = Date.now();
    const token = randomBytes(16).toString("hex");
    const sequence = (this.#sequence += 1);
    const claimed = this.#get(
      "claim",
      token,
      sequence,
      `pass-${sequence}`,
      now,
      now + LEASE_MS,
      lane,
      now,
    ) as Pick<RawClaim, "id" | "claimGeneration"> | undefined;
    if (!claimed) return undefined;
    const resource = this.#get("read", claimed.id) as Omit<RawClaim, "token" | "claimGeneration">;
    return { ...resource, ...claimed, token };
  }

  settle({ id, token, claimGeneration, generation }: RawClaim): void {
    const now = Date.now();
    this.#run("leave", id, token);
    this.#run("pass", id, claimGeneration, token, `pass-${claimGeneration}`, generation, now);
    if (claimGeneration % TRIM_EVERY === 0) this.#run("trim", id, id, PASSES_KEPT);
  }

  beginEffect({ id, token, generation, claimGeneration }: RawClaim): void {
    const sequence = (this.#sequence += 1);
    const key = `pass-${claimGeneration}`;
    this.#run("beginEffect", id, key, generation, token, Date.now(), sequence);
  }

  settleEffect({ id, claimGeneration }: RawClaim): void {
    this.#run("settleEffect", Date.now(), (this.#sequence += 1), id, `pass-${claimGeneration}`);
  }

  /** New resources as one batch: body, resource, history, event, queue. */
  insertBatch(lane: number, specs: { key: string; spec: string; hash: string }[]): void {
    this.group(() => {
      const now = Date.now();
      for (const { key, spec, hash } of specs) {
        const sequence = (this.#sequence += 1);
        const body = this.#run("body", spec).lastInsertRowid;
        const uid = `raw-${sequence}`;
        const id = this.#run(
          "resource",
          uid,
          lane,
          key,
          sequence,
          body,
          hash,
          now,
          now,
        ).lastInsertRowid;
        this.#run("generation", id, 1, body, hash, now);
        this.#run("event", sequence, id, "Created", key, now, now);
        this.#run("enqueue", id, lane, now, sequence, sequence);
      }
    });
  }

  /** Changed specs of existing resources as one batch. */
  updateBatch(lane: number, specs: { key: string; spec: string; hash: string }[]): void {
    this.group(() => {
      const now = Date.now();
      for (const { key, spec, hash } of specs) {
        const sequence = (this.#sequence += 1);
        const body = this.#run("body", spec).lastInsertRowid;
        const changed = this.#get("change", sequence, body, hash, now, lane, key) as
          | { id: number; generation: number }
          | undefined;
        if (!changed) throw new Error(`no resource ${key}`);
        this.#run("generation", changed.id, changed.generation, body, hash, now);
        // Equal events are folded, so the latest of a kind are read before one is added.
        this.#all("alike", changed.id, "SpecChanged");
        this.#run("event", sequence, changed.id, "SpecChanged", key, now, now);
        this.#run("enqueue", changed.id, lane, now, sequence, sequence);
      }
    });
  }

  /** What a plan must know of every resource. */
  readAll(): unknown[] {
    return this.#all("readAll");
  }

  count(table: "resource" | "queue" | "pass" | "effect"): number {
    return this.database.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number;
  }

  close(): void {
    this.database.close();
  }

  #run(name: keyof typeof SQL, ...values: unknown[]): Database.RunResult {
    return (this.#statements[name] as Database.Statement).run(...values);
  }

  #all(name: keyof typeof SQL, ...values: unknown[]): unknown[] {
    return (this.#statements[name] as Database.Statement).all(...values);
  }

  #get(name: keyof typeof SQL, ...values: unknown[]): unknown {
    return (this.#statements[name] as Database.Statement).get(...values);
  }
}

const SQL = {
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  counters: "UPDATE store_state SET sequence = ?",
  enqueueAll: `INSERT INTO queue (resource_id, lane, class, ready_at, seq, cause, enqueue_seq)
    SELECT id, lane, 0, ?, id, 'request', id FROM resource WHERE lane = ? AND state = 'live'`,
  claim: `UPDATE queue SET claim_token = ?, claim_generation = ?, reconcile_id = ?, read_generation = 1, claimed_seq = enqueue_seq,
      claim_cause = cause, claimed_at = ?, claim_expires_at = ?, ready_at = 9007199254740991
    WHERE resource_id = (SELECT resource_id FROM queue WHERE claim_token IS NULL AND lane = ?
      AND class = 0 AND ready_at <= ? ORDER BY ready_at, seq LIMIT 1)
    RETURNING resource_id AS id, claim_generation AS claimGeneration`,
  read: `SELECT resource.id, uid, key, generation, resource_version AS resourceVersion, body AS spec,
      status, conditions
    FROM resource JOIN spec_body ON spec_body.id = body_id WHERE resource.id = ?`,
  readAll: `SELECT uid, key, resource_version, generation, spec_hash, labels, depends_on, owner_kind,
      owner_name, file, prunable, suspended, deletion_at FROM resource WHERE state = 'live'`,
  leave: "DELETE FROM queue WHERE resource_id = ? AND claim_token = ?",
  pass: `INSERT INTO pass (resource_id, claim_generation, claim_token, reconcile_id, generation, cause,
      outcome, started_at, duration)
    VALUES (?, ?, ?, ?, ?, 'request', 'settled', ?, 1)`,
  trim: `DELETE FROM pass WHERE resource_id = ? AND claim_generation <= (SELECT claim_generation
    FROM pass WHERE resource_id = ? ORDER BY claim_generation DESC LIMIT 1 OFFSET ?)`,
  beginEffect: `INSERT INTO effect (resource_id, key, kind, generation, fingerprint, request, state,
      attempts, parked, claim_token, started_at, sequence)
    VALUES (?, ?, 'noop', ?, 'fingerprint', '{}', 'pending', 1, 0, ?, ?, ?)`,
  settleEffect: `UPDATE effect SET state = 'applied', external_ref = 'none', completed_at = ?,
      sequence = ? WHERE resource_id = ? AND key = ? AND state = 'pending'`,
  body: "INSERT INTO spec_body (body) VALUES (?)",
  resource: `INSERT INTO resource (uid, lane, key, state, resource_version, generation, body_id,
      spec_hash, finalizers, labels, depends_on, owner_kind, owner_name, origin, prunable, suspended,
      observed_generation, conditions, status, created_at, updated_at)
    VALUES (?, ?, ?, 'live', ?, 1, ?, ?, '[]', '{}', '[]', 'apply', 'bench', '{}', 1, 0, 0, '[]',
      '{}', ?, ?)`,
  change: `UPDATE resource SET resource_version = ?, generation = generation + 1, body_id = ?,
      spec_hash = ?, updated_at = ? WHERE lane = ? AND key = ? AND state = 'live'
    RETURNING id, generation`,
  generation: `INSERT INTO generation (resource_id, generation, body_id, spec_hash, origin, at)
    VALUES (?, ?, ?, ?, '{}', ?)`,
  alike: `SELECT sequence, message FROM event WHERE resource_id = ? AND type = 'Normal' AND reason = ?
    ORDER BY sequence DESC LIMIT 10`,
  event: `INSERT INTO event (sequence, resource_id, type, reason, message, count, first_at, last_at)
    VALUES (?, ?, 'Normal', ?, ?, 1, ?, ?)`,
  enqueue: `INSERT INTO queue (resource_id, lane, class, ready_at, seq, cause, enqueue_seq)
    VALUES (?, ?, 0, ?, ?, 'spec', ?)
    ON CONFLICT (resource_id) DO UPDATE SET class = min(class, excluded.class),
      ready_at = min(ready_at, excluded.ready_at), enqueue_seq = excluded.enqueue_seq`,
} as const;
