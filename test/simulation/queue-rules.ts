import { LIMITS } from "../../src/model/limits.ts";
import { CLASS_DELAY_MS, QUEUE_CLASSES } from "../../src/model/queue.ts";
import type { Change, QueueRow } from "./store-state.ts";

/** Operations that end passes. */
export const PASS_ENDS = new Set(["settle", "claim", "beginEpoch"]);

/** However the clock is set between the asking for a lease and the giving of it. */
const LONGEST_LEASE_MS = LIMITS.maxDeadlineMs + 2 * LIMITS.killGraceMs + LIMITS.claimMarginMs;

/** What is wrong with what an operation did to the queue. */
export function queueProblems({ name, before, after }: Change): string[] {
  const problems: string[] = [];
  for (const [id, row] of after.queue) {
    const old = before.queue.get(id);
    const resource = after.byId.get(id);
    const what = `${resource?.manager} ${resource?.key} ${resource?.uid}`;
    if (resource?.state !== "live") problems.push(`Q-13: a row of what is removed: ${what}`);
    if (row.claim_token !== null && row.claim_token !== old?.claim_token) {
      problems.push(...claimProblems({ name, before, after }, row, what));
    }
    if (row === old) continue;
    problems.push(...countProblems({ name, before, after }, row, what));
    problems.push(...timeProblems({ name, before, after }, row, what));
    const wasDirty = old && old.claim_token !== null && old.enqueue_seq > (old.claimed_seq ?? 0);
    if (wasDirty && row.claim_token === null && row.ready_at > old.ready_at) {
      problems.push(`Q-3: what was asked for during the pass waits: ${what}`);
    }
  }
  for (const [id, old] of before.queue) {
    if (after.queue.has(id)) continue;
    const resource = after.byId.get(id);
    const isDirty = old.claim_token !== null && old.enqueue_seq > (old.claimed_seq ?? 0);
    const run = after.runs.get(id);
    const mayLeave = resource?.state !== "live" || resource.suspended === 1 || run !== undefined;
    if (isDirty && !mayLeave) {
      problems.push(`Q-3: what was asked for during the pass is forgotten: ${resource?.uid}`);
    }
  }
  if (name === "beginEpoch") {
    for (const row of after.queue.values()) {
      if (row.claim_token !== null) problems.push("F-7: a claim outlived its server");
    }
  }
  return problems;
}

function claimProblems({ name, before, after }: Change, row: QueueRow, what: string): string[] {
  const problems: string[] = [];
  const old = before.queue.get(row.resource_id);
  const resource = after.byId.get(row.resource_id);
  if (name !== "claim" && name !== "settle") problems.push(`Q-8: ${name} claimed ${what}`);
  if (old?.claim_token !== null && (old?.claim_expires_at ?? 0) > after.queueTime) {
    if (name !== "settle") problems.push(`Q-7, Q-8: a live claim was taken over: ${what}`);
  }
  if (resource?.suspended === 1) problems.push(`Q-7: a suspended key was claimed: ${what}`);
  for (const first of overtaken({ before, after }, row)) {
    problems.push(`Q-9, Q-11: ${what} was claimed before ${after.byId.get(first)?.uid}`);
  }
  const newest = Math.max(
    0,
    ...[...before.queue.values()].map(({ claim_generation }) => claim_generation ?? 0),
  );
  if ((row.claim_generation ?? 0) <= newest) problems.push(`F-2: an old generation: ${what}`);
  if (row.read_generation !== resource?.generation) {
    problems.push(`G-4: it was claimed at another generation: ${what}`);
  }
  return problems;
}

