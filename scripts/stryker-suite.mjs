// What tests import as "vitest" while scripts/stryker-runner.mjs runs them: it only collects them.
import { expect } from "vitest";

export { expect };

const newSuite = (name, parent) => ({ name, parent, before: [], beforeEach: [], afterEach: [] });

/** Tests in the order in which they stand, each with the suites around it. */
export const tests = [];
let suite;
let finishers = [];

/** Collects what `load` imports as the tests of one file. */
export async function collect(file, load) {
  suite = newSuite("", undefined);
  suite.file = file;
  await load();
}

export function describe(name, define) {
  suite = newSuite(name, suite);
  define();
  suite = suite.parent;
}

export function it(name, run, timeout) {
  tests.push({ name, suite, run, timeout });
}

const each = (one) => (table) => (name, run, timeout) => {
  for (const [index, row] of table.entries()) {
    const given = Array.isArray(row) ? row : [row];
    one(`${name} (${index})`, () => run(...given), timeout);
  }
};
it.each = each(it);
describe.each = each(describe);

export const beforeAll = (hook) => void suite.before.push(hook);
export const beforeEach = (hook) => void suite.beforeEach.push(hook);
export const afterEach = (hook) => void suite.afterEach.push(hook);
export const onTestFinished = (hook) => void finishers.push(hook);

/** Runs one test with its hooks. @throws what it fails with */
export async function runTest({ suite: around, run }) {
  const suites = [];
  for (let one = around; one; one = one.parent) suites.unshift(one);
  finishers = [];
  try {
    for (const one of suites) for (const hook of one.before.splice(0)) await hook();
    for (const one of suites) for (const hook of one.beforeEach) await hook();
    await run();
  } finally {
    const mine = finishers;
    for (const one of suites.toReversed()) for (const hook of one.afterEach) await hook();
    for (const hook of mine.toReversed()) await hook();
  }
}
