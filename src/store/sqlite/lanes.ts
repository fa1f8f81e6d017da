import { LIMITS } from "../../model/limits.ts";
import { QUEUE_CLASSES, type QueueEntry, type WakeCause } from "../../model/queue.ts";
import type { Lane } from "../store.ts";
import type { Connection, SqlValue } from "./connection.ts";
import { laneRow, laneRows, type LaneRow } from "./managers.ts";
import type { Reading } from "./queue-time.ts";

/** Ready rows are counted up to this: a scheduler needs to know whether there is work, not how much. */
const COUNTED = 1_000;

/** Of accepted managers: all, or those whose lanes are named. */
export function lanesOf(
  connection: Connection,
  { now, queueTime }: Reading,
  only?: readonly number[],
): Lane[] {
  const running = new Map(
    connection
      .all<{ lane: number; count: number }>(
        "SELECT lane, count(*) AS count FROM queue WHERE claim_token IS NOT NULL GROUP BY lane",
      )
      .map((row) => [row.lane, row.count]),
  );
  const rows = only
    ? only.flatMap((lane) => laneRow(connection, lane) ?? [])
    : laneRows(connection);
  return rows
    .filter((lane) => lane.accepted_at !== null)
    .map((lane) => {
      const { ready, next } = readiness(connection, lane.lane, queueTime);
      return {
        lane: lane.lane,
        project: lane.project,
        manager: lane.manager,
        ready,
        running: running.get(lane.lane) ?? 0,
        ...(next === undefined ? {} : { nextReadyAt: next - queueTime + now }),
      };
    });
}

// One statement for all classes: a scheduler asks of every lane, and there is little in each.
const READINESS = [...QUEUE_CLASSES.keys()]
  .map((index) => {
    const waiting = `queue WHERE lane = ? AND class = ${index} AND claim_token IS NULL AND ready_at`;
    return `SELECT (SELECT count(*) FROM (SELECT 1 FROM ${waiting} <= ? LIMIT ${COUNTED})) AS ready,
      (SELECT ready_at FROM ${waiting} > ? ORDER BY ready_at LIMIT 1) AS next`;
  })
  .join(" UNION ALL ");

/** How much of a lane may be claimed now, and when the next of it may. */
function readiness(
  connection: Connection,
  lane: number,
  queueTime: number,
): { ready: number; next: number | undefined } {
  const values = [...QUEUE_CLASSES.keys()].flatMap(() => [lane, queueTime, lane, queueTime]);
  const rows = connection.all<{ ready: number; next: number | null }>(READINESS, ...values);
  const times = rows.flatMap(({ next }) => next ?? []);
  return {
    ready: Math.min(
      COUNTED,
      rows.reduce((sum, { ready }) => sum + ready, 0),
    ),
    next: times.length === 0 ? undefined : Math.min(...times),
  };
}

type QueueRow = {
  uid: string;
  key: string;
  class: number;
  cause: WakeCause;
  claim_cause: WakeCause | null;
  ready_at: number;
  seq: number;
  attempts: number;
  crash_attempts: number;
  claimed: 0 | 1;
  claim_expires_at: number | null;
  dirty: 0 | 1;
};

const SELECT_QUEUE = `SELECT r.uid, r.key, q.class, q.cause, q.claim_cause, q.ready_at, q.seq,
    q.attempts, q.crash_attempts, q.claim_token IS NOT NULL AS claimed, q.claim_expires_at,
    q.claim_token IS NOT NULL AND q.enqueue_seq > q.claimed_seq AS dirty
  FROM queue q JOIN resource r ON r.id = q.resource_id`;

/** Running rows first, then by the time at which they may be claimed. */
export function queueEntries(
  connection: Connection,
  query: { uid?: string; project?: string; limit?: number },
  time: Reading,
): QueueEntry[] {
  const limit = query.limit ?? LIMITS.page;
  const found = laneRows(connection, { project: query.project }).flatMap((lane) =>
    laneEntries(connection, lane, { uid: query.uid, limit }),
  );
  return found
    .sort(
      (left, right) =>
        right.row.claimed - left.row.claimed ||
        left.row.ready_at - right.row.ready_at ||
        left.row.seq - right.row.seq,
    )
    .slice(0, limit)
    .map(({ row, lane }) => toEntry(row, lane, time));
}

type Found = { row: QueueRow; lane: LaneRow };

function laneEntries(
  connection: Connection,
  lane: LaneRow,
  { uid, limit }: { uid: string | undefined; limit: number },
): Found[] {
  const rows = (where: string, ...values: SqlValue[]): Found[] =>
    connection
      .all<QueueRow>(`${SELECT_QUEUE} WHERE ${where} LIMIT ?`, ...values, limit)
      .map((row) => ({ row, lane }));
  if (uid !== undefined) return rows("r.uid = ? AND q.lane = ?", uid, lane.lane);
  return [
    ...rows("q.lane = ? AND q.claim_token IS NOT NULL", lane.lane),
    ...[...QUEUE_CLASSES.keys()].flatMap((index) =>
      rows(
        "q.lane = ? AND q.class = ? AND q.claim_token IS NULL ORDER BY q.ready_at, q.seq",
        lane.lane,
        index,
      ),
    ),
  ];
}

function toEntry(row: QueueRow, lane: LaneRow, time: Reading): QueueEntry {
  const claimed = row.claimed === 1;
  return {
    uid: row.uid,
    project: lane.project,
    resourceManager: lane.manager,
    key: row.key,
    class: QUEUE_CLASSES[row.class] ?? "low",
    cause: (claimed ? row.claim_cause : row.cause) ?? row.cause,
    // A running key may be claimed again at the latest when its claim expires.
    readyAt:
      (claimed ? (row.claim_expires_at ?? row.ready_at) : row.ready_at) - time.queueTime + time.now,
    attempts: row.attempts,
    crashAttempts: row.crash_attempts,
    claimed,
    dirty: row.dirty === 1,
  };
}
