import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cronProblem, nextCron } from "../../src/sources/cron.ts";

/** The next times from `from` on, as instants of UTC. */
function times(expression: string, timezone: string, from: string, count: number): string[] {
  let now = Date.parse(from);
  return Array.from({ length: count }, () => {
    now = nextCron(expression, timezone, now) as number;
    return new Date(now).toISOString().slice(0, 16);
  });
}

describe("cron", () => {
  it("comes at its time of the day in its time zone", () => {
    expect(times("0 3 * * 1-5", "Europe/Berlin", "2026-01-02T12:00Z", 2)).toEqual([
      "2026-01-05T02:00",
      "2026-01-06T02:00",
    ]);
    expect(times("@daily", "Asia/Kolkata", "2026-01-01T00:00Z", 1)).toEqual(["2026-01-01T18:30"]);
  });

  it("a time that the clock jumps over in spring comes when it has jumped, once", () => {
    expect(times("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", 2)).toEqual([
      "2026-03-29T01:00",
      "2026-03-30T00:30",
    ]);
    expect(times("*/20 * * * *", "Europe/Berlin", "2026-03-29T00:30Z", 4)).toEqual([
      "2026-03-29T00:40",
      "2026-03-29T01:00",
      "2026-03-29T01:20",
      "2026-03-29T01:40",
    ]);
  });

  it("a time that comes twice in autumn is taken the first time; every hour is every hour", () => {
    expect(times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", 2)).toEqual([
      "2026-10-25T00:30",
      "2026-10-26T01:30",
    ]);
    expect(times("0 * * * *", "Europe/Berlin", "2026-10-24T23:30Z", 4)).toEqual([
      "2026-10-25T00:00",
      "2026-10-25T01:00",
      "2026-10-25T02:00",
      "2026-10-25T03:00",
    ]);
  });

  it("is always later than now, and never skips a day, in any zone and at any change of clocks", () => {
    const zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"];
    const zone = fc.constantFrom(...zones, "America/Santiago", "America/Havana", "Asia/Tehran");
    const daily = fc.constantFrom("30 2 * * *", "0 0 * * *", "15 1 * * *", "59 23 * * *");
    const minute = fc.integer({ min: Date.UTC(2026, 0) / 60_000, max: Date.UTC(2027, 0) / 60_000 });
    fc.assert(
      fc.property(daily, zone, minute, (expression, timezone, minutes) => {
        const now = minutes * 60_000;
        const next = nextCron(expression, timezone, now) as number;
        expect(next).toBeGreaterThan(now);
        expect(next - now).toBeLessThanOrEqual(26 * 3_600_000);
        expect(nextCron(expression, timezone, next - 1)).toBe(next);
      }),
    );
  });

  it("answers the same whether or not it remembers, also for a clock that was set back", () => {
    const at = (text: string) => nextCron("0 * * * *", "UTC", Date.parse(text));
    expect(at("2026-01-01T10:10Z")).toBe(Date.parse("2026-01-01T11:00Z"));
    expect(at("2026-01-01T10:20Z")).toBe(Date.parse("2026-01-01T11:00Z"));
    expect(at("2026-01-01T11:00Z")).toBe(Date.parse("2026-01-01T12:00Z"));
    expect(at("2026-01-01T07:30Z")).toBe(Date.parse("2026-01-01T08:00Z"));
  });

  it.each([
    ["61 * * * *", undefined, /minute: 61/],
    ["* * * *", undefined, /five/],
    ["* * * * * *", undefined, /five|mode/],
    ["", undefined, /five/],
    ["0 0 30 2 *", undefined, /never comes/],
    ["0 9 * * MON", "Mars/Phobos", /unknown time zone Mars\/Phobos/],
  ])("%j in %s is a problem", (expression, timezone, message) => {
    expect(cronProblem(expression, timezone, Date.UTC(2026, 0))).toMatch(message);
  });

  it("a good one is none", () => {
    expect(cronProblem("0 9 * * MON-FRI", "Europe/Berlin", Date.UTC(2026, 0))).toBeUndefined();
    expect(cronProblem("*/5 * * * *", undefined, Date.UTC(2026, 0))).toBeUndefined();
  });
});
