import { readdirSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { beforeAll, expect, it } from "vitest";
import type { StoredRun } from "../../../src/model/run.ts";
import type { Client } from "../../../src/server/protocol.ts";
import { startServerProcess, untilTrue } from "../server-process.ts";
import { acceptAll, buildRuns, makeBoard, runProject, start, writeWorkflow } from "./real-runs.ts";

beforeAll(buildRuns);

const RUNS = 20;

/**
 * Each run counts to four by pure nodes, forks, makes two effects of its own, and sums up. A manual
 * action stands in one branch: no kill may make it happen twice.
 */
const body = `
  const id = z.object({ folder: z.string(), id: z.string() });
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const tick = compute({ input: id, output: z.number(), run: ({ tryOutput }) => (tryOutput(tick) ?? 0) + 1 });
  const left = action({ input: id, safety: "idempotent", output: z.string(), run: async (ctx) => {
    await pause(20); write(ctx, "left " + ctx.idempotencyKey); return "left"; } });
  const right = action({ input: id, safety: "manual", output: z.string(), run: async (ctx) => {
    write(ctx, "manual " + ctx.input.id); await pause(20); return "right"; } });
  const sum = compute({ input: id, output: z.string(), run: ({ input, output }) =>
    input.id + " " + output(tick) + " " + output(left) + " " + output(right) });
  const more = decision({ choices: ["more", "enough"], choose: ({ output }) => output(tick) < 4 ? "more" : "enough" });`;
const definition = `input: id, output: z.string(), startAt: "tick", nodes: { tick, more, fork, left, right, sum },
  edges: { tick: "more",
    more: { more: loop("tick", { max: 10, exhausted: end("lost") }), enough: "fork" },
    fork: parallel(["left", "right"], { join: "sum" }), left: "sum", right: "sum", sum: end("done") },
  exits: { done: ({ output }) => output(sum), lost: () => "lost" }`;

it("kill -9 of servers and runners, again and again: every run ends as it would have, no manual action runs twice", async () => {
  const board = makeBoard();
  const project = runProject();
  writeWorkflow(project, "count", {
    body: `${body}\n const fork = compute({ run: () => null });`,
    definition,
  });
  let server = await startServerProcess();
  await acceptAll(server.client, project);
  const ids = Array.from({ length: RUNS }, (_, index) => `r${index}`);
  for (const id of ids) await start(server.client, project, "count", { folder: board.folder, id });
  for (const target of [2, 5, 9, 13]) {
    await untilTrue(() => manual().length >= target);
    if (target % 2 === 0) {
      await server.end("SIGKILL");
      server = await startServerProcess(server.home);
    } else killRunners(server.home);
  }
  const { client } = server;
  // A person looks whether what was cut short was done.
  await untilTrue(async () => {
    for (const { runId } of await inState(client, "interrupted")) {
      const run = await runOf(client, runId);
      const { id } = run.input as { id: string };
      const isDone = manual().includes(`manual ${id}`);
      await client.resolveRun(
        runId,
        isDone ? { outcome: "succeeded", output: "right" } : { outcome: "retry" },
      );
    }
    return (await inState(client, "succeeded")).length === RUNS;
  });
  const { items } = await client.runs({ project });
  const outputs = await Promise.all(
    items.map(async ({ runId }) => (await runOf(client, runId)).output as string),
  );
  expect(outputs.toSorted()).toEqual(ids.map((id) => `${id} 4 left right`).toSorted());
  expect(manual().toSorted()).toEqual(ids.map((id) => `manual ${id}`).toSorted());
  await server.end("SIGTERM");
  const database = new Database(path.join(server.home, "state.sqlite"), { readonly: true });
  expect(database.pragma("integrity_check", { simple: true })).toBe("ok");
  database.close();

  function manual(): string[] {
    return board.lines().filter((line) => line.startsWith("manual"));
  }
});

function killRunners(home: string): void {
  for (const file of readdirSync(path.join(home, "runners"))) {
    try {
      process.kill(Number.parseInt(file, 10), "SIGKILL");
    } catch {
      // It ended by itself.
    }
  }
}

async function inState(client: Client, state: "interrupted" | "succeeded") {
  return (await client.runs({ state, limit: 1_000 })).items;
}

async function runOf(client: Client, runId: string): Promise<StoredRun> {
  return (await client.run(runId)) as StoredRun;
}
