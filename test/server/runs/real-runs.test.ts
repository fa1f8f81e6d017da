import { beforeAll, describe, expect, it } from "vitest";
import type { ResourceRef } from "../../../src/model/resource.ts";
import type { Client } from "../../../src/server/protocol.ts";
import { applySpecs, startServerProcess, untilTrue } from "../server-process.ts";
import { host } from "../hosting.ts";
import {
  acceptAll,
  buildRuns,
  inState,
  makeBoard,
  runProject,
  start,
  writeSteps,
  writeWorkflow,
} from "./real-runs.ts";
import { scriptedAgents } from "./scripted-agents.ts";

beforeAll(buildRuns);

it("a run with nodes of every kind goes to its end, and keeps what they said", async () => {
  const board = makeBoard();
  const project = runProject();
  writeWorkflow(project, "all", {
    body: `
      const count = compute({ output: z.number(), run: () => 1 });
      const act = action({ safety: "idempotent", input, output: z.string(), run: (ctx) => {
        write(ctx, "act"); ctx.log.info("acting"); return ctx.idempotencyKey; } });
      const tests = shell({ command: ["echo", "hello"], safety: "idempotent" });
      const think = agent({ prompt: "Is it good?", output: z.object({ good: z.boolean() }) });
      const judge = decision({ choices: ["yes", "no"], choose: ({ output }) => output(think).good ? "yes" : "no" });
      const ask = checkpoint({ message: "Merge?", answer: z.object({ ok: z.boolean() }) });`,
    definition: `output: z.object({ ok: z.boolean(), count: z.number(), said: z.string() }),
      startAt: "count", nodes: { count, act, tests, think, judge, ask },
      edges: { count: "act", act: parallel(["tests", "think"], { join: "judge" }), tests: "judge", think: "judge",
        judge: { yes: "ask", no: end("no") }, ask: end("done") },
      exits: { no: () => ({ ok: false, count: 0, said: "" }),
        done: ({ output }) => ({ ok: output(ask).ok, count: output(count), said: output(tests).stdout }) }`,
  });
  const agents = scriptedAgents(() => ({ state: "answered", value: { good: true } }));
  const { server } = await host({ agents: agents.port });
  const { client } = server;
  await acceptAll(client, project);
  const { runId } = await start(client, project, "all", { folder: board.folder });
  await inState(client, runId, "waiting");
  expect(await client.questions({ runId })).toMatchObject([{ node: "ask", message: "Merge?" }]);
  await client.answerRun({ runId, value: { ok: true } });
  const run = await inState(client, runId, "succeeded");
  expect(run).toMatchObject({
    exit: "done",
    output: { ok: true, count: 1, said: "hello\n" },
    epochs: 2,
  });
  expect(agents.asked.map(({ request }) => request)).toMatchObject([
    { runId, prompt: "Is it good?", cwd: project },
  ]);
  expect(agents.closed).toHaveLength(1);
  const said = await client.runLog(runId);
  expect(said.map(({ node, stream, text }) => [node, stream, text.trim()])).toEqual(
    expect.arrayContaining([
      ["act", "log", expect.stringContaining("acting")],
      ["tests", "stdout", "hello"],
    ]),
  );
  const nodes = new Set(
    (await client.journal(runId)).flatMap((one) => ("node" in one ? one.node : [])),
  );
  for (const name of ["count", "act", "tests", "think", "judge", "ask"]) {
    expect(nodes).toContain(name);
  }
});

