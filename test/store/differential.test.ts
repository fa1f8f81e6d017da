import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StoredEffect } from "../../src/model/effect.ts";
import { EFFECT_TRANSITIONS } from "../../src/model/effect.ts";
import { runsHold } from "./differential-runs.ts";
import { playBoth, stories } from "./differential.ts";
import { PROJECT, type Driver } from "./support.ts";

/** Stories of each area; `npm test` plays more than a bare vitest, and `npm run soak` many. */
const STORIES = Number(process.env["MODEL_STORIES"] ?? 25);
const LIMIT_MS = 60_000 + STORIES * 2_000;
// The time limit keeps a failure's shrinking within the test's own: it prints the best so far.
const RUNS = {
  numRuns: STORIES,
  interruptAfterTimeLimit: LIMIT_MS - 10_000,
  markInterruptAsFailure: true,
};

async function queueHolds(driver: Driver): Promise<void> {
  const entries = await driver.store.queue({ project: PROJECT });
  const names = entries.map(({ resourceManager, key }) => `${resourceManager} ${key}`);
  expect(new Set(names).size).toBe(names.length);
  for (const entry of entries) {
    const found = await driver.store.get(driver.ref(entry.key, entry.resourceManager));
    expect(found?.resource.metadata.uid).toBe(entry.uid);
  }
}

async function resourcesHold(driver: Driver): Promise<void> {
  for (const manager of ["m", "n"]) {
    for (const key of ["a", "b", "c"]) {
      const found = await driver.store.get(driver.ref(key, manager));
      if (!found) continue;
      const { metadata, status } = found.resource;
      expect(status.observedGeneration).toBeLessThanOrEqual(metadata.generation);
      if (metadata.deletionTimestamp !== undefined) {
        expect(metadata.finalizers.length).toBeGreaterThan(0);
      }
    }
  }
}

async function requestsHold(driver: Driver): Promise<void> {
  await runsHold(driver);
  const { items } = await driver.store.runs({});
  const requests = items.map(({ parent, attempt, runId }) =>
    parent ? `${parent.uid} ${parent.requestKey} ${attempt}` : runId,
  );
  expect(new Set(requests).size).toBe(requests.length);
}

describe("the store does as the reference model, whatever happens", () => {
  it(
    "Q-1, Q-2, Q-3, Q-4, Q-5, Q-6, Q-7, Q-8, Q-11, Q-12, B-1, B-4, B-6, F-2, F-3, F-6, G-2, G-4, G-5: queue, claims and passes",
    async () => {
      await fc.assert(
        fc.asyncProperty(stories.queue, (story) => playBoth(story, queueHolds)),
        RUNS,
      );
    },
    LIMIT_MS,
  );

  it(
    "D-1, D-2, D-3, D-5, Q-13, G-1, G-3: deletion and finalizers",
    async () => {
      await fc.assert(
        fc.asyncProperty(stories.deletion, (story) => playBoth(story, resourcesHold)),
        RUNS,
      );
    },
    LIMIT_MS,
  );

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
