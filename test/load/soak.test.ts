import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, it, vi } from "vitest";
import { connect } from "../../src/server/client.ts";
import { FaultyServer } from "../faults/server.ts";
import { random, sized } from "../faults/seeds.ts";
import { applySpecs, buildServer, makeProject } from "../server/server-process.ts";
import { count, worst } from "../support/figures.ts";
import { quantile, taken, type Taken } from "./figures.ts";

/** A day with a pass each second has 86,400; the soak does them as fast as they go. */
const PASSES = sized("SOAK_PASSES", 400);
const WINDOWS = 6;
const KEYS = 40;

vi.setConfig({ testTimeout: 24 * 3_600_000 });
beforeAll(buildServer);

type Window = Taken & { p50: number; p99: number };

it("P-6: a day's passes: memory, log, descriptors and latency stay flat", async () => {
  const server = await new FaultyServer().start();
  const project = makeProject({
    widget: `
      await ctx.effects.ensure({
        key: "e:" + resource.metadata.generation, kind: "noop", request: {},
        observe: async () => ({ state: "absent" }), apply: async () => ({}),
      });
      await ctx.events.emit({ type: "Normal", reason: "Seen", message: "pass " + ctx.reconcileId });
      return ctx.settled({ conditions: [{ type: "Ready", status: true, reason: "Done" }] });`,
  });
  const next = random(1);
  const keys = Array.from({ length: KEYS }, (_, index) => `k${index}`);
  const specs = () => Object.fromEntries(keys.map((key) => [key, { n: Math.floor(next() * 1e9) }]));
  const done = async () => (await server.client.status()).passes.done;
  const windows: Window[] = [];
  await applySpecs(server.client, project, "widget", specs());
  for (let window = 1; window <= WINDOWS; window += 1) {
    const waits: number[] = [];
    while ((await done()) < (PASSES * window) / WINDOWS) {
      // People come and go, specs change, and everything is looked at again and again.
      const client = await connect({ home: server.home });
      if (next() < 0.2) await applySpecs(client, project, "widget", specs());
      const begun = performance.now();
      await client.reconcile({ project, resourceManager: "widget" });
      while ((await client.queue({ project })).length > 0) await sleep(5);
      waits.push((performance.now() - begun) / KEYS);
      await client.list({ project });
      await client.close();
    }
    const usage = taken(server.pid, path.join(server.home, "state.sqlite"));
    const [p50, p99] = [0.5, 0.99].map((share) => Math.round(10 * quantile(waits, share)) / 10);
    windows.push({ ...usage, p50: p50 as number, p99: p99 as number });
  }
  console.table(windows);
  count("passes", await done());
  const [, early] = windows as [Window, Window];
  const last = windows.at(-1) as Window;
  worst("memory after the first sixth, MiB", windows[0]?.rssMiB as number);
  worst("memory at the end, MiB", last.rssMiB);
  worst("log of the store, MiB", Math.max(...windows.map(({ walMiB }) => walMiB)));
  expect(last.descriptors).toBeLessThanOrEqual(early.descriptors + 8);
  expect(Math.max(...windows.map(({ walMiB }) => walMiB))).toBeLessThanOrEqual(17);
  // The young heap fills and is emptied; what grows with passes would be many times this.
  expect(last.rssMiB).toBeLessThanOrEqual(early.rssMiB * 1.5);
  expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(server.damage()).toEqual([]);
});
