import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/server/client.ts";
import { homeAt } from "../../src/server/home.ts";
import { acquireLock } from "../../src/server/lock.ts";
import { applySpecs, untilTrue } from "../server/server-process.ts";
import { host } from "../server/hosting.ts";
import {
  acceptAll,
  buildRuns,
  inState,
  makeBoard,
  runProject,
  start,
  writeWorkflow,
} from "../server/runs/real-runs.ts";
import { scriptedAgents } from "../server/runs/scripted-agents.ts";

beforeAll(buildRuns);

const deaf = `process.on("SIGTERM", () => {}); for (;;) await new Promise((done) => setTimeout(done, 50));`;
const parks = `
  await ctx.effects.ensure({
    key: "e", kind: "lost", request: {},
    observe: async () => ({ state: "unknown", reason: "nobody knows" }),
    apply: async () => { throw new Error("no answer"); },
  });`;
/** An endless loop where a spec is loaded: only a kill ends it. */
const endless = `for (;;);\nexport default [];\n`;

/** A run that waits for a person, and one that waits for an agent. */
function writeWorkflows(project: string): void {
  const fields = { exits: `exits: { done: () => "done" }` };
  writeWorkflow(project, "asks", {
    body: `const ask = checkpoint({ message: "?", answer: z.object({ ok: z.boolean() }) });`,
    definition: `output: z.string(), startAt: "ask", nodes: { ask }, edges: { ask: end("done") }, ${fields.exits}`,
  });
  writeWorkflow(project, "thinks", {
    body: `const think = agent({ input, prompt: "?", output: z.string(), tools: [], cwd: ({ input }) => input.folder });`,
    definition: `output: z.string(), startAt: "think", nodes: { think }, edges: { think: end("done") }, ${fields.exits}`,
  });
}

describe("P-3: a stop", () => {
  it("ends whatever is going on, and lets the lock go", async () => {
    const { port, asked, stopped } = scriptedAgents();
    const { server, home, socket } = await host({ managers: [], drainMs: 50, agents: port });
    const { client } = server;
    const { folder } = makeBoard();
    const project = runProject({ deaf, parks });
    writeWorkflows(project);
    await acceptAll(client, project);
    const { runId } = await start(client, project, "asks", { folder });
    await start(client, project, "thinks", { folder });
    await inState(client, runId, "waiting");
    await untilTrue(() => asked.length === 1);
    await applySpecs(client, project, "parks", { p: {} });
    await untilTrue(async () => {
      const [effect] = await client.effects({ project, open: true });
      if (effect && !effect.parked) await client.reconcile({ project, resourceManager: "parks" });
      return effect?.parked === true;
    });
    await applySpecs(client, project, "deaf", { d: {} });
    await untilTrue(async () => (await client.status()).passes.running >= 2);
    const synced = runProject();
    mkdirSync(path.join(synced, ".pi/resources"), { recursive: true });
    writeFileSync(path.join(synced, ".pi/resources/endless.resource.ts"), endless);
    await client.syncEnable({ project: synced, workingTree: true });
    await untilTrue(async () => (await client.syncStatus(synced))[0]?.activity.state === "loading");
    const streams = await readers(home, socket);

    await server.stop();
    acquireLock(homeAt(home))();
    await streams.ended;
    expect(stopped()).toBe(true);
    const log = readFileSync(homeAt(home).log, "utf8");
    expect(log).toContain("Passes did not end in time");
    expect(log).not.toContain("left behind");
    expect(log).not.toContain("could not be");
  });

  it("of a server that is idle beside a run that waits for a person ends too", async () => {
    const { server, home, socket } = await host({ managers: [], idleExitMs: 1_000 });
    const { folder } = makeBoard();
    const project = runProject();
    writeWorkflows(project);
    // Somebody is there until the run waits.
    const reader = net.connect(socket);
    reader.write("GET /v1/events HTTP/1.1\r\nhost: x\r\n\r\n");
    await acceptAll(server.client, project);
    const { runId } = await start(server.client, project, "asks", { folder });
    await inState(server.client, runId, "waiting");
    reader.destroy();
    await server.stopped();
    acquireLock(homeAt(home))();
    expect(readFileSync(homeAt(home).log, "utf8")).not.toContain("left behind");
  });
});

/** Readers of streams, one of which reads nothing, and connections that never finish a request. */
async function readers(home: string, socket: string): Promise<{ ended: Promise<unknown> }> {
  const client = await connect({ home });
  onTestFinished(() => client.close());
  const never = new AbortController().signal;
  const drain = async (items: AsyncIterable<unknown>): Promise<void> => {
    for await (const item of items) expect(item).toBeDefined();
  };
  const reads = [client.events({}, never), client.watch({}, never), client.syncWatch({}, never)];
  const ended = Promise.allSettled(reads.map(drain));
  const texts = ["", "GET /v1/hello HTTP/1.1\r\n", "GET /v1/watch HTTP/1.1\r\nhost: x\r\n\r\n"];
  for (const text of texts) {
    const connection = net.connect(socket).on("error", () => {});
    onTestFinished(() => void connection.destroy());
    await new Promise((done) => void connection.once("connect", done));
    connection.write(text);
    connection.pause();
  }
  return { ended };
}
