import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

/** What takes longest, longest first: begun last, it would keep one worker alone at the end. */
const LONGEST = [
  "test/sync/random-git.test.ts",
  "test/simulation/odd.test.ts",
  "test/simulation/even.test.ts",
  "test/store/differential.test.ts",
  "test/faults/kills.test.ts",
  "test/pi/kills.test.ts",
  "test/server/sources/webhooks.test.ts",
  "test/e2e/merge-crash.test.ts",
  "test/e2e/apply.test.ts",
  "test/extension/robustness.test.ts",
  "test/extension/workflows.test.ts",
  "test/pi/faults.test.ts",
  "test/extension/commands.test.ts",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = LONGEST.findIndex((file) => moduleId.endsWith(file));
      return found < 0 ? LONGEST.length : found;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  resolve: {
    alias: {
      "@osolmaz/pi-workflows/resource-managers": source("resource-managers/index.ts"),
      "@osolmaz/pi-workflows/server": source("server/index.ts"),
      "@osolmaz/pi-workflows/testing": source("testing/index.ts"),
      "@osolmaz/pi-workflows/workflows": source("workflows/index.ts"),
      // The last: an alias is for all that begins with it.
      "@osolmaz/pi-workflows": source("workflows/index.ts"),
    },
  },
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    // Many wait for real processes rather than compute, so one more than the cores of a small machine.
    maxWorkers: 3,
  },
});
