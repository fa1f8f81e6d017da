import { existsSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/model/clock.ts";
import type { JournalInput, RunLogEntry } from "../../../src/model/run.ts";
import type { RunItem } from "../../../src/server/run-protocol.ts";
import type { Client } from "../../../src/server/protocol.ts";
import { connect } from "../../../src/server/client.ts";
import { systemIds } from "../../../src/server/system.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import type { Claimed, ResourceManagerStore } from "../../../src/store/store.ts";
import { host } from "../hosting.ts";
import { tempFolder } from "../temp.ts";
import { propose } from "./proposals.ts";

type Stage = {
  client: Client;
  home: string;
  project: string;
  store: ResourceManagerStore;
  /** Takes a run up, as a runner of the server would. */
  claim: () => Promise<Claimed>;
};

/** A server that runs nothing, over a socket, and the store under it. */
async function stage(): Promise<Stage> {
  const project = tempFolder("project");
  const database = path.join(tempFolder(), "state.sqlite");
  const store = await openStore({
    path: database,
    clock: systemClock,
    ids: systemIds(systemClock),
  });
  const { server, home } = await host({ store, concurrency: 0 });
  const client = await connect({ home });
  onTestFinished(async () => {
    await client.close();
    await server.stop();
    await store.close();
  });
  return {
    client,
    home,
    project,
    store,
    claim: async () => {
      const { epoch } = await store.info();
      const lanes = (await store.workflows()).map(({ lane }) => ({ lane, max: 1 }));
      const [claimed] = await store.claim({ epoch, lanes, limit: 1, leaseMs: 60_000 });
      return claimed as Claimed;
    },
  };
}

const INPUT = {
  type: "object",
  properties: { url: { type: "string" } },
  required: ["url"],
  additionalProperties: false,
};

const line = (event: JournalInput["event"], visit: number, more: object = {}) =>
  ({ event, at: 1, visit, node: "ask", attempt: 1, kind: "checkpoint", ...more }) as JournalInput;

const settled = {
  observedGeneration: 1,
  outcome: { kind: "settled" },
  startedAt: 1,
  durationMs: 1,
  random: 0,
} as const;

describe("accepting workflows", () => {
  it("A-14: keeps exactly what was proposed, its bundle first, and lists it", async () => {
    const { client, project, home } = await stage();
    const proposal = propose(project, "w");
    const [record] = await client.acceptWorkflows(project, [proposal]);
    const { bundle: _bundle, ...workflow } = proposal;
    expect(record).toMatchObject({ ...workflow, project });
    expect(existsSync(path.join(home, "bundles", `${proposal.digest}.mjs`))).toBe(true);
    expect(await client.workflows(project)).toEqual([record]);
    expect(await client.acceptWorkflows(project, [proposal])).toEqual([record]);
    expect(await client.managers()).toHaveLength(1);
  });

  it("A-14: refuses one that is not on disk, not where workflows lie, or another than its digest", async () => {
    const { client, project } = await stage();
    const proposal = propose(project, "w");
    const refused = (change: object) =>
      expect(client.acceptWorkflows(project, [{ ...proposal, ...change }])).rejects.toMatchObject({
        code: "DEFINITION_CHANGED",
      });
    await refused({ bundle: "other" });
    await refused({ name: "other" });
    await refused({ scope: "global" });
    writeFileSync(proposal.path, "export default 1;");
    await refused({});
    const outside = path.join(tempFolder(), "w.workflow.mjs");
    writeFileSync(outside, "export default {};");
    rmSync(proposal.path);
    symlinkSync(outside, proposal.path);
    await refused({});
    expect(await client.workflows()).toEqual([]);
  });

  it("keeps the code that runs which have not ended began with, and no other", async () => {
    const { client, project, home, store, claim } = await stage();
    const before = propose(project, "w");
    await client.acceptWorkflows(project, [before]);
    await client.startRun({ project, workflow: "w", input: {} });
    await claim();
    const unused = propose(project, "w", { text: "export default 1;" });
    await client.acceptWorkflows(project, [unused]);
    const now = propose(project, "w", { text: "export default 2;" });
    await client.acceptWorkflows(project, [now]);
    const kept = () => readdirSync(path.join(home, "bundles"));
    for (const file of kept()) utimesSync(path.join(home, "bundles", file), 1, 1);
    await client.stop();
    const again = await host({ home, store, concurrency: 0 });
    await expect.poll(kept).toHaveLength(4);
    const files = [before, now].flatMap(({ digest }) => [`${digest}.json`, `${digest}.mjs`]);
    expect(kept().sort()).toEqual(files.sort());
    await again.server.stop();
  });
});

describe("starting runs", () => {
  it("makes one run of one request key, and shows it", async () => {
    const { client, project } = await stage();
    await client.acceptWorkflows(project, [propose(project, "w", { inputSchema: INPUT })]);
    const start = { project, workflow: "w", input: { url: "x" }, requestKey: "once", session: "s" };
    const run = await client.startRun(start);
    expect(run).toMatchObject({ state: "pending", workflow: "w", input: { url: "x" }, attempt: 1 });
    expect(await client.startRun(start)).toEqual(run);
    await expect(client.startRun({ ...start, input: { url: "y" } })).rejects.toMatchObject({
      code: "RUN_CONFLICT",
    });
    expect(await client.run(run.runId)).toEqual(run);
    expect(await client.run("nothing")).toBeUndefined();
    const { items } = await client.runs({ session: "s", open: true });
    expect(items.map(({ runId }) => runId)).toEqual([run.runId]);
    expect(await client.status()).toMatchObject({ runs: { pending: 1, running: 0 } });
    expect((await client.list({})).items).toEqual([]);
  });

  it("refuses an input that is not the workflow's, and a workflow that nobody accepted", async () => {
    const { client, project } = await stage();
    await client.acceptWorkflows(project, [propose(project, "w", { inputSchema: INPUT })]);
    await expect(
      client.startRun({ project, workflow: "w", input: { url: 1, more: true } }),
    ).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringMatching(/input\.url: must be a string.*input: |more/s),
    });
    await expect(client.startRun({ project, workflow: "other", input: {} })).rejects.toMatchObject({
      code: "UNKNOWN_WORKFLOW",
      hint: expect.stringContaining(".pi/workflows/other.workflow.ts"),
    });
    expect((await client.runs({})).items).toEqual([]);
  });

  it("tries a failed run again with today's code, if that takes its input", async () => {
    const { client, project, claim, store } = await stage();
    await client.acceptWorkflows(project, [propose(project, "w")]);
    const run = await client.startRun({ project, workflow: "w", input: {} });
    await expect(client.retryRun(run.runId)).rejects.toMatchObject({ code: "RUN_NOT_FAILED" });
    const { claim: right, reconcileId } = await claim();
    await store.settle({
      ...settled,
      claim: right,
      reconcileId,
      run: { state: "failed", reason: "NodeFailed", message: "no" },
    });
    const stricter = propose(project, "w", { text: "1", inputSchema: INPUT });
    await client.acceptWorkflows(project, [stricter]);
    await expect(client.retryRun(run.runId)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    const now = propose(project, "w", { text: "2" });
    await client.acceptWorkflows(project, [now]);
    const again = await client.retryRun(run.runId);
    expect(again).toMatchObject({ attempt: 2, digest: now.digest, state: "pending" });
  });
});

