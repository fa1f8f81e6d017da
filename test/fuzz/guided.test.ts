// First: it counts what is compiled after it.
import { openCoverage } from "./support/coverage.ts";
import { describe, expect, it } from "vitest";
import { count } from "../support/figures.ts";
import { explore } from "./support/guided.ts";
import { expectUnpolluted, tries } from "./support/inputs.ts";
import { TARGETS } from "./support/targets.ts";

const isOurs = (url: string) => /\/src\/|\/(?:jsonc-parser|croner)\//.test(url);

// Jazzer.js is built for this, but the library that it brings asks for a newer libc than Node does, and
// it counts in CommonJS only. V8 counts blocks by itself, in whatever it runs.
describe("inputs that grow by the code that they reach", () => {
  it.each(Object.entries(TARGETS))("%s are taken or refused", (_name, target) => {
    const { numRuns, seed = Math.floor(Math.random() * 2 ** 32) } = tries(target.share);
    const before = process.memoryUsage.rss();
    const coverage = openCoverage(isOurs);
    const kept = explore(target, { inputs: numRuns, seed, coverage });
    expect(coverage.reached()).toBeGreaterThan(0);
    count("inputs that were guided by coverage", numRuns);
    count("inputs that reached new code", kept.length - target.samples.length);
    expectUnpolluted();
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 * 1024 * 1024);
  });
});

/** Four steps, each of which takes a piece that few inputs have. */
function deepest(text: string): number {
  if (!text.includes("__proto__")) return 0;
  if (!text.includes("1e999")) return 1;
  if (!text.includes("$ref")) return 2;
  if (!text.includes("5m")) return 3;
  return 4;
}

it("what only chance after chance leads to is reached by coverage, and not without", () => {
  const depthOf = (isMeant: boolean): number => {
    let depth = 0;
    const take = (input: Buffer) => void (depth = Math.max(depth, deepest(input.toString())));
    const coverage = openCoverage((url) => isMeant && url.includes("guided.test"));
    explore({ samples: ["a"], take }, { inputs: 8_000, seed: 1, coverage });
    return depth;
  };
  expect(depthOf(true)).toBe(4);
  expect(depthOf(false)).toBeLessThan(3);
});
