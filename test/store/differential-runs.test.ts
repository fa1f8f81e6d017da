import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EFFECT_TRANSITIONS, type StoredEffect } from "../../src/model/effect.ts";
import { runsHold } from "./differential-runs.ts";
import { playBoth } from "./differential.ts";
import { LIMIT_MS, RUNS, stories } from "./stories.ts";
import type { Driver } from "./words.ts";

async function requestsHold(driver: Driver): Promise<void> {
  await runsHold(driver);
  const { items } = await driver.store.runs({});
  const requests = items.map(({ parent, attempt, runId }) =>
    parent ? `${parent.uid} ${parent.requestKey} ${attempt}` : runId,
  );
  expect(new Set(requests).size).toBe(requests.length);
}

describe("the store does as the reference model with runs and effects", () => {
  it(
    "R-1, R-2, R-3, R-4, R-5, D-2, F-1, F-6, B-6: runs, child runs, and what people say to them",
    async () => {
      await fc.assert(
        fc.asyncProperty(stories.runs, (story) => playBoth(story, requestsHold)),
        RUNS,
      );
    },
    LIMIT_MS,
  );

  it(
    "E-2, E-3, E-4, E-5, E-9, E-10, D-7: effects",
    async () => {
      const seen = new Map<string, StoredEffect>();
      const transitionsHold = async (driver: Driver) => {
        for (const effect of await driver.store.effects({})) {
          const id = `${effect.resourceUid} ${effect.key}`;
          const before = seen.get(id);
          seen.set(id, effect);
          if (!before) continue;
          expect(effect.sequence).toBeGreaterThanOrEqual(before.sequence);
          expect(effect.requestFingerprint).toBe(before.requestFingerprint);
          if (EFFECT_TRANSITIONS[before.state].length === 0) expect(effect).toEqual(before);
        }
      };
      await fc.assert(
        fc.asyncProperty(stories.effects, async (story) => {
          seen.clear();
          await playBoth(story, transitionsHold);
        }),
        RUNS,
      );
    },
    LIMIT_MS,
  );
});
