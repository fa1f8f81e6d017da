import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ManagerRecord } from "../../src/model/batch.ts";
import { newLane, share, type LaneState } from "../../src/server/lanes.ts";

function lane(id: number, more: Partial<LaneState> & { max?: number; project?: string } = {}) {
  const { max = 4, project = "/p", ...state } = more;
  const record = { lane: id, project, name: `m${id}`, maxConcurrent: max } as ManagerRecord;
  return { ...newLane(record), ...state };
}

const caps = { total: 8, perProject: 8 };

describe("sharing free places among lanes", () => {
  it("asks nobody where nothing is ready or no place is free", () => {
    expect(share([lane(1, { hot: false })], caps)).toBeUndefined();
    expect(share([lane(1, { max: 9, running: 8 })], caps)).toBeUndefined();
    expect(share([lane(1, { max: 2, running: 1, reserved: 1 })], caps)).toBeUndefined();
  });

  it("Q-10: asks the lane first that was served longest ago", () => {
    const shared = share([lane(1, { served: 9 }), lane(2, { served: 3 })], caps);
    expect(shared?.lanes.map((entry) => entry.lane)).toEqual([2, 1]);
  });

  it("Q-10: lets projects take turns before their lanes do", () => {
    const lanes = [
      lane(1, { served: 1 }),
      lane(2, { served: 2 }),
      lane(3, { served: 3, project: "/q" }),
    ];
    expect(share(lanes, caps)?.lanes.map((entry) => entry.lane)).toEqual([1, 3, 2]);
  });

  it("gives no lane more than its even part while others wait", () => {
    const shared = share([lane(1, { max: 100 }), lane(2, { max: 100 })], caps);
    expect(shared).toEqual({
      lanes: [
        { lane: 1, max: 4 },
        { lane: 2, max: 4 },
      ],
      limit: 8,
    });
  });

  it("never exceeds a cap, and never leaves places free that a ready lane could take", () => {
    const lanes = fc.array(
      fc.record({
        project: fc.constantFrom("/p", "/q", "/r"),
        max: fc.integer({ min: 1, max: 10 }),
        running: fc.integer({ min: 0, max: 3 }),
        reserved: fc.integer({ min: 0, max: 3 }),
        hot: fc.boolean(),
        served: fc.integer({ min: 0, max: 50 }),
      }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(
        lanes,
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 30 }),
        (all, total, perProject) => {
          const states = all.map((entry, id) => lane(id, entry));
          const busy = (state: LaneState) => state.running + state.reserved;
          const shared = share(states, { total, perProject });
          const given = new Map(shared?.lanes.map((entry) => [entry.lane, entry.max]));
          const after = (state: LaneState) => busy(state) + (given.get(state.record.lane) ?? 0);
          const sum = (some: LaneState[], of: (state: LaneState) => number) =>
            some.reduce((count, state) => count + of(state), 0);
          const ofProject = (state: LaneState) =>
            states.filter((other) => other.record.project === state.record.project);
          for (const state of states) {
            const more = given.get(state.record.lane) ?? 0;
            if (more === 0) continue;
            expect(state.hot).toBe(true);
            expect(after(state)).toBeLessThanOrEqual(state.record.maxConcurrent);
            expect(sum(ofProject(state), after)).toBeLessThanOrEqual(perProject);
            expect(sum(states, after)).toBeLessThanOrEqual(total);
          }
          if (shared)
            expect(shared.limit).toBe(sum(states, (state) => given.get(state.record.lane) ?? 0));
          const couldTake = states.filter(
            (state) =>
              state.hot &&
              busy(state) < state.record.maxConcurrent &&
              sum(ofProject(state), busy) < perProject,
          );
          if (couldTake.length > 0 && sum(states, busy) < total)
            expect(shared?.limit).toBeGreaterThan(0);
        },
      ),
      { numRuns: 300 },
    );
  });
});
