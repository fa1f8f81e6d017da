import path from "node:path";
import { fileURLToPath } from "node:url";
import { installationUrl } from "../src/model/installation.ts";
import { COMMAND, program, runNode } from "./processes.ts";
import { check, interleave, median, medianRatio, milliseconds } from "./harness.ts";
import type { Benchmark, Figure } from "./harness.ts";
import { NOOP, makeProject, writeTypeScriptSpec } from "./project.ts";

const API = fileURLToPath(installationUrl("dist/resource-managers/index.js"));

/** P9: a cold diff of TypeScript spec files, beside one bare bundle of all of them. */
export const p9: Benchmark = {
  name: "P9",
  what: "diff of 1,000 and 10,000 TypeScript spec files, cold",
  async run({ quick }) {
    return quick ? [await measure(200)] : [await measure(1_000), await measure(10_000)];
  },
};

async function measure(count: number): Promise<Figure> {
  const project = makeProject(NOOP);
  for (let index = 0; index < count; index += 1) writeTypeScriptSpec(project, index);
  const outfile = path.join(project.root, "..", "raw-bundle.mjs");

  const samples = await interleave(5, {
    raw: async () => {
      const { ms, stdout } = await runNode([program("raw-bundle"), project.specs, outfile, API]);
      check(Number(stdout) === count, "raw imports every file");
      return ms;
    },
    // Against an empty store: every spec is loaded, checked and shown as new.
    diff: async () => {
      const { ms, stdout } = await runNode([COMMAND, "diff", "-f", project.specs], {
        cwd: project.root,
        env: project.env,
        accept: [1],
      });
      check(stdout.includes(`\n${count} to create`), "diff finds every spec");
      return ms;
    },
  });
  return {
    goal: "P9",
    what: `diff of ${count.toLocaleString("en")} TypeScript spec files, whole command, cold`,
    value: medianRatio(samples.diff, samples.raw),
    unit: "× raw",
    limit: { atMost: 2 },
    absolute: `${milliseconds(median(samples.diff))} (one bare esbuild bundle and its import: ${milliseconds(median(samples.raw))})`,
  };
}