describe("questions and answers", () => {
  it("R-3: shows what is asked and takes one fitting answer, also before it is asked", async () => {
    const { client, project, store, claim } = await stage();
    await client.acceptWorkflows(project, [propose(project, "w")]);
    const { runId } = await client.startRun({ project, workflow: "w", input: {}, session: "s" });
    const answer = (value: boolean | string, node?: string) =>
      client.answerRun({ runId, value, ...(node === undefined ? {} : { node }) });
    await expect(answer(true)).rejects.toMatchObject({ code: "NO_QUESTION" });
    const taken = await claim();
    await store.appendJournal(taken.claim, [line("begun", 1, { input: "Merge?" })]);
    const question = { runId, visit: 1, node: "ask", message: "Merge?", askedAt: 1 };
    const asked = [{ ...question, schema: { type: "boolean" } }];
    expect(await client.questions({ runId })).toEqual(asked);
    expect(await client.questions({ session: "s" })).toEqual(asked);
    expect(await client.questions({ session: "other" })).toEqual([]);
    await expect(answer("yes")).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringContaining("answer: must be a boolean"),
    });
    await expect(answer(true, "done")).rejects.toMatchObject({
      code: "NO_QUESTION",
      hint: "Its checkpoints: ask.",
    });
    await answer(true);
    await expect(answer(false)).rejects.toMatchObject({ code: "ALREADY_ANSWERED" });
    const { answers } = await store.runOrders(taken.claim);
    expect(answers).toMatchObject([{ node: "ask", ordinal: 1, value: true }]);
    const ended = line("succeeded", 1, { startedAt: 1, output: true });
    await store.appendJournal(taken.claim, [ended]);
    expect(await client.questions({ runId })).toEqual([]);
    const late = client.answerRun({ runId, node: "ask", visit: 1, value: false });
    await expect(late).rejects.toMatchObject({ code: "ALREADY_ANSWERED" });
    await answer(false, "ask");
    expect((await store.runOrders(taken.claim)).answers).toMatchObject([{ ordinal: 2 }]);
  });

  it("judges answers of an old run by its own code", async () => {
    const { client, project, store, claim } = await stage();
    await client.acceptWorkflows(project, [propose(project, "w")]);
    const { runId } = await client.startRun({ project, workflow: "w", input: {} });
    const taken = await claim();
    await store.appendJournal(taken.claim, [line("begun", 1)]);
    const { graph } = propose(project, "w");
    const nodes = { ask: { ...graph.nodes["ask"]!, outputSchema: { type: "string" } } };
    const other = propose(project, "w", { text: "1", graph: { ...graph, nodes } });
    await client.acceptWorkflows(project, [other]);
    await expect(client.answerRun({ runId, value: "yes" })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    await client.answerRun({ runId, value: true });
  });

  it("settles ambiguous attempts, and says which where there are several", async () => {
    const { client, project, store, claim } = await stage();
    const { graph } = propose(project, "w");
    const push = { kind: "action", safety: "manual", outputSchema: { type: "number" } } as const;
    const nodes = { ...graph.nodes, push };
    await client.acceptWorkflows(project, [propose(project, "w", { graph: { ...graph, nodes } })]);
    const { runId } = await client.startRun({ project, workflow: "w", input: {} });
    await expect(client.resolveRun(runId, { outcome: "retry" })).rejects.toMatchObject({
      code: "NOT_AMBIGUOUS",
    });
    const taken = await claim();
    const at = { node: "push", kind: "action" };
    await store.appendJournal(taken.claim, [line("begun", 1, at), line("begun", 2, at)]);
    await store.appendJournal(taken.claim, [line("ambiguous", 1, at), line("ambiguous", 2, at)]);
    await expect(client.resolveRun(runId, { outcome: "retry" })).rejects.toMatchObject({
      code: "NOT_AMBIGUOUS",
      hint: "Name one by its visit: 1 (push), 2 (push).",
    });
    await expect(
      client.resolveRun(runId, { outcome: "succeeded", output: "x" }, 2),
    ).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await client.resolveRun(runId, { outcome: "succeeded", output: 3 }, 2);
    const { resolutions } = await store.runOrders(taken.claim);
    expect(resolutions).toMatchObject([{ visit: 2, outcome: "succeeded", output: 3 }]);
  });
});

