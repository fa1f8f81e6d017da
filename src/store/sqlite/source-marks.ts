import { PiWorkflowsError } from "../../model/errors.ts";
import { isWorkflowLane } from "../../model/graph.ts";
import { LIMITS } from "../../model/limits.ts";
import type { ResourceManagerStore } from "../store.ts";
import type { Connection } from "./connection.ts";
import type { GroupCommit } from "./group.ts";
import { laneRow } from "./managers.ts";
import type { Transaction } from "./transaction.ts";

type SourceStore = Pick<
  ResourceManagerStore,
  "sourceMark" | "putSourceMark" | "changedSince" | "isDelivered" | "recordDelivery"
>;

/** What sources remember. `guard` is what reads go through. */
export function sourceStore(
  connection: Connection,
  group: GroupCommit,
  guard: <T>(work: () => T) => T,
): SourceStore {
  const read = async <T>(work: () => T): Promise<T> => guard(work);
  return {
    sourceMark: (lane, source) =>
      read(() => {
        const sql = "SELECT mark FROM source_mark WHERE lane = ? AND source = ?";
        return connection.get<{ mark: string }>(sql, lane, source)?.mark;
      }),
    putSourceMark: (lane, source, mark) =>
      group.write("putSourceMark", (tx) => {
        tx.run(
          `INSERT INTO source_mark (lane, source, mark) VALUES (?, ?, ?)
           ON CONFLICT (lane, source) DO UPDATE SET mark = excluded.mark`,
          lane,
          source,
          mark,
        );
      }),
    changedSince: (lane, version) =>
      read(() => [
        ...changed(connection, "lane = ? AND state = 'live'", lane, version),
        ...changed(connection, "state = 'removed' AND removed_at > 0 AND lane = ?", lane, version),
      ]),
    isDelivered: (webhook, delivery) =>
      read(() => {
        const sql = "SELECT 1 AS found FROM webhook_delivery WHERE webhook = ? AND delivery = ?";
        return connection.get(sql, webhook, delivery) !== undefined;
      }),
    recordDelivery: async (webhook, delivery) => {
      checkDelivery(delivery);
      await group.write("recordDelivery", (tx) => {
        recordDelivery(tx, webhook, delivery);
      });
    },
  };
}

function changed(
  connection: Connection,
  where: string,
  lane: number,
  version: number,
): { uid: string; key: string }[] {
  if (isWorkflowLane(laneRow(connection, lane)?.manager ?? "")) return [];
  const sql = `SELECT uid, key FROM resource WHERE ${where} AND resource_version > ?`;
  return connection.all(sql, lane, version);
}

/** Keeps no more than LIMITS.deliveriesKept of one webhook, so that a flood can't fill the disk. */
function recordDelivery(tx: Transaction, webhook: string, delivery: string): void {
  tx.run(
    "INSERT INTO webhook_delivery (webhook, delivery, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    webhook,
    delivery,
    tx.now,
  );
  tx.run(
    "DELETE FROM webhook_delivery WHERE id <= (SELECT max(id) FROM webhook_delivery) - ?",
    LIMITS.deliveriesKept,
  );
}

/** @throws TOO_LARGE */
function checkDelivery(delivery: string): void {
  const bytes = Buffer.byteLength(delivery);
  if (bytes <= LIMITS.deliveryId) return;
  throw new PiWorkflowsError(
    "TOO_LARGE",
    `the id of a delivery has ${bytes} bytes; ${LIMITS.deliveryId} are allowed`,
  );
}

/** Forgets deliveries so old that nobody sends them again. Returns how many. */
export function retainDeliveries(tx: Transaction, limit: number): number {
  return tx.run(
    `DELETE FROM webhook_delivery WHERE id IN (SELECT id FROM webhook_delivery
       WHERE at <= ? ORDER BY at LIMIT ?)`,
    tx.now - LIMITS.deliveryKeptMs,
    limit,
  );
}
