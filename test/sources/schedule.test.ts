import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { nextDue } from "../../src/sources/schedule.ts";

const interval = fc.integer({ min: 1_000, max: LIMITS.maxRequeueMs });
const instant = fc.integer({ min: 0, max: 4_000_000_000_000 });

const dueEvery = (everyMs: number, uid: string, now = 0): number | undefined =>
  nextDue([{ kind: "every", everyMs }], uid, now)?.delayMs;

describe("the next due time of an interval", () => {
  it("is the interval, or up to a tenth less", () => {
    fc.assert(
      fc.property(interval, fc.uuid(), instant, (everyMs, uid, now) => {
        const due = dueEvery(everyMs, uid, now) as number;
        expect(Number.isInteger(due)).toBe(true);
        expect(due).toBeGreaterThanOrEqual(0.9 * everyMs);
        expect(due).toBeLessThanOrEqual(everyMs);
      }),
    );
  });

  it("is the same for a resource whenever it is asked, so that a restart keeps the rhythm", () => {
    fc.assert(
      fc.property(interval, fc.uuid(), instant, (everyMs, uid, now) => {
        expect(dueEvery(everyMs, uid, now)).toBe(dueEvery(everyMs, uid, 0));
      }),
    );
  });

  it("spreads resources over the tenth, also where their uids are alike", () => {
    const dues = Array.from({ length: 1_000 }, (_, id) => dueEvery(60_000, `id-${id}`) as number);
    const perTenth = Array.from(
      { length: 10 },
      (_, tenth) => dues.filter((due) => Math.floor((60_000 - due) / 600) === tenth).length,
    );
    expect(Math.min(...perTenth)).toBeGreaterThan(60);
  });
});

describe("several sources", () => {
  const noon = Date.UTC(2026, 5, 1, 12, 0, 0);
  const hourly = { kind: "cron", expression: "0 * * * *", timezone: "UTC" } as const;

  it("the first one due is the cause", () => {
    const minutes = { kind: "every", everyMs: 600_000 } as const;
    expect(nextDue([hourly, minutes], "a", noon)).toMatchObject({ cause: "schedule" });
    const late = noon + 3_500_000;
    expect(nextDue([minutes, hourly], "a", late)).toEqual({
      delayMs: 100_000,
      cause: "cron:0 * * * *",
    });
  });

  it("those that do not go by time are never due", () => {
    const sources = [
      { kind: "files", globs: ["**"], mapped: false },
      { kind: "watch", manager: "m", mapped: false },
      { kind: "webhook", name: "w", deliveryHeader: "x" },
    ] as const;
    expect(nextDue([], "a", noon)).toBeUndefined();
    expect(
      nextDue(
        sources.map((source) => ({ ...source, globs: ["**"] })),
        "a",
        noon,
      ),
    ).toBe(undefined);
  });

  it("a time further away than a row may wait is looked at sooner", () => {
    const leap = { kind: "cron", expression: "0 0 29 2 *", timezone: "UTC" } as const;
    expect(nextDue([leap], "a", Date.UTC(2025, 0, 1))?.delayMs).toBe(LIMITS.maxRequeueMs);
  });
});
