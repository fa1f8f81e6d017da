import { mergeConfig } from "vitest/config";
import usual from "../vitest.config.ts";

/** The tests of one area only, for scripts/mutants.mjs. */
const merged = mergeConfig(usual, { test: { root: new URL("..", import.meta.url).pathname } });
// A mutant that hangs is noticed soon, and without another process.
merged.test.testTimeout = 10_000;
merged.test.include = JSON.parse(process.env["MUTANT_TESTS"] ?? "[]");
export default merged;
