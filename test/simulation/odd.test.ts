import { describe, expect, it } from "vitest";
import { HAPPENINGS } from "./faults.ts";
import { LIMIT_MS, playSeeds, share } from "./seeds.ts";
import { simulate } from "./simulate.ts";

describe("a server in a world where everything fails", () => {
  it(
    "keeps to the rules after every operation, and comes to rest (odd seeds)",
    async () => {
      const { seeds, faults, failed } = await playSeeds(share(0, 2));
      expect(failed).toBe("");
      // Where there are enough of them, or it would prove nothing.
      if (seeds >= ENOUGH) expect([...faults.keys()].sort()).toEqual([...HAPPENINGS].sort());
    },
    LIMIT_MS,
  );

  it("lives the same life again for the same seed", async () => {
    for (const seed of [1, 2, 3]) {
      const lives = [await simulate(seed), await simulate(seed)];
      expect(lives[0]).toEqual(lives[1]);
    }
    expect((await simulate(1)).digest).not.toBe((await simulate(2)).digest);
  });
});

const ENOUGH = 30;
