// `npm run soak`: what `npm test` does a little of, for as long as it takes to meet what is rare.
// `npm run soak -- kills` does one of them; a failure names the seed that repeats it.
// At its end it prints what all came to, which is what RELIABILITY.md quotes.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

/** By name: the test, and how much of it. */
const SOAKS = {
  // Each of two files for so long; new seeds each time.
  simulation: { file: "test/simulation", env: { SOAK_MINUTES: "30" } },
  // Of each of four areas: a million commands in all.
  model: { file: "test/store/differential", env: { MODEL_STORIES: "2500" } },
  git: { file: "test/sync/random-git.test.ts", env: { RANDOM_GIT_SEQUENCES: "1000" } },
  kills: { file: "test/pi/kills.test.ts", env: { KILLED_RUNS: "200" } },
  // All that is tried inside Pi, by every version of it.
  versions: { file: "test/extension test/pi", env: { EVERY_PI: "1" } },
  processes: { file: "test/faults/kills.test.ts", env: { KILLS: "2000" } },
  power: { file: "test/faults/power.test.ts", env: { POWER_CUTS: "5000" } },
  disk: { file: "test/faults/disk.test.ts", env: { DAMAGED_PAGES: "100000", CUT_LOGS: "500" } },
  // A kill, and a disk that fails, at each change of a file.
  points: { file: "test/faults/points test/faults/restore-points", env: { FAULT_STEP: "1" } },
  fuzz: { file: "test/fuzz", env: { FUZZ_TIMES: "50" } },
  load: {
    file: "test/load",
    env: {
      LOAD_RESOURCES: "100000",
      LOAD_EVENTS: "1000000",
      LOAD_ROUNDS: "40",
      SOAK_PASSES: "86400",
    },
  },
};

const names = process.argv.slice(2);
const unknown = names.find((name) => !(name in SOAKS));
if (unknown !== undefined) {
  console.error(`no soak ${unknown}; there are ${Object.keys(SOAKS).join(", ")}`);
  process.exit(2);
}

const folder = mkdtempSync(path.join(tmpdir(), "soak-"));
const rows = [];
const failed = [];
for (const name of names.length === 0 ? Object.keys(SOAKS) : names) {
  console.log(`\n▸ ${name}`);
  const began = Date.now();
  if (!soak(name, path.join(folder, name))) failed.push(name);
  rows.push(...figures(name, path.join(folder, name)), [
    name,
    "minutes",
    (Date.now() - began) / 60_000,
  ]);
}
rmSync(folder, { recursive: true });

console.log("\n| soak | figure | |\n| --- | --- | ---: |");
for (const [name, what, value] of rows) console.log(`| ${name} | ${what} | ${shown(value)} |`);
if (failed.length > 0) console.error(`\nfailed: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);

function soak(name, told) {
  const { file, env } = SOAKS[name];
  writeFileSync(told, "");
  const { status } = spawnSync(
    "node_modules/.bin/vitest",
    ["run", "--no-file-parallelism", ...file.split(" ")],
    {
      stdio: "inherit",
      // What the caller sets counts: a seed, or a number.
      env: { ...env, ...process.env, SOAK_FIGURES: told },
    },
  );
  return status === 0;
}

/** What the tests told (test/support/figures.ts): sums and largest values, by name. */
function figures(name, told) {
  const all = new Map();
  for (const line of readFileSync(told, "utf8").split("\n").filter(Boolean)) {
    const { what, sum, max } = JSON.parse(line);
    const before = all.get(what);
    all.set(what, sum === undefined ? Math.max(before ?? max, max) : (before ?? 0) + sum);
  }
  return [...all].map(([what, value]) => [name, what, value]);
}

function shown(value) {
  return value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 1 : 0 });
}
