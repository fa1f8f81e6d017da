// `npm test`: installs what is missing, builds, checks, runs every test; the last line counts them.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ensureInstalled } from "./install.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const REPORT = ".test-results/report.json";

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  return status ?? 1;
}

function step(title, command, args) {
  console.log(`\n▸ ${title}`);
  const status = run(command, args);
  endIfFailed(title, status);
}

function endIfFailed(title, status) {
  if (status === 0) return;
  console.error(`\n${title} failed`);
  console.log("0 passed, 1 failed");
  process.exit(status);
}

ensureInstalled();
// Beside the check, since it waits for the network.
const pi = spawn(process.execPath, ["scripts/install-pi.mjs"], { stdio: "inherit" });
const piIsThere = once(pi, "exit");
step("build", process.execPath, ["scripts/build.mjs"]);
step("check", process.execPath, ["scripts/check.mjs"]);
const [piStatus] = await piIsThere;
endIfFailed("install Pi", piStatus ?? 1);

console.log("\n▸ test");
// As many as are worth a run of everything; a bare vitest tries a few.
process.env.RANDOM_GIT_SEQUENCES ??= "8";
process.env.KILLED_RUNS ??= "8";
process.env.SIMULATION_SEEDS ??= "150";
// Of each of four areas, of a hundred commands.
process.env.MODEL_STORIES ??= "25";
process.env.KILLS ??= "30";
rmSync(REPORT, { force: true });
mkdirSync(".test-results", { recursive: true });
const status = run("node_modules/.bin/vitest", [
  "run",
  "--reporter=dot",
  "--reporter=json",
  `--outputFile.json=${REPORT}`,
  ...process.argv.slice(2),
]);
const report = existsSync(REPORT) ? JSON.parse(readFileSync(REPORT, "utf8")) : undefined;
const passed = report?.numPassedTests ?? 0;
const failed = Math.max(report?.numFailedTests ?? 0, status === 0 ? 0 : 1);
console.log(`${passed} passed, ${failed} failed`);
process.exit(status === 0 && passed > 0 ? 0 : 1);
