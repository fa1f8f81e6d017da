import { LIMITS } from "../../model/limits.ts";
import { QUEUE_CLASSES, classOf, type WakeCause } from "../../model/queue.ts";
import { findLane } from "./managers.ts";
import type { EnqueueRequest, LaneTarget } from "../store.ts";
import { untimedRuns, WAITING_RUN } from "./runs/repair.ts";
import type { Transaction } from "./transaction.ts";
import type { GroupCommit } from "./group.ts";
import { PiWorkflowsError } from "../../model/errors.ts";

/** `ready_at` of a claimed row for which nothing was asked since its claim. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** Keys marked in one transaction where a request stands for a whole lane, or at a repair. */
const PAGE = 500;

export type Wake = { cause: WakeCause; delayMs?: number };

/**
 * Marks one key dirty. A waiting row keeps the earlier time and the better class; a claimed
 * one gets its time and class at settle, and becomes dirty if the wake is for now.
 */
export function enqueue(tx: Transaction, resource: { id: number; lane: number }, wake: Wake): void {
  tx.enqueued(resource.lane);
  const seq = tx.next();
  const delay = Math.ceil(wake.delayMs ?? 0);
  tx.run(
    `INSERT INTO queue (resource_id, lane, class, ready_at, seq, cause, enqueue_seq)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (resource_id) DO UPDATE SET
       cause = iif(excluded.ready_at < ready_at OR excluded.class < class, excluded.cause, cause),
       seq = iif(excluded.ready_at < ready_at, excluded.seq, seq),
       ready_at = min(ready_at, excluded.ready_at),
       class = min(class, excluded.class),
       enqueue_seq = iif(?, excluded.enqueue_seq, enqueue_seq)`,
    resource.id,
    resource.lane,
    QUEUE_CLASSES.indexOf(classOf(wake.cause)),
    tx.queueTime + delay,
    seq,
    wake.cause,
    seq,
    delay === 0 ? 1 : 0,
  );
}

type Candidate = {
  id: number;
  lane: number;
  key: string;
  suspended: 0 | 1;
  generation: number;
  held_generation: number | null;
  queued: 0 | 1;
};

const CANDIDATES = `SELECT r.id, r.lane, r.key, r.suspended, r.generation, r.held_generation,
    EXISTS (SELECT 1 FROM queue q WHERE q.resource_id = r.id) AS queued FROM resource r`;

/**
 * Wakes a resource unless it is suspended, or the runtime has stopped trying (a terminal error, too
 * many crashes) and the cause is a hint: only a new generation or a person revives it (B-6).
 */
function wake(tx: Transaction, candidate: Candidate | undefined, request: Wake): boolean {
  if (candidate === undefined || candidate.suspended === 1) return false;
  const held = candidate.held_generation === candidate.generation && candidate.queued === 0;
  if (held && request.cause !== "request") return false;
  enqueue(tx, candidate, request);
  return true;
}

/** Wakes a live resource by its uid. */
export function wakeUid(tx: Transaction, uid: string, request: Wake): boolean {
  const sql = `${CANDIDATES} WHERE r.uid = ? AND r.state = 'live'`;
  return wake(tx, tx.get<Candidate>(sql, uid), request);
}

function wakeOne(tx: Transaction, request: EnqueueRequest): boolean {
  const { target } = request;
  if ("uid" in target) return wakeUid(tx, target.uid, request);
  if ("lane" in target) return false;
  const lane = findLane(tx, target.project, target.resourceManager);
  if (lane === undefined) return false;
  const sql = `${CANDIDATES} WHERE r.lane = ? AND r.key = ? AND r.state = 'live'`;
  return wake(tx, tx.get<Candidate>(sql, lane, target.key), request);
}

/** @throws BAD_REQUEST where a delay is not a number in [0, LIMITS.maxRequeueMs]. */
export async function enqueueAll(group: GroupCommit, requests: EnqueueRequest[]): Promise<number> {
  for (const { delayMs } of requests) if (delayMs !== undefined) checkDelay(delayMs);
  const single = requests.filter(({ target }) => !("lane" in target));
  let marked =
    single.length === 0
      ? 0
      : await group.write(
          "enqueue",
          (tx) => single.filter((request) => wakeOne(tx, request)).length,
        );
  for (const request of requests) {
    if ("lane" in request.target) marked += await enqueueLane(group, request.target, request);
  }
  return marked;
}

// After every key that begins alike: no key holds a noncharacter, and SQLite compares bytes.
const LAST_CHARACTER = "\u{10FFFF}";

async function enqueueLane(
  group: GroupCommit,
  { lane, prefix = "" }: LaneTarget,
  request: Wake,
): Promise<number> {
  let marked = 0;
  for (let after: string | undefined = ""; after !== undefined;) {
    const from: string = after;
    const page: { marked: number; after: string | undefined } = await group.write(
      "enqueueLane",
      (tx) => {
        const rows = tx.all<Candidate>(
          `${CANDIDATES} WHERE r.lane = ? AND r.key > ? AND r.key >= ? AND r.key < ?
             AND r.state = 'live' ORDER BY r.key LIMIT ${PAGE}`,
          lane,
          from,
          prefix,
          `${prefix}${LAST_CHARACTER}`,
        );
        return {
          marked: rows.filter((row) => wake(tx, row, request)).length,
          after: rows.length === PAGE ? rows.at(-1)?.key : undefined,
        };
      },
    );
    marked += page.marked;
    after = page.after;
  }
  return marked;
}

/**
 * Enqueues every live resource without a queue row, page by page so that other work goes on. Keys
 * that the runtime has stopped trying stay so: repair restores what a lost queue held. Runs
 * that wait for a person get back the time of their deadline.
 */
export async function repair(group: GroupCommit, dryRun: boolean): Promise<number> {
  let enqueued = 0;
  for (let after = 0; ;) {
    const from = after;
    const page = await group.write("repair", (tx) => {
      // A window of ids, not of results: a page costs the same however few rows are missing.
      const last = tx.get<{ id: number }>(
        "SELECT id FROM resource WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?",
        from,
        PAGE - 1,
      )?.id;
      const rows = tx.all<Candidate>(
        `${CANDIDATES} WHERE r.id > ? AND r.id <= ? AND r.state = 'live' AND r.suspended = 0
           AND r.held_generation IS NOT r.generation AND NOT ${WAITING_RUN}
           AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.resource_id = r.id)`,
        from,
        last ?? NEVER,
      );
      const untimed = untimedRuns(tx, { after: from, last: last ?? NEVER });
      if (!dryRun) {
        for (const row of rows) enqueue(tx, row, { cause: "repair" });
        for (const row of untimed) enqueue(tx, row, { cause: "schedule", delayMs: row.delayMs });
      }
      return { count: rows.length + untimed.length, last };
    });
    enqueued += page.count;
    if (page.last === undefined) return enqueued;
    after = page.last;
  }
}

/** @throws BAD_REQUEST where `delayMs` is no number from 0 to LIMITS.maxRequeueMs. */
export function checkDelay(delayMs: number): void {
  if (delayMs >= 0 && delayMs <= LIMITS.maxRequeueMs) return;
  throw new PiWorkflowsError(
    "BAD_REQUEST",
    `a delay of ${delayMs} ms can't be used: it must lie between 0 and ${LIMITS.maxRequeueMs}`,
  );
}
