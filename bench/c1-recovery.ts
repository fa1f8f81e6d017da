import path from "node:path";
import { elapsed, check, interleave, median, milliseconds, quantile } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { fillStore } from "./fill.ts";
import { applySpecs, clock, startAndExpect, startHost, type Host } from "./host.ts";
import { COMMAND, runNode } from "./processes.ts";
import { CLOCK, NOOP, addManager, makeProject, widgetKey, writeManifest } from "./project.ts";
import type { Project } from "./project.ts";

/** Ids below this one are left to resources that are applied. */
const FIRST_FILLED = 100;
const CONCURRENCY = 4;

/** C1: from the start of the server's process to the first pass, with work for all resources. */
export const c1: Benchmark = {
  name: "C1",
  what: "server start with 100,000 resources, to the first pass",
  async run({ quick }) {
    const count = quick ? 10_000 : 100_000;
    const project = await fill(count, "ready");
    const samples = await interleave(quick ? 3 : 5, {
      start: async () => {
        const begun = clock();
        const { host, done } = await startAndExpect(project, CONCURRENCY, 1);
        const { at } = await done;
        const { store } = await host.client.status();
        check(store.resources === count + 1, "the store holds every resource");
        await host.stop();
        return at - begun;
      },
    });
    return [
      {
        goal: "C1",
        what: `server start with ${count.toLocaleString("en")} resources, to the first pass settled`,
        value: median(samples.start),
        unit: "ms",
        limit: { atMost: 1_000 },
        absolute: "process start included, every resource ready",
      },
    ];
  },
};

/** C2: every resource is enqueued again while another key of the server is woken now and then. */
export const c2: Benchmark = {
  name: "C2",
  what: "rebuild of the queue, 100,000 resources",
  async run({ quick }) {
    const count = quick ? 10_000 : 100_000;
    const project = await fill(count, "none");
    addManager(project, "other", CLOCK);
    writeManifest(project, "other", 0, 1);
    const host = await startHost(project, CONCURRENCY);
    const { done } = await host.expect(1);
    await runNode([COMMAND, "apply", "-f", project.specs], { cwd: project.root, env: project.env });
    await done;

    const pause = new Promise((resolve) => setTimeout(resolve, quick ? 1_000 : 3_000));
    const alone = await wakes(host, project, pause);
    let ms = Number.NaN;
    const repair = elapsed(async () => {
      const { enqueued } = await host.client.repair();
      check(enqueued >= count, `every resource is enqueued, not ${enqueued}`);
    }).then((took) => (ms = took));
    const beside = await wakes(host, project, repair);
    await host.stop();
    const delay = quantile(beside, 1) - quantile(alone, 0.5);
    return [
      {
        goal: "C2",
        what: `rebuild of the queue, ${count.toLocaleString("en")} resources`,
        value: ms / 1_000,
        unit: "s",
        limit: { atMost: 5 },
        absolute: milliseconds(ms),
      },
      {
        goal: "C2",
        what: "delay of other work by the rebuild, largest",
        value: delay,
        unit: "ms",
        limit: { atMost: 50 },
        absolute: `${beside.length} wakes: p50 ${milliseconds(quantile(beside, 0.5))}, max ${milliseconds(quantile(beside, 1))}; alone p50 ${milliseconds(quantile(alone, 0.5))}, max ${milliseconds(quantile(alone, 1))}`,
      },
    ];
  },
};

/** Milliseconds from request to pass of another manager's key, again and again until `until` is done. */
async function wakes(host: Host, project: Project, until: Promise<unknown>): Promise<number[]> {
  const ref = { project: project.root, resourceManager: "other", key: widgetKey(0) };
  const enteredAt = async (): Promise<number> => {
    const stored = await host.client.get(ref);
    check(stored !== undefined, "the other resource is there");
    return (stored.resource.status.resourceManagerStatus as { enteredAt: number }).enteredAt;
  };
  const over = new AbortController();
  void until.finally(() => over.abort());
  const waits: number[] = [];
  while (!over.signal.aborted) {
    const begun = clock();
    await host.client.reconcile(ref);
    let entered = await enteredAt();
    while (entered < begun) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      entered = await enteredAt();
    }
    waits.push(entered - begun);
  }
  await until;
  return waits;
}

/** A project whose store holds so many resources more than the one that was applied. */
async function fill(count: number, queue: "ready" | "none"): Promise<Project> {
  const project = makeProject(NOOP, { concurrency: CONCURRENCY });
  const host = await startHost(project, CONCURRENCY);
  await applySpecs(host, project, 1);
  const { lanes } = await host.client.status();
  await host.stop();
  const [lane] = lanes;
  check(lane !== undefined, "the manager has a lane");
  const file = path.join(project.home, "state.sqlite");
  fillStore(file, { lane: lane.lane, from: FIRST_FILLED, count, queue });
  return project;
}