/** Attempts are counted by passes that end, each once, and not past the most (B-1, B-6). */
function countProblems({ name, before }: Change, row: QueueRow, what: string): string[] {
  const old = before.queue.get(row.resource_id);
  const problems: string[] = [];
  const failed = row.attempts - (old?.attempts ?? 0);
  const crashed = row.crash_attempts - (old?.crash_attempts ?? 0);
  const isEnd = PASS_ENDS.has(name) && old !== undefined && old.claim_token !== null;
  if (failed > (isEnd ? 1 : 0)) problems.push(`B-1: ${name} counted ${failed} attempts: ${what}`);
  if (crashed > (isEnd ? 1 : 0)) problems.push(`B-6: ${name} counted ${crashed} crashes: ${what}`);
  if (failed > 0 && crashed > 0) problems.push(`B-6: one pass failed and crashed: ${what}`);
  if (row.crash_attempts >= LIMITS.crashAttempts) problems.push(`B-6: it is not parked: ${what}`);
  if (
    name === "repair" &&
    old &&
    (failed < 0 || crashed < 0 || row.claim_token !== old.claim_token)
  )
    problems.push(`R-5: a repair lowered what was counted, or ended a claim: ${what}`);
  return problems;
}

/** When a row is looked at again: not later than asked for, nor later than anything waits. */
function timeProblems({ name, before, after }: Change, row: QueueRow, what: string): string[] {
  const old = before.queue.get(row.resource_id);
  const resource = after.byId.get(row.resource_id);
  const { queueTime } = after;
  const problems: string[] = [];
  if (row.claim_token !== null) {
    const left = (row.claim_expires_at ?? 0) - queueTime;
    if (left > LONGEST_LEASE_MS) problems.push(`T-1: its claim lasts ${left} ms: ${what}`);
    return problems;
  }
  const isWaiting = old !== undefined && old.claim_token === null;
  if (isWaiting && row.ready_at > old.ready_at) {
    problems.push(`Q-5: ${name} made it wait longer: ${what}`);
  }
  if (
    name === "repair" &&
    isWaiting &&
    row.ready_at !== old.ready_at &&
    old.backoff_until !== null
  ) {
    problems.push(`R-5: a repair ended its backoff: ${what}`);
  }
  const backoff = row.backoff_until;
  if (backoff !== null && backoff !== old?.backoff_until) {
    const delay = backoff - queueTime;
    if (delay < LIMITS.backoffFloorMs || delay > LIMITS.backoffCapMs) {
      problems.push(`B-2: it backs off for ${delay} ms: ${what}`);
    }
  }
  // Runs wait for people until their deadline.
  if (!after.runs.has(row.resource_id) && row.ready_at - queueTime > LIMITS.backoffCapMs) {
    problems.push(`T-1: it waits for ${row.ready_at - queueTime} ms: ${what}`);
  }
  const hasEnded = PASS_ENDS.has(name) && old !== undefined && old.claim_token !== null;
  const isBehind = (resource?.generation ?? 0) > (old?.read_generation ?? 0);
  if (hasEnded && isBehind && row.ready_at > queueTime) {
    problems.push(`G-5: its spec changed during the pass, and it waits: ${what}`);
  }
  return problems;
}

/** Ready rows of the lane that were to be claimed before this one. */
function overtaken({ before, after }: Omit<Change, "name">, claimed: QueueRow): number[] {
  const was = before.queue.get(claimed.resource_id);
  // It was claimed again in the operation that ended its last claim: what it was between is not seen.
  if (!was || was.claim_token !== null) return [];
  return [...before.queue.values()]
    .filter(({ lane, claim_token: token }) => lane === claimed.lane && token === null)
    .filter(({ ready_at: at }) => at <= after.queueTime)
    .filter((row) => after.queue.get(row.resource_id)?.claim_token === null)
    .filter(
      (row) => rankOf(row) < rankOf(was) || (rankOf(row) === rankOf(was) && row.seq < was.seq),
    )
    .map((row) => row.resource_id);
}

/** A class is so much time: what has waited for longer goes before a better one. */
function rankOf({ class: index, ready_at: at }: QueueRow): number {
  const name = QUEUE_CLASSES[index];
  return at + CLASS_DELAY_MS[name];
}
