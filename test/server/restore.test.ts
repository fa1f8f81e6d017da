import path from "node:path";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import type { Client } from "../../src/server/protocol.ts";
import { backup, restore } from "../../src/server/backup.ts";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { creation, host, PROJECT } from "./hosting.ts";
import { startServerProcess, untilTrue } from "./server-process.ts";
import { tempFolder } from "./temp.ts";
import {
  acceptAll,
  buildRuns,
  inState,
  makeBoard,
  runProject,
  start,
  writeWorkflow,
} from "./runs/real-runs.ts";

beforeAll(buildRuns);

/** A provider that keeps what it was asked to do, and can be asked whether it did. */
function makeProvider() {
  const log: string[] = [];
  const orders = defineResourceManager({
    name: "orders",
    spec: z.object({ steps: z.number() }),
    initialStatus: () => ({}),
    async reconcile(ctx, { spec, metadata }) {
      for (let step = 1; step <= spec.steps; step += 1) {
        const name = `${metadata.key}:${step}`;
        await ctx.effects.ensure({
          key: `step:${step}`,
          kind: "order",
          request: { name },
          observe: async () =>
            log.includes(name) ? { state: "applied", externalRef: name } : { state: "absent" },
          apply: async () => {
            log.push(name);
            return { externalRef: name };
          },
        });
      }
      return ctx.settled();
    },
  });
  return { log, orders };
}

async function put(client: Client, key: string, steps: number): Promise<void> {
  const ref = { project: PROJECT, resourceManager: "orders", key };
  const present = await client.get(ref);
  const made = creation(key, { steps }, "orders");
  const change = present
    ? { ...made, kind: "update" as const, expected: present.resource.metadata.resourceVersion }
    : made;
  await client.commit({ project: PROJECT, changes: [change as typeof made] });
}

it("E-12: nothing that a provider did after the backup is done twice, for old resources and lost ones", async () => {
  const { log, orders } = makeProvider();
  const before = await host({ managers: [orders] });
  const { client } = before.server;
  await put(client, "a", 2);
  await untilTrue(() => log.length === 2);
  const file = path.join(tempFolder(), "backup");
  await backup(before.home, file);
  await put(client, "a", 4);
  await put(client, "lost", 2);
  await untilTrue(() => log.length === 6);
  await before.server.stop();
  await restore(before.home, file);

  const after = await host({ managers: [orders], home: before.home });
  await put(after.server.client, "a", 5);
  await put(after.server.client, "lost", 3);
  await untilTrue(() => log.length >= 8);
  const effects = await after.server.client.effects({ project: PROJECT });
  await untilTrue(async () => (await after.server.client.effects({ open: true })).length === 0);
  expect(log.toSorted()).toEqual(["a:1", "a:2", "a:3", "a:4", "a:5", "lost:1", "lost:2", "lost:3"]);
  expect(effects.filter(({ resourceKey }) => resourceKey === "a")).toHaveLength(5);
});

it("E-12: a run goes on by itself only through what may be repeated; a person is asked about the rest", async () => {
  const board = makeBoard();
  const project = runProject();
  writeWorkflow(project, "release", {
    body: `
      const built = step("built");
      const push = step("push", { safety: "manual" });
      const tell = step("tell", { safety: "manual" });`,
    definition: `output: z.string(), startAt: "built", nodes: { built, push, tell },
      edges: { built: "push", push: "tell", tell: end("done") },
      exits: { done: ({ output }) => output(tell) }`,
  });
  const server = await startServerProcess();
  await acceptAll(server.client, project);
  const { runId } = await start(server.client, project, "release", { folder: board.folder });
  await board.written("built");
  const file = path.join(tempFolder(), "backup");
  await backup(server.home, file);
  board.open("built");
  board.open("push");
  await board.written("tell");
  await server.end("SIGKILL");
  await restore(server.home, file);

  const { client } = await startServerProcess(server.home);
  board.open("tell");
  // What the journal of the backup does not have may have happened, so it is not done again.
  const asked = await inState(client, runId, "interrupted");
  expect(asked).toMatchObject({ reason: "Ambiguous", node: "push" });
  await client.resolveRun(runId, { outcome: "succeeded", output: "push" });
  await untilTrue(async () => (await client.run(runId))?.node === "tell");
  await inState(client, runId, "interrupted");
  expect(board.lines()).toEqual(["built", "push", "tell", "built"]);
  await client.resolveRun(runId, { outcome: "retry" });
  expect(await inState(client, runId, "succeeded")).toMatchObject({ output: "tell" });
  expect(board.lines()).toEqual(["built", "push", "tell", "built", "tell"]);
});
