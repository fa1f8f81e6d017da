import { expect, it } from "vitest";
import { isConditionTrue, mergeConditions } from "../../src/model/condition.ts";

const T0 = Date.UTC(2026, 0, 1);
const T1 = T0 + 60_000;
const iso = (time: number) => new Date(time).toISOString();
const ready = (status: boolean, reason: string) => ({ type: "Ready", status, reason });

it("G-7: lastTransitionTime moves if and only if the status changes; a new type gets now", () => {
  const first = mergeConditions([], [ready(false, "Waiting")], 1, T0);
  expect(first[0]).toMatchObject({
    status: false,
    lastTransitionTime: iso(T0),
    observedGeneration: 1,
  });

  const otherReason = mergeConditions(first, [ready(false, "Blocked")], 2, T1);
  expect(otherReason[0]).toMatchObject({
    reason: "Blocked",
    lastTransitionTime: iso(T0),
    observedGeneration: 2,
  });

  const flipped = mergeConditions(otherReason, [ready(true, "Merged")], 2, T1);
  expect(flipped[0]).toMatchObject({ status: true, lastTransitionTime: iso(T1) });
});

it("G-7: types are unique, and types not named are kept", () => {
  const merged = mergeConditions(
    mergeConditions(
      [],
      [ready(false, "A"), { type: "Observed", status: true, reason: "Seen" }],
      1,
      T0,
    ),
    [ready(true, "B"), ready(false, "C")],
    1,
    T1,
  );
  expect(merged.map(({ type, reason }) => [type, reason])).toEqual([
    ["Ready", "C"],
    ["Observed", "Seen"],
  ]);
});

it("G-2: says the same again without making a change", () => {
  const before = mergeConditions([], [ready(true, "Done")], 3, T0);
  expect(mergeConditions(before, [ready(true, "Done")], 3, T1)).toBe(before);
});

it("G-10: a condition of an older generation is not trusted", () => {
  const conditions = mergeConditions([], [ready(true, "Done")], 1, T0);
  expect(isConditionTrue(conditions, "Ready", 1)).toBe(true);
  expect(isConditionTrue(conditions, "Ready", 2)).toBe(false);
});
