import { describe, expect, it } from "vitest";
import { LIMIT_MS, playSeeds, share } from "./seeds.ts";

describe("a server in a world where everything fails", () => {
  it(
    "Q-1, Q-2, Q-3, Q-7, Q-8, Q-9, F-1, F-2, F-5, F-7, G-1, G-2, G-4, G-6, G-7, D-1, D-2, D-3, D-5, E-2, E-4, E-5, E-6, E-7, R-1, R-2, R-4, A-10, P-5, T-1, T-2: keeps to the rules after every operation, and comes to rest (even seeds)",
    async () => {
      const { failed } = await playSeeds(share(1, 2));
      expect(failed).toBe("");
    },
    LIMIT_MS,
  );
});
