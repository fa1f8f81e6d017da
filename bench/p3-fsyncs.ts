import { interleave, median } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { applySpecs, startHost } from "./host.ts";
import { NOOP, makeProject } from "./project.ts";

const KEYS = 1_000;
const CONCURRENCY = 8;

/** P3: how many commits, each with one fsync, a pass costs while the server is busy. */
export const p3: Benchmark = {
  name: "P3",
  what: "fsyncs per pass at load",
  async run() {
    const project = makeProject(NOOP, { concurrency: CONCURRENCY });
    const host = await startHost(project, CONCURRENCY);
    await applySpecs(host, project, KEYS);
    let passesPerSecond = 0;
    const { commits } = await interleave(5, {
      commits: async () => {
        const { ms, report } = await host.reconcileAll(project, KEYS);
        passesPerSecond = KEYS / (ms / 1_000);
        return report.commits / report.settles;
      },
    });
    await host.checkSettled();
    await host.stop();
    return [
      {
        goal: "P3",
        what: `fsyncs (commits at synchronous=FULL) per pass at load, ${CONCURRENCY} passes at once`,
        value: median(commits),
        unit: "per pass",
        limit: { atMost: 0.5 },
        absolute: `at ${Math.round(passesPerSecond).toLocaleString("en")} passes/s`,
      },
    ];
  },
};