describe("people", () => {
  it("pause a run between two nodes, and resume it where it was", async () => {
    const board = makeBoard();
    const project = runProject();
    writeSteps(project, "steps", { one: "{}", two: "{}" });
    const { client } = (await host()).server;
    await acceptAll(client, project);
    const { runId } = await start(client, project, "steps", { folder: board.folder });
    await board.written("one");
    await client.pauseRun(runId);
    board.open("one");
    expect(await inState(client, runId, "waiting")).toMatchObject({ reason: "Paused" });
    board.open("two");
    await client.resumeRun(runId);
    await inState(client, runId, "succeeded");
    expect(board.lines()).toEqual(["one", "two"]);
  });

  it("cancel a run: what runs is called off, and what was done is undone in reverse", async () => {
    const board = makeBoard();
    const project = runProject();
    const undo = (name: string) => `{ compensate: (ctx) => write(ctx, "undo ${name}") }`;
    writeSteps(project, "steps", { one: undo("one"), two: undo("two"), three: undo("three") });
    const { client } = (await host()).server;
    await acceptAll(client, project);
    const { runId } = await start(client, project, "steps", { folder: board.folder });
    board.open("one");
    board.open("two");
    await board.written("three");
    await client.cancelRun(runId);
    expect(await inState(client, runId, "failed")).toMatchObject({ reason: "Cancelled" });
    expect(board.lines()).toEqual(["one", "two", "three", "undo two", "undo one"]);
  });

  it("find a run whose workflow changed parked, and may go on with the code that it began with", async () => {
    const board = makeBoard();
    const project = runProject();
    writeSteps(project, "steps", { one: "{}", two: "{}" });
    const { client } = (await host()).server;
    await acceptAll(client, project);
    const { runId } = await start(client, project, "steps", { folder: board.folder });
    await board.written("one");
    writeSteps(project, "steps", { one: "{}", three: "{}" });
    await acceptAll(client, project);
    board.open("one");
    const parked = await inState(client, runId, "interrupted");
    expect(parked).toMatchObject({ reason: "DefinitionChanged" });
    board.open("two");
    await client.resumeRun(runId);
    expect(await inState(client, runId, "succeeded")).toMatchObject({ output: "two" });
    expect(board.lines()).toEqual(["one", "two"]);
  });

  it("see a run end that was not done at its deadline, and what it did undone", async () => {
    const board = makeBoard();
    const project = runProject();
    const undo = '{ compensate: (ctx) => write(ctx, "undone") }';
    writeSteps(project, "steps", { one: undo, two: "{}" }, 'deadline: "2s",');
    const { client } = (await host()).server;
    await acceptAll(client, project);
    const { runId } = await start(client, project, "steps", { folder: board.folder });
    board.open("one");
    expect(await inState(client, runId, "failed")).toMatchObject({ reason: "DeadlineExceeded" });
    expect(board.lines()).toEqual(["one", "two", "undone"]);
  });
});

describe("servers", () => {
  it("P-3: a server that stops lets the node end; the run goes on at the next start", async () => {
    const board = makeBoard();
    const project = runProject();
    writeSteps(project, "steps", { one: "{}", two: "{}" });
    const first = await host();
    await acceptAll(first.server.client, project);
    const { runId } = await start(first.server.client, project, "steps", { folder: board.folder });
    await board.written("one");
    const stopped = first.server.stop();
    board.open("one");
    await stopped;
    const { client } = (await host({ home: first.home })).server;
    board.open("two");
    expect(await inState(client, runId, "succeeded")).toMatchObject({ epochs: 2 });
    expect(board.lines()).toEqual(["one", "two"]);
  });

  it("P-3: no agent outlives a server that stops; its question is asked again at the next start", async () => {
    const project = runProject();
    writeWorkflow(project, "think", {
      body: `const think = agent({ prompt: "?", output: z.string() });`,
      definition: `output: z.string(), startAt: "think", nodes: { think },
        edges: { think: end("done") }, exits: { done: ({ output }) => output(think) }`,
    });
    const first = scriptedAgents();
    const before = await host({ agents: first.port, drainMs: 1 });
    await acceptAll(before.server.client, project);
    const { runId } = await start(before.server.client, project, "think", { folder: project });
    await untilTrue(() => first.asked.length === 1);
    first.asked[0]?.say("hm");
    await before.server.stop();
    expect(first.asked[0]?.signal.aborted).toBe(true);
    expect(new Set(first.closed).size).toBe(1);
    expect(first.stopped()).toBe(true);
    const second = scriptedAgents(() => ({ state: "answered", value: "yes" }));
    const { client } = (await host({ agents: second.port, home: before.home })).server;
    expect(await inState(client, runId, "succeeded")).toMatchObject({ output: "yes" });
    const said = await client.runLog(runId);
    expect(said).toContainEqual(expect.objectContaining({ stream: "agent", text: "hm\n" }));
  });

  it("a server that is killed in the middle of a run: it ends as it would have, and no done node is done again", async () => {
    const board = makeBoard();
    const project = runProject();
    writeSteps(project, "steps", { one: "{}", two: "{}", three: "{}" });
    let server = await startServerProcess();
    await acceptAll(server.client, project);
    const { runId } = await start(server.client, project, "steps", { folder: board.folder });
    board.open("one");
    await board.written("two");
    await server.end("SIGKILL");
    server = await startServerProcess(server.home);
    await board.written("two", 2);
    board.open("two");
    board.open("three");
    expect(await inState(server.client, runId, "succeeded")).toMatchObject({ output: "three" });
    expect(board.lines()).toEqual(["one", "two", "two", "three"]);
  });

  it("a manual node that was cut short is ambiguous, and done again only when a person says so", async () => {
    const board = makeBoard();
    const project = runProject();
    writeSteps(project, "steps", { one: '{ safety: "manual" }', two: "{}" });
    let server = await startServerProcess();
    await acceptAll(server.client, project);
    const { runId } = await start(server.client, project, "steps", { folder: board.folder });
    await board.written("one");
    await server.end("SIGKILL");
    server = await startServerProcess(server.home);
    const parked = await inState(server.client, runId, "interrupted");
    expect(parked).toMatchObject({ reason: "Ambiguous", node: "one" });
    board.open("two");
    await server.client.resolveRun(runId, { outcome: "succeeded", output: "by hand" });
    await inState(server.client, runId, "succeeded");
    expect(board.lines()).toEqual(["one", "two"]);
  });
});

