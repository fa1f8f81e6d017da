import Database from "better-sqlite3";
import type { Clock, Ids } from "../../model/ports.ts";
import { Connection } from "./connection.ts";
import { removeBackupTables } from "./backup.ts";
import { openDatabase } from "./database.ts";
import { markRestored } from "./doubt.ts";
import { enqueueAll } from "./enqueue.ts";
import { guarded } from "./errors.ts";
import { GroupCommit } from "./group.ts";
import { managerLanes } from "./managers.ts";
import { QueueTime } from "./queue-time.ts";

/**
 * Makes a copy of a backup a store of its own: today's schema, a new identity, everything that it does
 * not know in doubt (E-12), and every resource ready to be looked at. It is one file when it resolves.
 * @throws UNSUPPORTED, STORE_CORRUPT
 */
export async function makeRestored(
  copy: string,
  { clock, ids }: { clock: Clock; ids: Ids },
): Promise<{ storeId: string }> {
  const connection = new Connection(guarded(() => openDatabase(copy)));
  try {
    removeBackupTables(connection.database);
    const latest = connection.get<{ queue_time: number }>("SELECT queue_time FROM store_state");
    const group = new GroupCommit(connection, new QueueTime(clock, latest?.queue_time ?? 0));
    const storeId = ids.next();
    await group.write("restore", (tx) => markRestored(tx, storeId));
    const lanes = managerLanes(connection).map(({ lane }) => ({ lane }));
    await enqueueAll(
      group,
      lanes.map((target) => ({ target, cause: "recovery" })),
    );
    await group.close();
    return { storeId };
  } finally {
    leaveOneFile(connection);
  }
}

/** How long readers are waited for; without them the log is settled at once. */
const SETTLE_MS = 500;

/**
 * Writes everything that a store's log holds into its database, so that the file is all of it; changes
 * nothing else. False where it can't: then the log belongs to what is kept of the store.
 */
export function settleLog(file: string): boolean {
  try {
    const database = new Database(file, { fileMustExist: true, timeout: SETTLE_MS });
    try {
      const [{ busy }] = database.pragma("wal_checkpoint(TRUNCATE)") as [{ busy: number }];
      return busy === 0;
    } finally {
      database.close();
    }
  } catch {
    return false;
  }
}

function leaveOneFile({ database }: Connection): void {
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
}
