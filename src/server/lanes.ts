import type { ManagerRecord } from "../model/batch.ts";
import { workflowLane, type WorkflowRecord } from "../model/graph.ts";
import { LIMITS } from "../model/limits.ts";
import type { Claimed } from "../store/store.ts";

/** Whose queue a lane is: of a manager's resources, or of a workflow's runs, in one project. */
export type LaneRecord = ManagerRecord | WorkflowRecord;

/** What the scheduler knows of one lane. */
export type LaneState = {
  record: LaneRecord;
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

/**
 * A claimed key, since when it waits for its place (milliseconds of the monotonic clock), and the
 * definition of its lane at that time.
 */
export type WaitingPass = { claimed: Claimed; since: number; record: LaneRecord };

/** Passes at once; `runs` of them may be passes of runs. */
export type Caps = { total: number; perProject: number; runs: number };

/**
 * The caps of a server that runs so many passes at once. A pass of a run holds its place as long as
 * its runner lives, which may be hours, also while it waits for an agent or a command; a run that
 * waits for a person holds none. So runs never get the last places: reconciles always find some that
 * are free within the deadline of a pass, however many runs there are. With one place both share it.
 */
export function capsOf(total: number = LIMITS.concurrency): Caps {
  const kept = LIMITS.concurrency - LIMITS.runConcurrency;
  return {
    total,
    perProject: Math.min(total, LIMITS.concurrencyPerProject),
    runs: Math.max(total - kept, Math.min(total, 1)),
  };
}

/** True where the lane is a workflow's: what is claimed from it are runs. */
export function isOfRuns(record: LaneRecord): record is WorkflowRecord {
  return "graph" in record;
}

/** The name by which the store and clients know the lane. */
export function laneName(record: LaneRecord): string {
  return isOfRuns(record) ? workflowLane(record.name) : record.name;
}

/** Passes of the lane at once, at most. */
export function mostOf(record: LaneRecord): number {
  return isOfRuns(record) ? LIMITS.runConcurrency : record.maxConcurrent;
}

/** How many more passes of a lane may begin. */
export type Share = { lane: LaneState; places: number };

// Below it, the commit between two passes takes longer than the passes, so that runners would wait.
const QUICK_MS = 20;
const PACE_WEIGHT = 0.2;

export function newLane(record: LaneRecord): LaneState {
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
export function aheadOf({ record, hot, pace, running, waiting, ahead }: LaneState): number {
  // The next pass of a run may last for hours, whatever the one before it took.
  if (isOfRuns(record)) return 0;
  return hot && pace < QUICK_MS ? Math.max(0, running - waiting.length - ahead) : 0;
}

/**
 * Shares the free places among lanes that have something to run: the project served longest
 * ago first, within it the lane served longest ago, and no lane more than its even part while others
 * wait. What a lane leaves over is shared again.
 */
export function share(lanes: Iterable<LaneState>, caps: Caps): Share[] {
  const projects = new Map<string, Project>();
  const room = { all: caps.total, runs: caps.runs };
  for (const lane of lanes) {
    const project = projects.get(lane.record.project) ?? {
      room: caps.perProject,
      served: 0,
      lanes: [],
    };
    projects.set(lane.record.project, project);
    room.all -= busy(lane);
    if (isOfRuns(lane.record)) room.runs -= busy(lane);
    project.room -= busy(lane);
    project.served = Math.max(project.served, lane.served);
    const wants = lane.hot || lane.waiting.length > 0;
    if (wants && busy(lane) < mostOf(lane.record)) project.lanes.push(lane);
  }
  const order = inTurn([...projects.values()].filter((project) => project.room > 0)).filter(
    ({ lane }) => room.runs > 0 || !isOfRuns(lane.record),
  );
  const even = Math.ceil(room.all / order.length);
  const shares: Share[] = [];
  for (const { lane, project } of order) {
    const ofRuns = isOfRuns(lane.record);
    const most = Math.min(mostOf(lane.record) - busy(lane), ofRuns ? room.runs : room.all);
    const places = Math.min(even, room.all, project.room, most);
    if (places <= 0) continue;
    shares.push({ lane, places });
    room.all -= places;
    if (ofRuns) room.runs -= places;
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

/**
 * How long a claim on any of these lanes must last: deadline, kill ladder, margin. A run's claim is
 * as long as that of a pass of usual length, and renewed as long as its runner lives.
 */
export function leaseFor(lanes: readonly LaneState[]): number {
  const longest = Math.max(
    ...lanes.map(({ record }) => (isOfRuns(record) ? LIMITS.deadlineMs : record.deadlineMs)),
  );
  return longest + 2 * LIMITS.killGraceMs + LIMITS.claimMarginMs;
}
