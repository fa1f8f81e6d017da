import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { playBoth } from "./differential.ts";
import { LIMIT_MS, RUNS, stories } from "./stories.ts";
import { PROJECT, type Driver } from "./words.ts";

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
});
