// Runs no-op passes through a server whose manager runs in this process, and prints, as JSON, how
// many milliseconds it took. Arguments: state folder, "drain" or "end-to-end", resources.
import { createServer } from "../../src/server/index.ts";
import {
  conditionTrue,
  defineResource,
  defineResourceManager,
} from "../../src/resource-managers/index.ts";
import { check, elapsed } from "../harness.ts";

const [home = "", mode = "", resources = ""] = process.argv.slice(2);
const count = Number(resources);
const CONCURRENCY = 64;
const WARM_UP = 100;

const noop = defineResourceManager({
  name: "noop",
  maxConcurrent: CONCURRENCY,
  initialStatus: () => ({}),
  reconcile: (ctx) => ctx.settled({ conditions: [conditionTrue("Ready", "Done")] }),
});

let settles = 0;
let wanted = Number.POSITIVE_INFINITY;
let arrived = (): void => {};
const project = home;
const server = createServer({
  home,
  project,
  managers: [noop],
  listen: false,
  concurrency: CONCURRENCY,
  probe(name) {
    if (name !== "store.settle.committed") return;
    settles += 1;
    if (settles === wanted) arrived();
  },
});
await server.start();
await settled(WARM_UP, () => apply("warm", WARM_UP));
if (mode === "drain") await settled(count, () => apply("job", count));
const ms = await elapsed(() =>
  mode === "drain"
    ? settled(WARM_UP + count, () => server.client.reconcile({ project, resourceManager: "noop" }))
    : settled(count, () => apply("job", count)),
);
const { lanes, passes } = await server.client.status();
check(passes.failed === 0 && lanes.every(({ ready }) => ready === 0), "every pass is settled");
await server.stop();
console.log(JSON.stringify({ ms, jobs: mode === "drain" ? WARM_UP + count : count }));

/** Resolves when `work` and so many passes are done. */
async function settled(passes: number, work: () => Promise<unknown>): Promise<void> {
  settles = 0;
  wanted = passes;
  const all = new Promise<void>((resolve) => (arrived = resolve));
  await work();
  await all;
}

async function apply(prefix: string, number: number): Promise<void> {
  const specs = Array.from({ length: number }, (_, index) =>
    defineResource(noop, { key: `${prefix}-${index}`, spec: { index } }),
  );
  await server.apply(specs);
}
