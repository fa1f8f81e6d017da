import type { Clock, Ids, Probe } from "../../model/ports.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import type { ResourceManagerStore } from "../store.ts";
import { applyBatch } from "./apply.ts";
import { beginEpoch, claimReady, renewClaim } from "./claim.ts";
import { Connection } from "./connection.ts";
import { assertDurable, noteDamage, openDatabase } from "./database.ts";
import { deleteResource } from "./deletion.ts";
import { beginEffect, resolveEffect, settleEffect } from "./effects.ts";
import { enqueueAll, repair } from "./enqueue.ts";
import { guarded } from "./errors.ts";
import { eventOf } from "./events.ts";
import { setFinalizer } from "./finalizers.ts";
import { GroupCommit } from "./group.ts";
import { acceptManager } from "./managers.ts";
import { QueueTime } from "./queue-time.ts";
import { createReader } from "./reader.ts";
import { pruneHistory, retain } from "./retention.ts";
import { runWrites } from "./runs/run-store.ts";
import { settle } from "./settle.ts";
import { sourceStore } from "./source-marks.ts";
import { deleteOrphans } from "./staging.ts";
import { suspend } from "./suspend.ts";
import { syncWrites } from "./sync-sets.ts";

export type StoreOptions = {
  /** The database file; its folder must exist. */
  path: string;
  clock: Clock;
  ids: Ids;
  probe?: Probe;
  /** Called once, when damage is met: nothing should be built on the database any more (P-7). */
  onDamage?: (error: PiWorkflowsError) => void;
  /** Told the lane of every key that is marked dirty, for those who count. */
  onEnqueue?: (lane: number) => void;
};

/**
 * Opens the store for the one process that writes: checks, migrates, and proves that commits are
 * durable. Claims of earlier servers stand until `beginEpoch`.
 * @throws UNSUPPORTED, SCHEMA_TOO_NEW, STORE_CORRUPT, STORE_BUSY
 */
export async function openStore(options: StoreOptions): Promise<ResourceManagerStore> {
  const connection = new Connection(guarded(() => openDatabase(options.path)));
  try {
    return guarded(() => createStore(connection, options));
  } catch (error) {
    connection.database.close();
    throw error;
  }
}

/** The store on an open database; tests use it to reach the connection. */
export function createStore(
  connection: Connection,
  { clock, ids, probe, onDamage, onEnqueue }: Omit<StoreOptions, "path">,
): ResourceManagerStore {
  connection.onEnqueue = onEnqueue;
  const time = new QueueTime(clock, begin(connection, clock, ids));
  const seen = damageWatch(connection.database.name, onDamage);
  const group = new GroupCommit(connection, time, { probe, onError: seen });
  const guard = <T>(work: () => T): T => {
    if (connection.database.open) return guarded(work, seen);
    throw new PiWorkflowsError("SERVER_STOPPING", "the store is closed");
  };
  const reader = createReader(connection, { time: () => time.read(), guard });
  return {
    ...reader,
    beginEpoch: () =>
      group.write("beginEpoch", (tx) => {
        deleteOrphans(tx);
        return beginEpoch(tx);
      }),
    acceptManager: (project, manager) =>
      group.write("acceptManager", (tx) => acceptManager(tx, project, manager)),
    applyBatch: (batch) => applyBatch(group, ids, batch),
    delete: (request) => group.write("delete", (tx) => deleteResource(tx, request)),
    suspend: (ref, suspended) => group.write("suspend", (tx) => suspend(tx, ref, suspended)),
    enqueue: (requests) => enqueueAll(group, requests),
    claim: (request) => group.write("claim", (tx) => claimReady(tx, request, ids)),
    renew: (claim, expiresAt) =>
      group.write("renew", (tx) => {
        renewClaim(tx, claim, expiresAt);
      }),
    settle: (request) => group.write("settle", (tx) => settle(tx, request, ids)),
    setFinalizer: (claim, name, present) =>
      group.write("setFinalizer", (tx) => setFinalizer(tx, claim, { name, present })),
    beginEffect: (claim, request) =>
      group.write("beginEffect", (tx) => beginEffect(tx, claim, request)),
    settleEffect: (claim, settlement) =>
      group.write("settleEffect", (tx) => settleEffect(tx, claim, settlement)),
    resolveEffect: (uid, key, outcome, by) =>
      group.write("resolveEffect", (tx) => resolveEffect(tx, { uid, key, by }, outcome)),
    appendEvent: (uid, event, claim) =>
      group.write("appendEvent", (tx) => eventOf(tx, { uid, claim }, event)),
    repair: async (options) => ({ enqueued: await repair(group, options?.dryRun === true) }),
    ...runWrites(group, ids),
    ...syncWrites(group),
    ...sourceStore(connection, group, guard),
    retain: (limit) => group.write("retain", (tx) => retain(tx, limit)),
    pruneHistory: (options) => pruneHistory(group, options),
    close: async () => {
      await group.close();
      close(connection);
    },
  };
}

/** Looks at every error of the store for one that tells of damage, and notes the first. */
function damageWatch(
  file: string,
  onDamage: StoreOptions["onDamage"],
): (error: PiWorkflowsError) => void {
  let isKnown = false;
  return (error) => {
    if (isKnown || error.code !== "STORE_CORRUPT") return;
    isKnown = true;
    noteDamage(file);
    onDamage?.(error);
  };
}

/** The first write of this connection. Returns the queue time of the last commit before it. */
function begin(connection: Connection, clock: Clock, ids: Ids): number {
  const now = clock.now();
  connection.run(
    `INSERT INTO store_state
       (id, store_id, epoch, sequence, revision, queue_time, opened_at)
     VALUES (1, ?, 0, 0, 0, ?, ?) ON CONFLICT (id) DO UPDATE SET opened_at = excluded.opened_at`,
    ids.next(),
    now,
    now,
  );
  assertDurable(connection.database);
  return (
    connection.get<{ queue_time: number }>("SELECT queue_time FROM store_state")?.queue_time ?? now
  );
}

function close(connection: Connection): void {
  if (!connection.database.open) return;
  // So that the next start finds no log and takes this end for a clean one. A reader may prevent it.
  guarded(() => connection.database.pragma("wal_checkpoint(TRUNCATE)"));
  connection.database.close();
}
