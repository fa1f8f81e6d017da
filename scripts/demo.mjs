// `npm run demo`: the main job end to end. Installs what is missing, builds, then tells the story.
// `npm run demo -- --github OWNER/REPO#N --dry-run` observes a real pull request instead.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { ensureInstalled } from "./install.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

ensureInstalled();
run(process.execPath, ["scripts/build.mjs"]);
run(process.execPath, ["scripts/demo/main.mjs", ...process.argv.slice(2)]);

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
