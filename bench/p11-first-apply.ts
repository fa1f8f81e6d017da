import { COMMAND, runNode } from "./processes.ts";
import { check, interleave, median, medianRatio, milliseconds } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { NOOP, makeProject, writeJsonSpec } from "./project.ts";

/** P11: what a newcomer sees first: no server, no state, one spec, until it is settled. */
export const p11: Benchmark = {
  name: "P11",
  what: "first apply with no server running, to settled",
  async run({ quick }) {
    const samples = await interleave(quick ? 3 : 7, {
      bare: async () => (await runNode(["-e", "0"])).ms,
      apply: async () => {
        const project = makeProject(NOOP);
        writeJsonSpec(project, 0);
        const inProject = { cwd: project.root, env: project.env };
        const { ms } = await runNode([COMMAND, "apply", "-f", project.specs, "--wait"], inProject);
        const { stdout } = await runNode([COMMAND, "get", "-o", "json"], inProject);
        check(stdout.includes('"Done"'), "the resource is settled");
        await runNode([COMMAND, "server", "stop"], inProject);
        return ms;
      },
    });
    return [
      {
        goal: "P11",
        what: "first apply, no server running, to settled, JavaScript manager",
        value: median(samples.apply),
        unit: "ms",
        limit: { atMost: 700 },
        absolute: `${medianRatio(samples.apply, samples.bare).toFixed(1)} × node -e 0 (${milliseconds(median(samples.bare))})`,
      },
    ];
  },
};
