import type { EventInput, ResourceEvent } from "../../model/event.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import { byteLength, LIMITS, truncate } from "../../model/limits.ts";
import { redact, redactText } from "../../model/redact.ts";
import { claimedResource } from "./claimed.ts";
import { resourceByUid } from "./resources.ts";
import type { Claim, EventQuery } from "../store.ts";
import type { Connection } from "./connection.ts";
import type { LaneNames } from "./resource-row.ts";
import type { Transaction } from "./transaction.ts";

type EventRow = {
  sequence: number;
  uid: string;
  key: string;
  type: ResourceEvent["type"];
  reason: string;
  message: string;
  payload: string | null;
  count: number;
  first_at: number;
  last_at: number;
} & LaneNames;

/**
 * Rows of one type and reason that a resource may have before further messages are folded into the
 * latest of them: a message with a number in it can't push out everything else.
 */
const MESSAGES_PER_REASON = 10;

/**
 * Appends an event, or folds it into an equal one, which gets its count, time and place in the
 * order. Text is redacted here, the one place where events are written.
 * @throws TOO_LARGE, BAD_REQUEST
 */
export function appendEvent(tx: Transaction, resourceId: number, input: EventInput): number {
  const event = checkEvent(input);
  const alike = tx.all<{ sequence: number; message: string }>(
    `SELECT sequence, message FROM event WHERE resource_id = ? AND type = ? AND reason = ?
     ORDER BY sequence DESC LIMIT ${MESSAGES_PER_REASON}`,
    resourceId,
    event.type,
    event.reason,
  );
  const same =
    alike.find((row) => row.message === event.message) ??
    (alike.length === MESSAGES_PER_REASON ? alike[0] : undefined);
  if (same === undefined) return insertEvent(tx, resourceId, event);
  const sequence = tx.next();
  tx.run(
    `UPDATE event SET sequence = ?, message = ?, payload = ?, count = count + 1, last_at = ?
     WHERE sequence = ?`,
    sequence,
    event.message,
    event.payload,
    tx.now,
    same.sequence,
  );
  return sequence;
}

/** Appends an event that can't have an equal one yet. */
export function firstEvent(tx: Transaction, resourceId: number, input: EventInput): number {
  return insertEvent(tx, resourceId, checkEvent(input));
}

type CheckedEvent = Omit<EventInput, "payload"> & { payload: string | null };

function insertEvent(tx: Transaction, resourceId: number, event: CheckedEvent): number {
  const sequence = tx.next();
  tx.run(
    `INSERT INTO event (sequence, resource_id, type, reason, message, payload, count, first_at, last_at)
     VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?)`,
    sequence,
    resourceId,
    event.type,
    event.reason,
    event.message,
    event.payload,
    tx.now,
    tx.now,
  );
  if (isTrimTurn(sequence)) trimEvents(tx, resourceId);
  return sequence;
}

function checkEvent(input: EventInput): CheckedEvent {
  if (input.reason === "" || input.reason.length > LIMITS.name) {
    throw new PiWorkflowsError(
      "BAD_REQUEST",
      `an event's reason must have 1 to ${LIMITS.name} characters`,
    );
  }
  const payload = input.payload === undefined ? null : JSON.stringify(redact(input.payload));
  if (payload !== null && byteLength(payload) > LIMITS.eventPayload) {
    throw new PiWorkflowsError(
      "TOO_LARGE",
      `the payload of event ${input.reason} has ${byteLength(payload)} bytes; ${LIMITS.eventPayload} are allowed`,
    );
  }
  const message = truncate(redactText(input.message));
  return { type: input.type, reason: input.reason, message, payload };
}

/**
 * True for one number in sixteen, by a hash so that no resource is always passed over: trimming on
 * each write would cost more than the write.
 */
export function isTrimTurn(sequence: number): boolean {
  return Math.imul(sequence, 0x9e37_79b1) >>> 28 === 0;
}

// The first warning is kept: it says when a long trouble began.
function trimEvents(tx: Transaction, resourceId: number): void {
  tx.run(
    `DELETE FROM event WHERE resource_id = ?
       AND sequence <= (SELECT sequence FROM event WHERE resource_id = ?
                        ORDER BY sequence DESC LIMIT 1 OFFSET ${LIMITS.eventsKept})
       AND sequence <> ifnull((SELECT sequence FROM event WHERE resource_id = ?
                               AND type = 'Warning' ORDER BY first_at, sequence LIMIT 1), 0)`,
    resourceId,
    resourceId,
    resourceId,
  );
}

const SELECT_EVENTS = `SELECT e.sequence, r.uid, r.key, e.type, e.reason, e.message, e.payload,
    e.count, e.first_at, e.last_at, m.name AS manager, p.path AS project
  FROM event e JOIN resource r ON r.id = e.resource_id
  JOIN manager m ON m.lane = r.lane JOIN project p ON p.id = m.project_id`;

/**
 * Appends an event to a resource, live or removed, and returns it as stored.
 * @throws NOT_FOUND, LEASE_LOST where a claim is given that no longer holds, TOO_LARGE, BAD_REQUEST
 */
export function eventOf(
  tx: Transaction,
  { uid, claim }: { uid: string; claim: Claim | undefined },
  input: EventInput,
): ResourceEvent {
  const id = claim ? claimedResource(tx, claim).id : resourceByUid(tx, uid)?.id;
  if (id === undefined) throw new PiWorkflowsError("NOT_FOUND", `there is no resource ${uid}`);
  const sequence = appendEvent(tx, id, input);
  return toEvent(tx.get<EventRow>(`${SELECT_EVENTS} WHERE e.sequence = ?`, sequence) as EventRow);
}

/** A resource's by its index, a project's along the order of all. */
export function readEvents(connection: Connection, query: EventQuery): ResourceEvent[] {
  const { uid, project, after = 0, limit = LIMITS.page } = query;
  const resource = uid === undefined ? "? IS NULL" : "r.uid = ?";
  return connection
    .all<EventRow>(
      `${SELECT_EVENTS} WHERE ${resource} AND e.sequence > ? AND p.path = ifnull(?, p.path)
       ORDER BY e.sequence ${query.newestFirst === true ? "DESC" : "ASC"} LIMIT ?`,
      uid ?? null,
      after,
      project ?? null,
      limit,
    )
    .map(toEvent);
}

function toEvent(row: EventRow): ResourceEvent {
  return {
    sequence: row.sequence,
    uid: row.uid,
    project: row.project,
    resourceManager: row.manager,
    key: row.key,
    type: row.type,
    reason: row.reason,
    message: row.message,
    ...(row.payload === null
      ? {}
      : { payload: JSON.parse(row.payload) as NonNullable<ResourceEvent["payload"]> }),
    count: row.count,
    firstAt: row.first_at,
    lastAt: row.last_at,
  };
}
