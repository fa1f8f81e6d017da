import path from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { migrate, SCHEMA_VERSION } from "../../src/store/sqlite/migrate.ts";
import { INIT } from "../../src/store/sqlite/migrations/0001-init.ts";
import { SYNC } from "../../src/store/sqlite/migrations/0002-sync.ts";
import { SOURCES } from "../../src/store/sqlite/migrations/0003-sources.ts";
import { Driver, DONE, PROJECT, sqliteStore, temporaryFolder } from "./support.ts";

/** A database as the version before runs left it: a resource with history, queued, and a claim. */
const BEFORE_RUNS = `
INSERT INTO store_state VALUES (1, 'store', 3, 40, 40, 1767225600000, 1767225600000);
INSERT INTO project VALUES (1, '${PROJECT}');
INSERT INTO manager VALUES (1, 1, 'm', '{"name":"m","digest":"d"}', 'd', 1);
INSERT INTO spec_body VALUES (1, '{"x":1}'), (2, '{"x":2}');
INSERT INTO resource (id, uid, lane, key, state, resource_version, generation, body_id, spec_hash,
    finalizers, labels, depends_on, owner_kind, owner_name, prunable, suspended,
    observed_generation, conditions, status, created_at, updated_at)
  VALUES (1, 'uid-a', 1, 'a', 'live', 30, 2, 2, 'h2', '["worktree"]', '{"team":"x"}', '[]', 'apply',
    'specs', 1, 0, 1, '[]', '{"phase":"one"}', 1, 1),
  (2, 'uid-b', 1, 'b', 'live', 31, 1, 1, 'h1', '[]', '{}', '[]', 'apply', 'specs', 1, 0, 1, '[]',
    '{}', 1, 1);
INSERT INTO queue (resource_id, lane, class, ready_at, seq, cause, enqueue_seq, attempts)
  VALUES (1, 1, 0, 1767225600000, 35, 'spec', 35, 2);
INSERT INTO effect (resource_id, key, kind, generation, fingerprint, request, state, attempts, parked,
    claim_token, started_at, sequence)
  VALUES (1, 'merge', 'merge', 1, 'f', '{}', 'indeterminate', 1, 0, 't', 1, 33);
INSERT INTO event VALUES (34, 1, 'Normal', 'Created', 'by apply', NULL, 1, 1, 1);
`;

function versionThree(): string {
  const file = path.join(temporaryFolder(), "state.sqlite");
  const database = new Database(file);
  migrate(database, [INIT, SYNC, SOURCES]);
  database.exec(BEFORE_RUNS);
  database.close();
  return file;
}

describe("a database from before runs", () => {
  it("P-8: keeps all that it held, and takes runs", async () => {
    const { store, connection, clock } = sqliteStore({ path: versionThree() });
    expect((await store.info()).schemaVersion).toBe(SCHEMA_VERSION);
    expect(connection.database.pragma("foreign_key_check")).toEqual([]);
    const driver = new Driver(store, clock);
    const stored = await store.get(driver.ref("a"));
    expect(stored).toMatchObject({
      labels: { team: "x" },
      resource: {
        metadata: { uid: "uid-a", generation: 2, resourceVersion: 30, finalizers: ["worktree"] },
        spec: { x: 2 },
        status: { observedGeneration: 1, resourceManagerStatus: { phase: "one" } },
      },
    });
    expect(stored?.resource.status).not.toHaveProperty("workflowRun");
    expect(await store.effects({ open: true })).toMatchObject([{ key: "merge" }]);
    expect(await store.events({ uid: "uid-a" })).toHaveLength(1);
    expect(await store.queue({})).toMatchObject([{ uid: "uid-a", cause: "spec", attempts: 2 }]);
    expect(await store.runs({})).toEqual({ items: [] });
    expect((await store.info()).resources).toBe(2);

    await driver.begin("m");
    await driver.accept();
    const [parent] = await driver.claim(1, ["m"]);
    if (!parent) throw new Error("nothing was ready");
    const request = { requestKey: "k", workflow: "w", input: 1 };
    const child = await store.ensureChildRun(parent.claim, request);
    await driver.settleRun(await driver.claimRun(), DONE);
    expect((await store.get(driver.ref("a")))?.resource).toMatchObject({
      metadata: { finalizers: ["worktree"] },
      status: { workflowRun: { runId: child.runId, state: "succeeded" } },
    });
  });
});

describe("what the tables of runs refuse, whoever writes", () => {
  const illegal: [what: string, sql: string][] = [
    ["an end without its time", "UPDATE run SET state = 'failed', reason = 'Cancelled'"],
    ["a time of an end without one", "UPDATE run SET ended_at = 1"],
    ["a success without its result", "UPDATE run SET state = 'succeeded', ended_at = 1"],
    ["a wait without its reason", "UPDATE run SET state = 'waiting', started_at = 1, epochs = 1"],
    ["a reason of another state", "UPDATE run SET reason = 'Stalled'"],
    ["a run that works before its first epoch", "UPDATE run SET state = 'running'"],
    ["an epoch that never began", "UPDATE run SET epochs = 1"],
    ["half a parent", "UPDATE run SET parent_uid = 'u'"],
    ["attempt 0", "UPDATE run SET attempt = 0"],
    [
      "a line of no attempt",
      `INSERT INTO journal (resource_id, sequence, epoch, at, event, compensation)
       SELECT resource_id, 1, 1, 1, 'begun', 0 FROM run`,
    ],
    [
      "a second attempt 1 under one key",
      `INSERT INTO run (resource_id, lane, digest, state, request_key, attempt, started_by,
         created_at, deadline_at)
       SELECT resource_id - 1, lane, digest, state, request_key, attempt, started_by, 1, 1 FROM run`,
    ],
  ];

  it.each(illegal)("%s", async (_, sql) => {
    const { store, connection, clock } = sqliteStore();
    const driver = await new Driver(store, clock).begin("m");
    await driver.put("a", 1);
    await driver.accept();
    await driver.start();
    expect(() => connection.run(sql)).toThrow(/constraint failed/);
  });
});
