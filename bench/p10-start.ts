import { COMMAND, runNode } from "./processes.ts";
import { check, interleave, median, medianRatio, milliseconds } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { NOOP, makeProject, widgetKey, writeJsonSpec } from "./project.ts";

/** P10: how long a person waits for the command line itself. */
export const p10: Benchmark = {
  name: "P10",
  what: "start of the command line: --help, get of one resource",
  async run({ quick }) {
    const project = makeProject(NOOP);
    writeJsonSpec(project, 0);
    const inProject = { cwd: project.root, env: project.env };
    await runNode([COMMAND, "apply", "-f", project.specs, "--wait"], inProject);
    await runNode([COMMAND, "server", "stop"], inProject);

    const samples = await interleave(quick ? 5 : 15, {
      bare: async () => (await runNode(["-e", "0"])).ms,
      help: async () => {
        const { ms, stdout } = await runNode([COMMAND, "--help"], inProject);
        check(stdout.includes("apply"), "--help names the verb apply");
        return ms;
      },
      get: async () => {
        const { ms, stdout } = await runNode([COMMAND, "get", "widget", widgetKey(0)], inProject);
        check(stdout.includes(widgetKey(0)), "get prints the resource");
        return ms;
      },
    });
    const bare = `node -e 0: ${milliseconds(median(samples.bare))}`;
    return (["help", "get"] as const).map((name) => ({
      goal: "P10",
      what: name === "help" ? "start: --help" : "start: get of one resource",
      value: medianRatio(samples[name], samples.bare),
      unit: "× node -e 0",
      limit: { atMost: 2.5 },
      absolute: `${milliseconds(median(samples[name]))} (${bare})`,
    }));
  },
};
