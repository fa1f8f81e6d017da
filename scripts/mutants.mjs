// `npm run mutants`: breaks the code in every way that it knows, one at a time, and tells which breaks
// no test noticed. `npm run mutants -- diff` does one area; `npm run mutants -- diff src/diff/plan.ts`
// one file of it (or lines of it: `src/diff/plan.ts:10-40`). The whole takes hours.
// MUTANTS_AT_ONCE=1 leaves a core to others.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

/**
 * By name: what is broken, and the tests that should notice; those that start processes can't. `kept`
 * are the areas whose tests can share one process, which makes a mutant cost a tenth.
 */
const AREAS = {
  check: {
    mutate: ["src/workflows/check*.ts"],
    tests: ["test/workflows/{check,limits}.test.ts"],
    kept: true,
  },
  diff: {
    mutate: ["src/diff/*.ts", "!src/diff/schema.ts"],
    tests: ["test/diff/!(render).test.ts", "test/apply/!(convergence).test.ts"],
    kept: true,
  },
  planner: {
    mutate: ["src/apply/*.ts"],
    tests: ["test/apply/*.test.ts"],
    kept: true,
  },
  scheduler: {
    mutate: ["src/server/{scheduler,dispatch,pass,settle}.ts"],
    tests: [
      "test/server/{scheduler,lanes,wakes}.test.ts",
      "test/server/runs/scheduling.test.ts",
      "test/server/{streams,hosted}.test.ts",
      "test/simulation/*.test.ts",
    ],
  },
  step: {
    mutate: ["src/workflows/{step,transition}.ts"],
    tests: ["test/workflows/{step,stopping,step.property}.test.ts"],
    kept: true,
  },
  sync: {
    mutate: [
      "src/server/sync/{backoff,drift,load,loop,marks,memory,pending-prune,plan-revision,sync-once}.ts",
    ],
    tests: ["test/sync/{loop,memory,planning}.test.ts"],
    kept: true,
  },
  store: {
    mutate: ["src/store/sqlite/**/*.ts", "!src/store/sqlite/migrations/*.ts"],
    tests: [
      "test/store/contract.test.ts",
      "test/store/!(crash|differential|plans|repair|upgrades|wal).test.ts",
      "test/store/repair.test.ts",
      "test/store/differential.test.ts",
    ],
  },
};
const REPORT = ".test-results/mutants.json";

const [area, ...files] = process.argv.slice(2);
if (area !== undefined && !(area in AREAS)) {
  console.error(`no area ${area}; there are ${Object.keys(AREAS).join(", ")}`);
  process.exit(2);
}
const rows = (area === undefined ? Object.keys(AREAS) : [area]).map((name) => [
  name,
  ...run(AREAS[name], files),
]);
console.log(
  "\n| area | mutants | noticed | unnoticed | score |\n| --- | ---: | ---: | ---: | ---: |",
);
for (const [name, noticed, unnoticed] of rows) {
  const all = noticed + unnoticed;
  const score = ((100 * noticed) / all).toFixed(1);
  console.log(`| ${name} | ${all} | ${noticed} | ${unnoticed} | ${score} % |`);
}

function run({ mutate, tests, kept = false }, files) {
  rmSync(REPORT, { force: true });
  const options = { mutate: files.length === 0 ? mutate : files, report: REPORT, kept };
  const env = {
    // Few, since each mutant meets them anew.
    MODEL_STORIES: "10",
    SIMULATION_SEEDS: "10",
    STEP_RUNS: "40",
    ...process.env,
    MUTANT_TESTS: JSON.stringify(tests),
    MUTANT_OPTIONS: JSON.stringify(options),
  };
  const how = { stdio: "inherit", env };
  const { status } = spawnSync("node_modules/.bin/stryker", ["run", "scripts/stryker.mjs"], how);
  if (status !== 0) process.exit(status ?? 1);
  const states = Object.values(JSON.parse(readFileSync(REPORT, "utf8")).files).flatMap(
    ({ mutants }) => mutants.map((mutant) => mutant.status),
  );
  const those = (...wanted) => states.filter((state) => wanted.includes(state)).length;
  return [those("Killed", "Timeout"), those("Survived", "NoCoverage")];
}
