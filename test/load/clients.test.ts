import { setMaxListeners } from "node:events";
import { beforeAll, expect, it, vi } from "vitest";
import type { ApplyChange } from "../../src/model/batch.ts";
import { connect } from "../../src/server/client.ts";
import type { Client } from "../../src/server/protocol.ts";
import { FaultyServer } from "../faults/server.ts";
import { sized } from "../faults/seeds.ts";
import { applySpecs, buildServer, makeProject, untilTrue } from "../server/server-process.ts";
import { specWrite } from "../store/words.ts";
import { count, worst } from "../support/figures.ts";
import { quantile } from "./figures.ts";

const CLIENTS = sized("LOAD_CLIENTS", 50);
const ROUNDS = sized("LOAD_ROUNDS", 10);

beforeAll(buildServer);

// The soak takes its time.
vi.setConfig({ testTimeout: 3_600_000 });

it("many clients that write, read and follow at once: each is answered, and each sees everything", async () => {
  const server = await new FaultyServer().start();
  const project = makeProject({ widget: "return ctx.settled();" });
  await applySpecs(server.client, project, "widget", { first: {} });
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, () => connect({ home: server.home })),
  );
  const enough = new AbortController();
  setMaxListeners(CLIENTS, enough.signal);
  const wanted = CLIENTS * ROUNDS + 1;
  const seen = await Promise.all(clients.map((client) => follow(client, project, enough.signal)));
  const waits: number[] = [];
  const refused: unknown[] = [];
  await Promise.all(
    clients.map(async (client, index) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const key = `c${index}-${round}`;
        const begun = performance.now();
        const write = specWrite({ round });
        const change: ApplyChange = { kind: "create", manager: "widget", key, write, expected: 0 };
        await client.commit({ project, changes: [change] }).catch((thrown: unknown) => {
          refused.push(thrown);
        });
        const found = await client.get({ project, resourceManager: "widget", key });
        if (!found) refused.push(key);
        waits.push(performance.now() - begun);
      }
    }),
  );
  expect(refused).toEqual([]);
  await untilTrue(() => seen.every((keys) => keys.size === wanted));
  enough.abort();
  // A pass for each write: on a busy machine they take longer than what is waited for elsewhere.
  const isDone = async () => expect(await server.client.queue({ project })).toEqual([]);
  await vi.waitFor(isDone, { timeout: 1_800_000 });
  await Promise.all(clients.map((client) => client.close()));
  count("clients at once", CLIENTS);
  count("writes of clients, each read back", CLIENTS * ROUNDS);
  worst("write and read at p99, ms", quantile(waits, 0.99));
  expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(server.damage()).toEqual([]);
});

/** Keys that a client sees as they come; resolves when it has seen what there was. */
function follow(client: Client, project: string, signal: AbortSignal): Promise<Set<string>> {
  const keys = new Set<string>();
  return new Promise((resolve, reject) => {
    void (async () => {
      for await (const item of client.watch({ project }, signal)) {
        if (item.kind === "listed") resolve(keys);
        else keys.add(item.resource.metadata.key);
      }
    })().catch(reject);
  });
}
