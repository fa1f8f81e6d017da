import { monitorEventLoopDelay } from "node:perf_hooks";
import { check, milliseconds } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { startHost, type Host } from "./host.ts";
import { COMMAND, runNode } from "./processes.ts";
import { NOOP, addManager, makeProject, writeJsonSpec, writeManifest } from "./project.ts";
import type { Project } from "./project.ts";

/** The keys of another manager, enqueued again at about the rate at which P1 settles them. */
const LOAD_KEYS = 1_000;
const LOAD_EVERY_MS = 250;

/** M5: how long the server's event loop is blocked while a large apply runs beside passes. */
export const m5: Benchmark = {
  name: "M5",
  what: "blocks of the server's event loop during an apply of 10,000",
  async run({ quick }) {
    const count = quick ? 2_000 : 10_000;
    const project = makeProject(NOOP, { concurrency: 2 });
    addManager(project, "load", NOOP.replaceAll("CONCURRENCY", "2"));
    for (let index = 0; index < LOAD_KEYS; index += 1) writeManifest(project, "load", index, 1);
    const host = await startHost(project, 2);
    const inProject = { cwd: project.root, env: project.env };
    const { done } = await host.expect(LOAD_KEYS);
    await runNode([COMMAND, "apply", "-f", project.specs], inProject);
    await done;

    const stop = new AbortController();
    const load = keepReconciling(host, project, stop.signal);
    for (let index = 0; index < count; index += 1) writeJsonSpec(project, index);
    // What an idle process sees at the same time is the machine's part of it.
    const idle = monitorEventLoopDelay({ resolution: 1 });
    idle.enable();
    await host.expect(Number.MAX_SAFE_INTEGER);
    await runNode([COMMAND, "apply", "-f", project.specs], inProject);
    const { blocks, settles } = await host.report();
    idle.disable();
    stop.abort();
    await load;
    check(settles > 0, "passes went on during the apply");
    const { store } = await host.client.status();
    check(store.resources === LOAD_KEYS + count, "every resource is applied");
    await host.stop();
    const what = `blocks of the event loop during an apply of ${count.toLocaleString("en")} beside passes`;
    const meanwhile = `${settles.toLocaleString("en")} passes meanwhile`;
    return [
      { name: "p99", value: blocks.p99, atMost: 25, machine: idle.percentile(99) / 1e6 },
      { name: "max", value: blocks.max, atMost: 60, machine: idle.max / 1e6 },
    ].map(({ name, value, atMost, machine }) => ({
      goal: "M5",
      what: `${what}, ${name}`,
      value,
      unit: "ms",
      limit: { atMost },
      absolute: `${meanwhile}; an idle process: ${milliseconds(machine)}`,
    }));
  },
};

async function keepReconciling(host: Host, project: Project, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await host.client.reconcile({ project: project.root, resourceManager: "load" });
    await new Promise((resolve) => setTimeout(resolve, LOAD_EVERY_MS));
  }
}
