import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startModelProvider } from "../../test/model-provider/stand-in.mjs";
import { ensurePi, piInstalls } from "../install-pi.mjs";

const BROKEN = "export const sum = (numbers) => numbers.reduce((a, b) => a - b, 0);\n";
const MENDED = "export const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);\n";
const TEST = `import assert from "node:assert/strict";
import { sum } from "./sum.mjs";

assert.equal(sum([1, 2, 3]), 6);
console.log("sum is right");
`;

/**
 * The coding agent of the demo: the real Pi, with a model that is a script on loopback. Called before
 * the server starts, which gives its environment on.
 */
export async function installPi(stage) {
  stage.say("0. The coding agent Pi, from npm, with a scripted model instead of a paid one");
  ensurePi();
  const [{ version, node, bin }] = piInstalls();
  const model = await startModelProvider({ rule: mend });
  stage.onClose(() => model.close());
  const agent = stage.home(".pi/agent");
  mkdirSync(agent, { recursive: true });
  const write = (name, value) =>
    writeFileSync(path.join(agent, name), `${JSON.stringify(value, null, 2)}\n`);
  write("settings.json", { defaultProvider: "demo", defaultModel: "script" });
  const script = { id: "script", contextWindow: 128_000, maxTokens: 4_096, input: ["text"] };
  const demo = { baseUrl: model.url, api: "openai-completions", apiKey: "demo", models: [script] };
  write("models.json", { providers: { demo } });
  stage.setEnv({ PATH: [path.dirname(node), bin, process.env.PATH].join(path.delimiter) });
  stage.note(`Pi ${version}`);
}

/** What the model says: it mends the file, and hands in its result. */
function mend({ messages }) {
  const last = messages.at(-1);
  if (last?.role !== "tool") {
    return { calls: [{ name: "write", arguments: { path: "sum.mjs", content: MENDED } }] };
  }
  const summary = "sum subtracted; it adds now.";
  return { calls: [{ name: "submit_result", arguments: { result: { summary } } }] };
}

/** A head whose checks fail is mended by a workflow, judged by code, pushed, and merged when green. */
export async function showRepair(stage, github, repository) {
  stage.say("6. A pull request whose check fails, with a spec that says how it may be repaired");
  await github.seeds.file(repository, "main", "test.mjs", TEST);
  await github.seeds.file(repository, "main", "sum.mjs", MENDED);
  const pull = await github.seeds.pull(repository, { title: "Shorter sums" });
  const broken = await github.seeds.file(repository, pull.headRef, "sum.mjs", BROKEN);
  await github.seeds.check(repository, broken, { name: "ci", conclusion: "failure" });
  const remote = stage.scratch("widgets.git");
  await github.seeds.mirror(repository, remote);
  const key = `${repository}#${pull.number}`;
  stage.commitSpec("shorter-sums.resource.json", {
    resourceManager: "pull-request",
    key,
    spec: {
      repository,
      number: pull.number,
      baseRef: "main",
      require: { checks: { names: [{ name: "ci" }] } },
      repair: { test: ["node", "test.mjs"], paths: ["sum.mjs"] },
      checkout: { remote },
      apiUrl: github.url,
    },
  });
  await stage.until(key, "Repairing");
  stage.run(["why", "pull-request", key], { exits: [0, 1] });
  const repaired = await pushed(github, repository, pull.headRef, broken);
  stage.note(`a repair was pushed: ${repaired.slice(0, 12)}, on top of ${broken.slice(0, 12)}`);
  const [{ runId }] = stage.read(["runs", "--all"]).runs;
  stage.run(["run", "show", runId]);
  await github.seeds.check(repository, repaired, { name: "ci" });
  stage.note("the check `ci` passes on the repaired head");
  await stage.until(key, "Merged");
  stage.run(["why", "pull-request", key]);
  stage.note(`sum.mjs on main: ${(await github.seeds.text(repository, "main", "sum.mjs")).trim()}`);
}

async function pushed(github, repository, branch, before) {
  for (let waited = 0; waited < 120; waited += 1) {
    const tip = await github.seeds.tip(repository, branch);
    if (tip !== before) return tip;
    await delay(500);
  }
  throw new Error("no repair was pushed");
}
