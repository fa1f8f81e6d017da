import { mkdirSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { canonicalJson } from "../../../src/model/canonical.ts";
import { defineResourceManager } from "../../../src/resource-managers/define.ts";
import { host } from "../../server/hosting.ts";
import {
  acceptAll,
  inState,
  runProject,
  start,
  writeWorkflow,
} from "../../server/runs/real-runs.ts";
import { tempFolder } from "../../server/temp.ts";
import { TOKEN } from "./asking.ts";

/** A server in this process with resources that keep a secret, and runs that wait for an answer. */
export type Stage = {
  project: string;
  home: string;
  socket: string;
  /** Runs that wait, one that succeeded, and one that failed. */
  runIds: string[];
};

const keeper = defineResourceManager({
  name: "keeper",
  spec: z.object({ size: z.number(), secret: z.string().meta({ secret: true }) }),
  initialStatus: () => ({}),
  reconcile: (ctx) => ctx.settled(),
});

/** A checkpoint that takes anything, whose answer is a node's output and the run's. */
const TALK = {
  body: `const ask = checkpoint({ message: "What?", answer: z.unknown() });
    const echo = compute({ output: z.unknown(), run: ({ output }) => output(ask) });`,
  definition: `output: z.unknown(), startAt: "ask", nodes: { ask, echo },
    edges: { ask: "echo", echo: end("done") }, exits: { done: ({ output }) => output(echo) }`,
};
const FAIL = {
  body: `const no = compute({ output: z.unknown(), run: () => { throw new Error("no\\u001b[2J"); } });`,
  definition: `output: z.unknown(), startAt: "no", nodes: { no },
    edges: { no: end("done") }, exits: { done: () => null }`,
};

export async function openStage(): Promise<Stage> {
  const project = runProject();
  writeWorkflow(project, "talk", TALK);
  writeWorkflow(project, "fail", FAIL);
  mkdirSync(path.join(project, "specs"));
  const home = path.join(tempFolder(), "home");
  const { server, socket } = await host({ home, project, managers: [keeper] });
  const { client } = server;
  await server.apply(
    ["a", "b/ü 1"].map((key) => ({
      resourceManager: "keeper",
      key,
      spec: { size: 1, secret: TOKEN },
    })),
  );
  await acceptAll(client, project);
  const runs = await Promise.all(
    ["talk", "talk", "talk", "fail"].map((name) => start(client, project, name, INPUT)),
  );
  const [first, , , last] = runs;
  await Promise.all(runs.slice(0, 3).map(({ runId }) => inState(client, runId, "waiting")));
  await client.answerRun({ runId: first!.runId, value: JSON.parse(canonicalJson({ ok: [1] })) });
  await inState(client, first!.runId, "succeeded");
  await inState(client, last!.runId, "failed");
  return { project, home, socket, runIds: runs.map(({ runId }) => runId) };
}

/** What the workflows take. */
export const INPUT = { folder: "f" };
