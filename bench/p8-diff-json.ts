import { COMMAND, program, runNode } from "./processes.ts";
import { check, interleave, median, medianRatio, milliseconds } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { NOOP, makeProject, writeJsonSpec } from "./project.ts";

/** P8: a diff of many JSON spec files, the whole command, beside a bare read, parse and hash. */
export const p8: Benchmark = {
  name: "P8",
  what: "diff of 10,000 JSON spec files, 50 changed",
  async run({ quick }) {
    const count = quick ? 1_000 : 10_000;
    const project = makeProject(NOOP);
    for (let index = 0; index < count; index += 1) writeJsonSpec(project, index);
    const inProject = { cwd: project.root, env: project.env };
    await runNode([COMMAND, "apply", "-f", project.specs], inProject);
    await runNode([COMMAND, "server", "stop"], inProject);
    for (let index = 0; index < 50; index += 1) writeJsonSpec(project, index * 7, 2);

    const samples = await interleave(5, {
      raw: async () => {
        const { ms, stdout } = await runNode([program("raw-read"), project.specs]);
        check(Number(stdout) === count, "raw reads every file");
        return ms;
      },
      checked: async () => {
        const { ms, stdout } = await runNode([program("checked-read"), project.specs]);
        check(Number(stdout) === count, "raw checks every file");
        return ms;
      },
      diff: async () => {
        const { ms, stdout } = await runNode([COMMAND, "diff", "-f", project.specs], {
          ...inProject,
          accept: [1],
        });
        check(stdout.includes(`\n50 to update, ${count - 50} unchanged`), "diff finds 50");
        return ms;
      },
    });
    const what = `diff of ${count.toLocaleString("en")} JSON spec files, 50 changed, whole command`;
    const took = milliseconds(median(samples.diff));
    return [
      {
        goal: "P8",
        what,
        value: medianRatio(samples.diff, samples.raw),
        unit: "× raw",
        limit: { atMost: 2.5 },
        absolute: `${took} (bare Node reads, parses, hashes: ${milliseconds(median(samples.raw))})`,
      },
      {
        goal: "P8",
        what: `${what}, beside a loop that also checks the schemas`,
        value: medianRatio(samples.diff, samples.checked),
        unit: "× checked",
        absolute: `${took} (checked, in canonical form: ${milliseconds(median(samples.checked))})`,
      },
    ];
  },
};
