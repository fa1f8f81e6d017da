import { check, milliseconds } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { COMMAND, cpuMs, runNode, sleeps } from "./processes.ts";
import { NOOP, makeProject, writeJsonSpec } from "./project.ts";

/** M3: what the server costs while nothing happens; its wake-ups show the fastest timer. */
export const m3: Benchmark = {
  name: "M3",
  what: "idle server: processor time and wake-ups",
  async run({ quick }) {
    const seconds = quick ? 10 : 40;
    const project = makeProject(NOOP);
    writeJsonSpec(project, 0);
    const inProject = { cwd: project.root, env: project.env };
    await runNode([COMMAND, "apply", "-f", project.specs, "--wait"], inProject);
    const { stdout } = await runNode([COMMAND, "server", "status", "-o", "json"], inProject);
    const { pid } = JSON.parse(stdout) as { pid: number };
    check(pid > 0, "the server says its process");
    await wait(3);

    const before = { cpu: cpuMs(pid), sleeps: sleeps(pid) };
    await wait(seconds);
    const used = cpuMs(pid) - before.cpu;
    const woken = (sleeps(pid) - before.sleeps) / seconds;
    await runNode([COMMAND, "server", "stop"], inProject);
    return [
      {
        goal: "M3",
        what: "idle server: processor time",
        value: (used / (seconds * 1_000)) * 100,
        unit: "% of a core",
        limit: { atMost: 0.2 },
        absolute: `${milliseconds(used)} in ${seconds} s`,
      },
      {
        goal: "M3",
        what: "idle server: wake-ups of its event loop",
        value: woken,
        unit: "per s",
        limit: { atMost: 1 },
        absolute: "no timer is faster than 1 s",
      },
    ];
  },
};

function wait(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
}
