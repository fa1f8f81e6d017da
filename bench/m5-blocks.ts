import { check, milliseconds } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { applySpecs, startHost, type Host } from "./host.ts";
import { COMMAND, runNode } from "./processes.ts";
import { NOOP, makeProject, writeJsonSpec, type Project } from "./project.ts";

const LOAD_KEYS = 1_000;

/** M5: how long the server's event loop is blocked while a large apply runs beside passes. */
export const m5: Benchmark = {
  name: "M5",
  what: "blocks of the server's event loop during an apply of 10,000",
  async run({ quick }) {
    const count = quick ? 2_000 : 10_000;
    const project = makeProject(NOOP, { concurrency: 2 });
    const host = await startHost(project, 2);
    await applySpecs(host, project, LOAD_KEYS);
    const stop = new AbortController();
    const load = keepReconciling(host, project, stop.signal);
    for (let index = LOAD_KEYS; index < LOAD_KEYS + count; index += 1) {
      writeJsonSpec(project, index);
    }
    await host.expect(Number.MAX_SAFE_INTEGER);
    await runNode([COMMAND, "apply", "-f", project.specs], {
      cwd: project.root,
      env: project.env,
    });
    const { blocks, settles } = await host.report();
    stop.abort();
    await load;
    check(settles > 0, "passes went on during the apply");
    const { store } = await host.client.status();
    check(store.resources === LOAD_KEYS + count, "every resource is applied");
    await host.stop();
    const what = `blocks of the event loop during an apply of ${count.toLocaleString("en")} beside passes`;
    const absolute = `${settles.toLocaleString("en")} passes meanwhile`;
    return [
      { name: "p99", value: blocks.p99, atMost: 25 },
      { name: "max", value: blocks.max, atMost: 60 },
    ].map(({ name, value, atMost }) => ({
      goal: "M5",
      what: `${what}, ${name}`,
      value,
      unit: "ms",
      limit: { atMost },
      absolute: `${milliseconds(value)}; ${absolute}`,
    }));
  },
};

/** Enqueues everything again and again, so that there is always a pass to run. */
async function keepReconciling(host: Host, project: Project, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await host.client.reconcile({ project: project.root, resourceManager: "widget" });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
