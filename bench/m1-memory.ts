import { check, megabytes, quantile } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { applySpecs, startHost, type Host } from "./host.ts";
import { residentBytes } from "./processes.ts";
import { NOOP, makeProject } from "./project.ts";
import type { Project } from "./project.ts";

const MB = 1024 * 1024;

/** M1: the server's resident memory; flat means that the second half of the load needs no more. */
export const m1: Benchmark = {
  name: "M1",
  what: "server memory with 10,000 resources, idle and under load",
  async run({ quick }) {
    const resources = quick ? 1_000 : 10_000;
    const project = makeProject(NOOP, { concurrency: 2 });
    let host = await startHost(project, 2);
    await applySpecs(host, project, resources);
    await host.stop();

    host = await startHost(project, 2);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const idle = residentBytes(host.pid);
    const busy = await sampleUnderLoad(host, project, { resources, rounds: quick ? 4 : 12 });
    await host.checkSettled();
    await host.stop();
    const half = Math.floor(busy.length / 2);
    const growth = quantile(busy.slice(half), 0.5) / quantile(busy.slice(0, half), 0.5);
    const what = `server memory, ${resources.toLocaleString("en")} resources`;
    const peak = quantile(busy, 1);
    return [
      {
        goal: "M1",
        what: `${what}, idle`,
        value: idle / MB,
        unit: "MB",
        limit: { atMost: 90 },
        absolute: `resident ${megabytes(idle)}`,
      },
      {
        goal: "M1",
        what: `${what}, under the load of P1`,
        value: peak / MB,
        unit: "MB",
        limit: { atMost: 160 },
        absolute: `peak over ${(busy.length * resources).toLocaleString("en")} passes; second half ${growth.toFixed(2)} × first`,
        detail: { growth },
      },
    ];
  },
};

/** Resident bytes after each round of passes over all resources. */
async function sampleUnderLoad(
  host: Host,
  project: Project,
  { resources, rounds }: { resources: number; rounds: number },
): Promise<number[]> {
  const samples: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { report } = await host.reconcileAll(project, resources);
    check(report.settles >= resources, "every pass is settled");
    samples.push(residentBytes(host.pid));
  }
  return samples;
}
