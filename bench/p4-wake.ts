import { check, quantile, milliseconds } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { applySpecs, clock, startHost } from "./host.ts";
import { CLOCK, makeProject, widgetKey } from "./project.ts";

const IDLE_MS = 20;

/** P4: from a client's request to the first line of the author's reconcile function. */
export const p4: Benchmark = {
  name: "P4",
  what: "wake to pass, idle server, warm runner",
  async run({ quick }) {
    const project = makeProject(CLOCK);
    const host = await startHost(project, 2);
    await applySpecs(host, project, 1);
    const ref = { project: project.root, resourceManager: "widget", key: widgetKey(0) };
    const waits: number[] = [];
    for (let count = quick ? 50 : 300; count > 0; count -= 1) {
      await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
      const { done } = await host.expect(1);
      const begun = clock();
      await host.client.reconcile(ref);
      await done;
      const stored = await host.client.get(ref);
      const status = stored?.resource.status.resourceManagerStatus as { enteredAt: number };
      check(status.enteredAt > begun, "the pass began after the request");
      waits.push(status.enteredAt - begun);
    }
    await host.checkSettled();
    await host.stop();
    const [p50, p99] = [quantile(waits, 0.5), quantile(waits, 0.99)];
    const what = "enqueue over the socket → reconcile function entered";
    const absolute = `p50 ${milliseconds(p50)}, p99 ${milliseconds(p99)}, max ${milliseconds(Math.max(...waits))}`;
    return [
      { goal: "P4", what: `${what}, p50`, value: p50, unit: "ms", limit: { atMost: 5 }, absolute },
      { goal: "P4", what: `${what}, p99`, value: p99, unit: "ms", limit: { atMost: 25 }, absolute },
    ];
  },
};
