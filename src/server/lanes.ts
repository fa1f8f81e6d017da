import { LIMITS } from "../model/limits.ts";
import type { ManagerRecord } from "../model/batch.ts";

/** What the scheduler knows of one lane: the queue of one manager of one project. */
export type LaneState = {
  record: ManagerRecord;
  /** Passes in a runner now. */
  running: number;
  /** Places held by claims that have not been answered. */
  reserved: number;
  /** True while a claim may find something. */
  hot: boolean;
  /** Rises with every wake, so that an empty claim does not undo a wake that came after it. */
  wakes: number;
  /** When the next waiting row becomes ready, as far as is known. Epoch milliseconds. */
  nextReadyAt?: number;
  /** The part of it that was learned since the last look at the store began. */
  noted?: number;
  /** True when waiting rows behind the next one are not known, so that an empty claim must look. */
  unknown: boolean;
  /** Order of the latest pass: the lane served longest ago comes first. */
  served: number;
};

/** Passes at once. */
export type Caps = { total: number; perProject: number };

/** Lanes to ask, best first, with how many each may get. */
export type Share = { lanes: { lane: number; max: number }[]; limit: number };

export function newLane(record: ManagerRecord): LaneState {
  return { record, running: 0, reserved: 0, hot: true, wakes: 0, unknown: true, served: 0 };
}

/**
 * Shares the free places among lanes that have something ready: the project served longest
 * ago first, within it the lane served longest ago, and no lane more than its even part while others
 * wait. What a lane leaves over is shared again by the next claim. Undefined when nothing can be
 * claimed.
 */
export function share(lanes: Iterable<LaneState>, caps: Caps): Share | undefined {
  const all = [...lanes];
  const busy = (lane: LaneState): number => lane.running + lane.reserved;
  let room = caps.total - sum(all.map(busy));
  const projects = new Map<string, { room: number; served: number; lanes: LaneState[] }>();
  for (const lane of all) {
    const entry = projects.get(lane.record.project) ?? {
      room: caps.perProject,
      served: 0,
      lanes: [],
    };
    projects.set(lane.record.project, entry);
    entry.room -= busy(lane);
    entry.served = Math.max(entry.served, lane.served);
    if (lane.hot && busy(lane) < lane.record.maxConcurrent) entry.lanes.push(lane);
  }
  const open = [...projects.values()].filter(({ room, lanes }) => room > 0 && lanes.length > 0);
  for (const { lanes } of open) lanes.sort((a, b) => a.served - b.served);
  open.sort((a, b) => a.served - b.served);
  const order = interleave(open);
  if (room <= 0 || order.length === 0) return undefined;
  const even = Math.ceil(room / order.length);
  const shares: Share["lanes"] = [];
  for (const { lane, project } of order) {
    const max = Math.min(even, room, project.room, lane.record.maxConcurrent - busy(lane));
    if (max <= 0) continue;
    shares.push({ lane: lane.record.lane, max });
    room -= max;
    project.room -= max;
  }
  return { lanes: shares, limit: sum(shares.map(({ max }) => max)) };
}

function interleave<P extends { lanes: LaneState[] }>(
  projects: readonly P[],
): { lane: LaneState; project: P }[] {
  const order: { lane: LaneState; project: P }[] = [];
  const longest = Math.max(0, ...projects.map(({ lanes }) => lanes.length));
  for (let turn = 0; turn < longest; turn += 1) {
    for (const project of projects) {
      const lane = project.lanes[turn];
      if (lane) order.push({ lane, project });
    }
  }
  return order;
}

/** How long a claim on any of these lanes must last: deadline, kill ladder, margin. */
export function leaseFor(lanes: readonly LaneState[]): number {
  const longest = Math.max(...lanes.map(({ record }) => record.deadlineMs));
  return longest + 2 * LIMITS.killGraceMs + LIMITS.claimMarginMs;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
