// Chooses the story and cleans up after it, however it ends.
import { parseArgs } from "node:util";
import { Stage } from "./stage.mjs";
import { observe } from "./observe.mjs";
import { shepherd } from "./shepherd.mjs";

const USAGE = "npm run demo [-- --github OWNER/REPO#N --dry-run [--base BRANCH]]";

const { values } = parse({
  options: {
    github: { type: "string" },
    base: { type: "string", default: "main" },
    "dry-run": { type: "boolean", default: false },
  },
});
if (values.github !== undefined && !values["dry-run"]) {
  console.error("The demo writes nothing to real repositories: add --dry-run.");
  process.exit(2);
}

const stage = new Stage();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => void stage.close().finally(() => process.exit(130)));
}
try {
  await (values.github === undefined
    ? shepherd(stage)
    : observe(stage, values.github, values.base));
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  await stage.close();
}

function parse(config) {
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}
