import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextDue } from "../../src/sources/schedule.ts";

const interval = fc.integer({ min: 1_000, max: 366 * 86_400_000 });
const lane = fc.integer({ min: 1, max: 1_000_000 });
const instant = fc.integer({ min: 0, max: 4_000_000_000_000 });

describe("the next due time of an interval", () => {
  it("is after now, by at most the interval", () => {
    fc.assert(
      fc.property(interval, lane, instant, (everyMs, id, now) => {
        const due = nextDue(everyMs, id, now);
        expect(Number.isInteger(due)).toBe(true);
        expect(due).toBeGreaterThan(now);
        expect(due).toBeLessThanOrEqual(now + everyMs);
      }),
    );
  });

  it("keeps its rhythm: it depends on the lane, not on when it was asked", () => {
    fc.assert(
      fc.property(interval, lane, instant, (everyMs, id, now) => {
        const due = nextDue(everyMs, id, now);
        expect(nextDue(everyMs, id, due - 1)).toBe(due);
        expect(nextDue(everyMs, id, due)).toBe(due + everyMs);
      }),
    );
  });

  it("spreads lanes over the interval", () => {
    const dues = Array.from({ length: 1_000 }, (_, id) => nextDue(60_000, id, 0) - 1);
    const perTenth = Array.from(
      { length: 10 },
      (_, tenth) => dues.filter((due) => Math.floor(due / 6_000) === tenth).length,
    );
    expect(Math.min(...perTenth)).toBeGreaterThan(60);
  });
});