describe("child runs", () => {
  const manager = `
    const run = await ctx.workflows.ensure({ requestKey: "work", workflow: "steps", input: resource.spec });
    if (run.state !== "succeeded") return ctx.settled();
    return ctx.settled({ conditions: [{ type: "Ready", status: true, reason: run.output }] });`;

  it("R-1, R-2: the end of a child run wakes its parent, whose status follows it", async () => {
    const board = makeBoard();
    const project = runProject({ parent: manager });
    writeSteps(project, "steps", { one: "{}" });
    const { client } = (await host()).server;
    await acceptAll(client, project);
    await applySpecs(client, project, "parent", { a: { folder: board.folder } });
    await board.written("one");
    const ref = { project, resourceManager: "parent", key: "a" };
    const status = async () => (await client.get(ref))?.resource.status;
    await untilTrue(async () => (await status())?.workflowRun?.state === "running");
    await client.reconcile(ref);
    board.open("one");
    await untilTrue(
      async () => (await status())?.conditions.some(({ reason }) => reason === "one") === true,
    );
    const { items } = await client.runs({ project });
    expect(items).toMatchObject([{ state: "succeeded", parent: { key: "a", requestKey: "work" } }]);
    expect((await status())?.workflowRun).toEqual({
      requestId: "work",
      runId: items[0]?.runId,
      state: "succeeded",
      attempt: 1,
    });
  });

  it.each(["delete", "prune"] as const)(
    "the %s of a parent cancels its child run, and waits for what that undoes",
    async (how) => {
      const board = makeBoard();
      const project = runProject({ parent: manager });
      const undo =
        '{ compensate: async (ctx) => { write(ctx, "undo"); await gate(ctx, "undone"); } }';
      writeSteps(project, "steps", { one: undo, two: "{}" });
      const { client } = (await host()).server;
      await acceptAll(client, project);
      await applySpecs(client, project, "parent", { a: { folder: board.folder } });
      board.open("one");
      await board.written("two");
      const ref = { project, resourceManager: "parent", key: "a" };
      const origin = { owner: { kind: "apply", name: "test" } } as const;
      if (how === "delete") {
        expect(await client.delete(ref, { origin })).toMatchObject({ removed: false });
      } else {
        const expected = (await client.get(ref))?.resource.metadata.resourceVersion as number;
        const change = { kind: "prune", manager: "parent", key: "a", expected, origin } as const;
        await client.commit({ project, changes: [change] });
      }
      await board.written("undo");
      expect(await client.get(ref)).toBeDefined();
      board.open("undone");
      await untilTrue(async () => (await client.get(ref)) === undefined);
      expect((await client.runs({ project })).items).toMatchObject([
        { state: "failed", reason: "Cancelled" },
      ]);
    },
  );

  /** Waits until a resource says something, and returns what is queued of it then. */
  async function queuedWhenSaid(client: Client, ref: ResourceRef, words: RegExp) {
    const said = async () =>
      (await client.get(ref))?.resource.status.conditions.some(({ message }) =>
        words.test(message ?? ""),
      ) === true;
    await untilTrue(said);
    const uid = (await client.get(ref))?.resource.metadata.uid as string;
    return client.queue({ uid });
  }

  it("an input that a workflow does not take ends the pass for good and says what is wrong", async () => {
    const project = runProject({
      wrong: `await ctx.workflows.ensure({ requestKey: "k", workflow: "steps", input: { folder: 1 } });`,
    });
    writeSteps(project, "steps", { one: "{}" });
    const { client } = (await host()).server;
    await acceptAll(client, project);
    await applySpecs(client, project, "wrong", { a: {} });
    const ref = { project, resourceManager: "wrong", key: "a" };
    expect(await queuedWhenSaid(client, ref, /input\.folder: must be a string/)).toEqual([]);
  });

  it("a workflow that nobody accepted is named, and run once somebody has", async () => {
    const project = runProject({
      early: `const run = await ctx.workflows.ensure({ requestKey: "k", workflow: "late", input: resource.spec });
        return ctx.settled({ resourceManagerStatus: { state: run.state } });`,
    });
    const { client } = (await host()).server;
    await acceptAll(client, project);
    const board = makeBoard();
    await applySpecs(client, project, "early", { a: { folder: board.folder } });
    const ref = { project, resourceManager: "early", key: "a" };
    const words = /late.*\.pi\/workflows\/late\.workflow\.ts/;
    expect(await queuedWhenSaid(client, ref, words)).toHaveLength(1);
    writeSteps(project, "late", { one: "{}" });
    board.open("one");
    await acceptAll(client, project);
    const isDone = async () =>
      (await client.get(ref))?.resource.status.workflowRun?.state === "succeeded";
    await untilTrue(isDone);
  });
});
