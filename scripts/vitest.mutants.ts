import { matchesGlob, relative } from "node:path";
import { mergeConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import usual from "../vitest.config.ts";

const root = new URL("..", import.meta.url).pathname;
const tests = JSON.parse(process.env["MUTANT_TESTS"] ?? "[]") as string[];

/** In the order of the table: the first test that fails ends a mutant, so dear ones stand last. */
class AsListed extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) =>
      tests.findIndex((pattern) => matchesGlob(relative(root, moduleId), pattern));
    return Promise.resolve([...files].sort((left, right) => place(left) - place(right)));
  }
}

/** The tests of one area only, for scripts/mutants.mjs. */
const merged = mergeConfig(usual, { test: { root, sequence: { sequencer: AsListed } } });
// A mutant that hangs is noticed soon, and without another process.
merged.test.testTimeout = 10_000;
merged.test.include = tests;
export default merged;
