import Database from "better-sqlite3";

export type Filling = {
  /** Lane of an accepted manager. */
  lane: number;
  from: number;
  count: number;
  /**
   * What their queue rows are: ready in the order of their keys, as after one enqueue of all; ready
   * in another order, so that neighbours in the queue lie on different pages; waiting for an hour;
   * or not there.
   */
  queue: keyof typeof READY_AT | "none";
  /** Bytes of text in each spec. */
  bytes?: number;
};

const HOUR_MS = 3_600_000;
const READY_AT = {
  ready: "@now - 1000",
  scattered: "@now - 1000 - i % 1000",
  waiting: "@now + @hour + i",
} as const;

/**
 * Writes resources that look settled straight into a closed store, by the million, so that a
 * benchmark can begin with a large one. Nothing else may have the database open.
 */
export function fillStore(file: string, filling: Filling): void {
  const { lane, from, count, queue, bytes = 100 } = filling;
  const database = new Database(file);
  database.pragma("synchronous = OFF");
  const now = Date.now();
  const values = { lane, from, count, now, text: "x".repeat(bytes), hour: HOUR_MS };
  const numbers = `WITH RECURSIVE n (i) AS (
    SELECT @from UNION ALL SELECT i + 1 FROM n WHERE i + 1 < @from + @count)`;
  // As widgetKey of project.ts.
  const key = "format('w%06d', i)";
  const run = (sql: string): void => {
    const used = Object.entries(values).filter(([name]) => sql.includes(`@${name}`));
    database.prepare(sql).run(Object.fromEntries(used));
  };
  database.transaction(() => {
    run(`INSERT INTO spec_body (id, body) ${numbers}
      SELECT 1 + i, json_object('name', 'widget ' || i, 'size', 1, 'text', @text) FROM n`);
    run(`INSERT INTO resource (id, uid, lane, key, state, resource_version, generation, body_id,
        spec_hash, finalizers, labels, depends_on, owner_kind, owner_name, file, origin, prunable,
        suspended, observed_generation, conditions, status, ready_generation, created_at, updated_at)
      ${numbers}
      SELECT 1 + i, 'filled-' || i, @lane, ${key}, 'live', 1 + i, 1, 1 + i, format('%064x', i), '[]',
        '{}', '[]', 'apply', 'bench', ${key} || '.resource.json', '{}', 1, 0, 1, '[]', '{}', 1, @now, @now
      FROM n`);
    run(`INSERT INTO generation (resource_id, generation, body_id, spec_hash, origin, at) ${numbers}
      SELECT 1 + i, 1, 1 + i, format('%064x', i), '{}', @now FROM n`);
    run(`UPDATE store_state SET sequence = sequence + @count + @from + 1,
      revision = sequence + @count + @from + 1`);
    if (queue !== "none") {
      run(`INSERT INTO queue (resource_id, lane, class, ready_at, seq, cause, enqueue_seq) ${numbers}
        SELECT 1 + i, @lane, 0, ${READY_AT[queue]}, 1 + i,
          'spec', 1 + i FROM n`);
    }
  })();
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
}