describe("streams", () => {
  it("tell runs as they change, and a run's log until it ends", async () => {
    const { client, project, store, claim } = await stage();
    await client.acceptWorkflows(project, [propose(project, "w")]);
    const { runId } = await client.startRun({ project, workflow: "w", input: {} });
    const leaving = new AbortController();
    const items: RunItem[] = [];
    const watching = (async () => {
      for await (const item of client.watchRuns({ open: true }, leaving.signal)) items.push(item);
    })();
    const states = () =>
      items.map((item) => (item.kind === "present" ? item.run.state : item.kind));
    await expect.poll(states).toEqual(["pending", "listed"]);
    const said: RunLogEntry[] = [];
    const following = (async () => {
      const log = client.followRunLog(runId, 0, leaving.signal);
      for await (const entry of log) said.push(entry);
    })();
    await client.pauseRun(runId);
    await expect.poll(states).toEqual(["pending", "listed", "waiting"]);
    await client.resumeRun(runId);
    const { claim: right } = await claim();
    await store.appendRunLog(right, [
      { at: 1, visit: 1, node: "ask", stream: "log", text: "hello" },
    ]);
    await client.cancelRun(runId);
    await expect.poll(() => said.map(({ text }) => text)).toEqual(["hello"]);
    await store.settle({
      ...settled,
      claim: right,
      reconcileId: "r",
      run: { state: "failed", reason: "Cancelled", message: "cancelled" },
    });
    // Another run's change is enough to make streams look.
    await client.startRun({ project, workflow: "w", input: {} });
    await following;
    leaving.abort();
    await watching;
  });
});
