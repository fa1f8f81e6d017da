import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { check, interleave, median, megabytes } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { applySpecs, startHost } from "./host.ts";
import { privateBytes, program } from "./processes.ts";
import { NOOP, makeProject } from "./project.ts";

const MB = 1024 * 1024;
const KEYS = 200;
const ROUNDS = 10;
const RUNNER_TITLE = "pi-workflows runner";

/** M2: what a warm runner holds for itself alone, beyond a bare Node child with a channel. */
export const m2: Benchmark = {
  name: "M2",
  what: "private memory of a warm runner",
  async run() {
    const samples = await interleave(5, {
      bare: async () => {
        const child = fork(program("echo"));
        await new Promise((resolve) => child.once("message", resolve));
        const bytes = privateBytes(child.pid as number);
        child.disconnect();
        return bytes;
      },
      runner: async () => {
        const project = makeProject(NOOP, { concurrency: 1 });
        const host = await startHost(project, 1);
        await applySpecs(host, project, KEYS);
        for (let round = 0; round < ROUNDS; round += 1) await host.reconcileAll(project, KEYS);
        const [runner, ...others] = runnersOf(host.pid);
        check(runner !== undefined && others.length === 0, "the server has one warm runner");
        const bytes = privateBytes(runner);
        await host.stop();
        return bytes;
      },
    });
    const extra = median(samples.runner.map((bytes, round) => bytes - (samples.bare[round] ?? 0)));
    return [
      {
        goal: "M2",
        what: "a warm runner's private memory over a bare Node child's",
        value: extra / MB,
        unit: "MB",
        limit: { atMost: 25 },
        absolute: `${megabytes(median(samples.runner))} (bare ${megabytes(median(samples.bare))})`,
      },
    ];
  },
};

/** Runners among the children of a server, by the title that they give themselves. */
function runnersOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  return children
    .filter((child) => readFileSync(`/proc/${child}/cmdline`, "utf8").startsWith(RUNNER_TITLE))
    .map(Number);
}
