import type { ManagerRecord } from "../model/batch.ts";
import { LIMITS } from "../model/limits.ts";
import type { Claimed } from "../store/store.ts";

/** What the scheduler knows of one lane: the queue of one manager of one project. */
export type LaneState = {
  record: ManagerRecord;
  /** Passes in a runner now. */
  running: number;
  /** Claimed keys that have not begun, oldest first. */
  waiting: WaitingPass[];
  /** Places held by claims that have not been answered. */
  reserved: number;
  /** Keys asked for beyond the places there are, by claims that have not been answered. */
  ahead: number;
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
  /** How long passes take, lately. Milliseconds; none yet: infinite. */
  pace: number;
};

/** A claimed key, and since when it waits for its place: milliseconds of the monotonic clock. */
export type WaitingPass = { claimed: Claimed; since: number };

/** Passes at once. */
export type Caps = { total: number; perProject: number };

/** The caps of a server that runs so many passes at once. */
export function capsOf(total: number = LIMITS.concurrency): Caps {
  return { total, perProject: Math.min(total, LIMITS.concurrencyPerProject) };
}

/** How many more passes of a lane may begin. */
export type Share = { lane: LaneState; places: number };

// Below it, the commit between two passes takes longer than the passes, so that runners would wait.
const QUICK_MS = 20;
const PACE_WEIGHT = 0.2;

export function newLane(record: ManagerRecord): LaneState {
  return {
    record,
    running: 0,
    waiting: [],
    reserved: 0,
    ahead: 0,
    hot: true,
    wakes: 0,
    unknown: true,
    served: 0,
    pace: Number.POSITIVE_INFINITY,
  };
}

/** Something of the lane may be ready. */
export function heat(lane: LaneState): void {
  lane.hot = true;
  lane.wakes += 1;
}

/** Remembers how long a pass of the lane took. */
export function keepPace(lane: LaneState, durationMs: number): void {
  lane.pace =
    lane.pace === Number.POSITIVE_INFINITY
      ? durationMs
      : lane.pace + PACE_WEIGHT * (durationMs - lane.pace);
}

/**
 * How many keys to claim beyond the places there are. Passes so quick that runners would wait for
 * the commit between two of them get as many in advance as run now; they begin as soon as those end.
 */
export function aheadOf({ hot, pace, running, waiting, ahead }: LaneState): number {
  return hot && pace < QUICK_MS ? Math.max(0, running - waiting.length - ahead) : 0;
}

/**
 * Shares the free places among lanes that have something to run: the project served longest
 * ago first, within it the lane served longest ago, and no lane more than its even part while others
 * wait. What a lane leaves over is shared again.
 */
export function share(lanes: Iterable<LaneState>, caps: Caps): Share[] {
  const projects = new Map<string, Project>();
  let room = caps.total;
  for (const lane of lanes) {
    const project = projects.get(lane.record.project) ?? {
      room: caps.perProject,
      served: 0,
      lanes: [],
    };
    projects.set(lane.record.project, project);
    room -= busy(lane);
    project.room -= busy(lane);
    project.served = Math.max(project.served, lane.served);
    const wants = lane.hot || lane.waiting.length > 0;
    if (wants && busy(lane) < lane.record.maxConcurrent) project.lanes.push(lane);
  }
  const order = inTurn([...projects.values()].filter((project) => project.room > 0));
  const even = Math.ceil(room / order.length);
  const shares: Share[] = [];
  for (const { lane, project } of order) {
    const places = Math.min(even, room, project.room, lane.record.maxConcurrent - busy(lane));
    if (places <= 0) continue;
    shares.push({ lane, places });
    room -= places;
    project.room -= places;
  }
  return shares;
}

type Project = { room: number; served: number; lanes: LaneState[] };

/** Projects take turns, and within each its lanes. */
function inTurn(projects: Project[]): { lane: LaneState; project: Project }[] {
  projects.sort((left, right) => left.served - right.served);
  for (const { lanes } of projects) lanes.sort((left, right) => left.served - right.served);
  const longest = Math.max(0, ...projects.map(({ lanes }) => lanes.length));
  const order: { lane: LaneState; project: Project }[] = [];
  for (let turn = 0; turn < longest; turn += 1) {
    for (const project of projects) {
      const lane = project.lanes[turn];
      if (lane) order.push({ lane, project });
    }
  }
  return order;
}

function busy({ running, reserved }: LaneState): number {
  return running + reserved;
}

/** How long a claim on any of these lanes must last: deadline, kill ladder, margin. */
export function leaseFor(lanes: readonly LaneState[]): number {
  const longest = Math.max(...lanes.map(({ record }) => record.deadlineMs));
  return longest + 2 * LIMITS.killGraceMs + LIMITS.claimMarginMs;
}
