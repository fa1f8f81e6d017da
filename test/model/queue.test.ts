import fc from "fast-check";
import { expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { backoffMs, CLASS_DELAY_MS, classOf, QUEUE_CLASSES } from "../../src/model/queue.ts";

it("B-2: the delay stays within floor and cap for any number of attempts", () => {
  fc.assert(
    fc.property(
      fc.nat(1_000_000),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempts, random) => {
        const delay = backoffMs(attempts, random);
        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(LIMITS.backoffFloorMs);
        expect(delay).toBeLessThanOrEqual(LIMITS.backoffCapMs);
      },
    ),
    { examples: [[1_000_000, 0.999]] },
  );
});

it("B-2: the delay grows until the cap, and the jitter spreads it", () => {
  const middle = Array.from({ length: 12 }, (_, attempts) => backoffMs(attempts + 1, 0.5));
  expect(middle).toEqual([...middle].sort((left, right) => left - right));
  expect(backoffMs(40, 0.999)).toBeGreaterThan(backoffMs(40, 0));
});

it("Q-9: the classes are ordered, and none is a wall", () => {
  const delays = QUEUE_CLASSES.map((name) => CLASS_DELAY_MS[name]);
  expect(delays).toEqual([...delays].sort((left, right) => left - right));
  expect(Math.max(...delays)).toBeLessThanOrEqual(30_000);
  expect([classOf("spec"), classOf("retry"), classOf("repair")]).toEqual([
    "urgent",
    "normal",
    "low",
  ]);
});
