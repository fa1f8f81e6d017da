import { spawnSync } from "node:child_process";

/** Installs what package-lock.json names where it is not there, or is of another version. */
export function ensureInstalled() {
  const { status } = spawnSync("npm", ["ls", "--depth=0"], { stdio: "ignore" });
  if (status === 0) return;
  console.log("▸ install");
  // better-sqlite3 is compiled where its binary can't be had: on all cores.
  const env = { ...process.env, JOBS: "max" };
  const installed = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { stdio: "inherit", env });
  if (installed.status === 0) return;
  console.error("npm ci failed; see above. It compiles better-sqlite3 with python3, make and g++.");
  process.exit(1);
}
