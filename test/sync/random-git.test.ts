import { describe, expect, it, beforeAll } from "vitest";
import type { Client } from "../../src/server/protocol.ts";
import { count } from "../support/figures.ts";
import { buildServer, startServerProcess, type ServerProcess } from "../server/server-process.ts";
import { buildResolver, widgetRepository, writeWidgets } from "./syncing.ts";
import { randomOf, Worker } from "./random-git.ts";

// One sequence is a repository's life of a dozen steps. `npm run soak` does a thousand; a failure
// names the seed that repeats its sequence alone.
const SEQUENCES = Number(process.env["RANDOM_GIT_SEQUENCES"] ?? 3);
const SEED = Number(process.env["RANDOM_GIT_SEED"] ?? Date.now() % 1_000_000_000);
const STEPS = 12;
const CRASHES = 0.08;

beforeAll(() => {
  buildServer();
  buildResolver();
});

describe("A-12: random sequences of git commands, and crashes of the server", () => {
  it(
    "end in exactly the bound branch's state, and delete nothing that the branch always had",
    async () => {
      let server = await startServerProcess();
      for (let number = 0; number < SEQUENCES; number += 1) {
        server = await sequence(SEED + number, server);
        expect(await server.client.syncStatus()).toEqual([]);
      }
    },
    60_000 + SEQUENCES * 10_000,
  );
});

async function sequence(seed: number, first: ServerProcess): Promise<ServerProcess> {
  let server = first;
  const random = randomOf(seed);
  const repo = widgetRepository();
  writeWidgets(repo, { anchor: 1, a: 1, b: 1 });
  repo.commit("the beginning");
  const guard = { count: 1_000, fraction: 1 };
  await server.client.syncEnable({ project: repo.folder, guard });
  await server.client.syncNow(repo.folder);
  const before = await stateOf(server.client, repo.folder);
  const worker = new Worker(repo, random);
  let always = [...before.keys()];
  try {
    for (let step = 0; step < STEPS; step += 1) {
      worker.step();
      if (random() < CRASHES) server = await crashed(server, worker);
      always = stillDeclared(always, worker);
    }
    worker.finish();
    always = stillDeclared(always, worker);
    await server.client.syncNow(repo.folder);
    const after = await stateOf(server.client, repo.folder);
    const stored = [...after].map(([key, { size }]): [string, unknown] => [key, size]);
    const declared = worker.declared().map(({ key, size }): [string, unknown] => [key, size]);
    expect(Object.fromEntries(stored)).toEqual(Object.fromEntries(declared));
    for (const key of always) expect(after.get(key)?.uid).toBe(before.get(key)?.uid);
    await server.client.syncDisable(repo.folder);
    count("sequences of git commands", 1);
    count("steps of everyday git", STEPS);
  } catch (cause) {
    const [status] = await server.client.syncStatus(repo.folder);
    throw new Error(
      `RANDOM_GIT_SEED=${seed} RANDOM_GIT_SEQUENCES=1\n${worker.log.join("\n")}\n` +
        JSON.stringify(status, undefined, 1),
      { cause },
    );
  }
  return server;
}

function stillDeclared(keys: string[], worker: Worker): string[] {
  const declared = new Set(worker.declared().map(({ key }) => key));
  return keys.filter((key) => declared.has(key));
}

async function crashed(server: ServerProcess, worker: Worker): Promise<ServerProcess> {
  worker.log.push("the server crashes");
  count("crashes of the server between them", 1);
  await server.end("SIGKILL");
  return startServerProcess(server.home);
}

async function stateOf(
  client: Client,
  project: string,
): Promise<Map<string, { uid: string; size: number | undefined }>> {
  const { items } = await client.list({ project });
  const state = new Map<string, { uid: string; size: number | undefined }>();
  for (const { metadata } of items) {
    const stored = await client.get({ project, resourceManager: "widget", key: metadata.key });
    const spec = stored?.resource.spec as { size: number } | undefined;
    state.set(metadata.key, { uid: metadata.uid, size: spec?.size });
  }
  return state;
}
