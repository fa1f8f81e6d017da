import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ManagerRecord } from "../../src/model/batch.ts";
import { LIMITS } from "../../src/model/limits.ts";
import type { WorkflowRecord } from "../../src/model/graph.ts";
import {
  aheadOf,
  capsOf,
  isOfRuns,
  keepPace,
  mostOf,
  newLane,
  share,
  type LaneState,
} from "../../src/server/lanes.ts";
import type { Claimed } from "../../src/store/store.ts";

type LaneOptions = Partial<LaneState> & { max?: number; project?: string; runs?: boolean };

function lane(id: number, more: LaneOptions = {}): LaneState {
  const { max = 4, project = "/p", runs = false, ...state } = more;
  const record = { lane: id, project, name: `m${id}`, maxConcurrent: max } as ManagerRecord;
  const workflow = { lane: id, project, name: `w${id}`, graph: {} } as WorkflowRecord;
  return { ...newLane(runs ? workflow : record), ...state };
}

const waiting = { claimed: {} as Claimed, since: 0, record: {} as ManagerRecord };
const caps = { total: 8, perProject: 8, runs: 6 };
const places = (lanes: LaneState[], limits = caps) =>
  share(lanes, limits).map((entry) => [entry.lane.record.lane, entry.places]);

describe("sharing free places among lanes", () => {
  it("gives none where nothing is ready or no place is free", () => {
    expect(places([lane(1, { hot: false })])).toEqual([]);
    expect(places([lane(1, { max: 9, running: 8 })])).toEqual([]);
    expect(places([lane(1, { max: 2, running: 1, reserved: 1 })])).toEqual([]);
  });

  it("gives places to what is claimed already", () => {
    expect(places([lane(1, { hot: false, waiting: [waiting] })])).toEqual([[1, 4]]);
  });

  it("Q-10: serves the lane first that was served longest ago", () => {
    const shares = places([lane(1, { served: 9 }), lane(2, { served: 3 })]);
    expect(shares.map(([id]) => id)).toEqual([2, 1]);
  });

  it("Q-10: lets projects take turns before their lanes do", () => {
    const lanes = [
      lane(3, { served: 3, project: "/q" }),
      lane(1, { served: 1 }),
      lane(2, { served: 2 }),
    ];
    expect(places(lanes).map(([id]) => id)).toEqual([1, 3, 2]);
  });

  it("gives no lane more than its even part while others wait", () => {
    expect(places([lane(1, { max: 100 }), lane(2, { max: 100 })])).toEqual([
      [1, 4],
      [2, 4],
    ]);
  });

  it("never exceeds a cap, and never leaves places free that a ready lane could take", () => {
    const states = fc.array(
      fc.record({
        project: fc.constantFrom("/p", "/q", "/r"),
        max: fc.integer({ min: 1, max: 10 }),
        running: fc.integer({ min: 0, max: 3 }),
        reserved: fc.integer({ min: 0, max: 3 }),
        hot: fc.boolean(),
        runs: fc.boolean(),
        served: fc.integer({ min: 0, max: 50 }),
      }),
      { maxLength: 12 },
    );
    const cap = fc.integer({ min: 1, max: 30 });
    fc.assert(
      fc.property(states, cap, cap, cap, (all, total, perProject, runs) => {
        const lanes = all.map((entry, id) => lane(id, entry));
        const given = new Map(places(lanes, { total, perProject, runs }) as [number, number][]);
        const busy = (state: LaneState) => state.running + state.reserved;
        const more = (state: LaneState) => given.get(state.record.lane) ?? 0;
        const sum = (some: LaneState[], of: (state: LaneState) => number) =>
          some.reduce((count, state) => count + of(state), 0);
        const siblings = (state: LaneState) =>
          lanes.filter((other) => other.record.project === state.record.project);
        const ofRuns = lanes.filter(({ record }) => isOfRuns(record));
        for (const state of lanes.filter((one) => more(one) > 0)) {
          expect(state.hot).toBe(true);
          expect(busy(state) + more(state)).toBeLessThanOrEqual(mostOf(state.record));
          expect(sum(siblings(state), (one) => busy(one) + more(one))).toBeLessThanOrEqual(
            perProject,
          );
          expect(sum(lanes, (one) => busy(one) + more(one))).toBeLessThanOrEqual(total);
          if (!isOfRuns(state.record)) continue;
          expect(sum(ofRuns, (one) => busy(one) + more(one))).toBeLessThanOrEqual(runs);
        }
        const couldTake = lanes.some(
          (state) =>
            state.hot &&
            busy(state) < mostOf(state.record) &&
            sum(siblings(state), busy) < perProject &&
            (!isOfRuns(state.record) || sum(ofRuns, busy) < runs),
        );
        if (couldTake && sum(lanes, busy) < total) expect(given.size).toBeGreaterThan(0);
      }),
      { numRuns: 300 },
    );
  });
});

describe("places of runs", () => {
  it("LIMITS.runConcurrency: however many runs there are, reconciles have the places left", () => {
    const all = capsOf();
    const { runConcurrency, concurrency } = LIMITS;
    expect(all).toMatchObject({ total: concurrency, runs: runConcurrency });
    const lanes = [lane(1, { runs: true }), lane(2, { runs: true }), lane(3, { runs: true })];
    for (const [state, count] of places(lanes, all).map(([id, more]) => [lanes[id! - 1]!, more!]))
      (state as LaneState).running = count as number;
    expect(lanes.reduce((sum, { running }) => sum + running, 0)).toBe(runConcurrency);
    const quiet = lane(4);
    expect(places([...lanes, quiet], all)).toEqual([[4, concurrency - runConcurrency]]);
  });

  it("are some on the smallest server too, and none where there are none", () => {
    expect([0, 1, 2, 3, 8, 20].map((total) => capsOf(total).runs)).toEqual([0, 1, 1, 1, 6, 18]);
  });

  it("are claimed when they are free, not ahead", () => {
    expect(aheadOf(lane(1, { runs: true, pace: 1, running: 3 }))).toBe(0);
  });
});

describe("claiming ahead", () => {
  const quick = (more: Partial<LaneState> = {}) => lane(1, { pace: 1, running: 3, ...more });

  it("is for quick passes only, as many as run", () => {
    expect(aheadOf(quick())).toBe(3);
    expect(aheadOf(quick({ pace: 100 }))).toBe(0);
    expect(aheadOf(quick({ pace: Number.POSITIVE_INFINITY }))).toBe(0);
    expect(aheadOf(quick({ running: 0 }))).toBe(0);
    expect(aheadOf(quick({ hot: false }))).toBe(0);
    expect(aheadOf(quick({ waiting: [waiting], ahead: 1 }))).toBe(1);
  });

  it("ends when passes have become slow", () => {
    const state = lane(1);
    keepPace(state, 2);
    expect(state.pace).toBe(2);
    for (let pass = 0; pass < 5; pass += 1) keepPace(state, 1_000);
    expect(state.pace).toBeGreaterThan(500);
  });
});
