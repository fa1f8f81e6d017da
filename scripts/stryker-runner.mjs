// Runs tests for Stryker in one process that keeps all modules, so that a mutant costs what its tests
// cost; vitest starts a thread and loads everything anew for each. Tests that start processes of the
// code under test can't see a mutant, here or there.
import path from "node:path";
import { INSTRUMENTER_CONSTANTS } from "@stryker-mutator/api/core";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";
import {
  determineHitLimitReached,
  DryRunStatus,
  MutantRunStatus,
  TestStatus,
  toMutantRunResult,
} from "@stryker-mutator/api/test-runner";
import fc from "fast-check";
import { glob } from "tinyglobby";
import { createServer } from "vite";
import * as suite from "./stryker-suite.mjs";

/** Gives tests the suite where they import vitest. */
const asVitest = {
  name: "suite",
  enforce: "pre",
  config: () => ({ ssr: { noExternal: ["vitest"] } }),
  resolveId: (id) => (id === "vitest" ? "\0suite" : undefined),
  load: (id) =>
    id === "\0suite"
      ? `export const { ${Object.keys(suite).join(", ")} } = globalThis[Symbol.for("suite")];`
      : undefined,
};
globalThis[Symbol.for("suite")] = suite;

class KeptModules {
  // Where Stryker's marks in the code look for which mutant is on.
  #marks = (globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {});
  #server;
  /** By id. */
  #tests = new Map();

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    // That a property fails is enough; the smallest case in which it does is not looked for.
    fc.configureGlobal({ endOnFailure: true });
    // Of tests that a mutant has left hanging.
    process.on("unhandledRejection", () => undefined);
    this.#server = await createServer({
      configFile: "vitest.config.ts",
      logLevel: "error",
      appType: "custom",
      server: { middlewareMode: true, hmr: false, ws: false, watch: null },
      optimizeDeps: { noDiscovery: true },
      plugins: [asVitest],
    });
    await this.#load();
  }

  async #load() {
    this.#server.moduleGraph.invalidateAll();
    suite.tests.splice(0);
    const files = await glob(JSON.parse(process.env.MUTANT_TESTS));
    for (const file of files.sort()) {
      await suite.collect(file, () => this.#server.ssrLoadModule(path.resolve(file)));
    }
    const known = this.#tests;
    this.#tests = new Map(suite.tests.map((test) => [nameOf(test), test]));
    for (const [id, test] of this.#tests) test.ms = known.get(id)?.ms;
  }

  async dryRun() {
    const tests = [];
    for (const [id, test] of this.#tests) {
      this.#marks.currentTestId = id;
      tests.push(await this.#run(id));
      test.ms = tests.at(-1).timeSpentMs;
    }
    this.#marks.currentTestId = undefined;
    const { mutantCoverage } = this.#marks;
    return { status: DryRunStatus.Complete, tests, mutantCoverage };
  }

  async mutantRun(options) {
    const result = await this.#tryMutant(options);
    if (result.status !== MutantRunStatus.Killed) return result;
    const again = await this.#run(result.killedBy[0]);
    if (again.status === TestStatus.Success) return result;
    // A mutant before this one has left something behind in a module.
    await this.#load();
    return this.#tryMutant(options);
  }

  async #tryMutant({ activeMutant, hitLimit, testFilter = [...this.#tests.keys()] }) {
    Object.assign(this.#marks, { activeMutant: activeMutant.id, hitLimit, hitCount: 0 });
    const costOf = (id) => this.#tests.get(id).ms;
    const tests = [];
    for (const id of testFilter.toSorted((one, other) => costOf(one) - costOf(other))) {
      tests.push(await this.#run(id));
      if (tests.at(-1).status === TestStatus.Failed) break;
    }
    this.#marks.activeMutant = undefined;
    const hung = determineHitLimitReached(this.#marks.hitCount, hitLimit);
    return toMutantRunResult(hung ?? { status: DryRunStatus.Complete, tests });
  }

  async dispose() {
    await this.#server?.close();
  }

  async #run(id) {
    const test = this.#tests.get(id);
    const began = performance.now();
    const soFar = () => ({ id, name: id, timeSpentMs: performance.now() - began });
    try {
      await within(test.ms, suite.runTest(test));
      return { ...soFar(), status: TestStatus.Success };
    } catch (thrown) {
      const failureMessage = String(thrown?.message ?? thrown);
      return { ...soFar(), status: TestStatus.Failed, failureMessage };
    }
  }
}

/** Waits for a test, for much longer than it took before. */
async function within(usualMs = 60_000, running) {
  let timer;
  const hung = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the test hangs")), 5_000 + 10 * usualMs);
  });
  try {
    await Promise.race([running, hung]);
  } finally {
    clearTimeout(timer);
  }
}

function nameOf({ name, suite }) {
  const names = [name];
  let one = suite;
  for (; one.parent; one = one.parent) names.unshift(one.name);
  return `${one.file}: ${names.join(" / ")}`;
}

export const strykerPlugins = [
  declareClassPlugin(PluginKind.TestRunner, "kept-modules", KeptModules),
];
