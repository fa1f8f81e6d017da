// How scripts/mutants.mjs runs Stryker.
const { mutate, report, kept } = JSON.parse(process.env.MUTANT_OPTIONS);

export default {
  mutate,
  testRunner: kept ? "kept-modules" : "vitest",
  vitest: { configFile: "scripts/vitest.mutants.ts", related: false },
  plugins: ["@stryker-mutator/vitest-runner", "./scripts/stryker-runner.mjs"],
  reporters: ["clear-text", "json"],
  clearTextReporter: { allowColor: false, reportTests: false, reportScoreTable: false },
  jsonReporter: { fileName: report },
  // A text that nobody compares is no fault, and an SQL text that is empty is always noticed.
  mutator: { excludedMutations: ["StringLiteral"] },
  coverageAnalysis: "perTest",
  // What runs at load, such as a pattern, would take all tests for each mutant.
  ignoreStatic: true,
  // A machine that is busy must not pass for a test that noticed.
  timeoutMS: 20_000,
  ignorePatterns: ["/.cache", "/dist", "/docs", "/bench", "/.test-results"],
  tempDirName: ".test-results/stryker",
  concurrency: Number(process.env.MUTANTS_AT_ONCE ?? 2),
  // TypeScript 7 has no API for its rewriting of tsconfig.json, which the tests do not read.
  tsconfigFile: "none",
};
