import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Json } from "../../../src/model/canonical.ts";
import type { RunState, StoredRun } from "../../../src/model/run.ts";
import { resolve } from "../../../src/runner/resolver.ts";
import type { Client } from "../../../src/server/protocol.ts";
import { ensureBuilt } from "../../support/dist.ts";
import { buildServer, makeProject, untilTrue } from "../server-process.ts";
import { tempFolder } from "../temp.ts";

/** Builds what servers, their runners, and workflows are made of. */
export function buildRuns(): void {
  buildServer();
  ensureBuilt("src/workflows/index.ts");
}

/**
 * A folder through which a test and the nodes of its workflows speak: nodes write lines, and wait for
 * gates that the test opens.
 */
export type Board = {
  folder: string;
  /** What nodes wrote, in order. */
  lines(): string[];
  /** Resolves when a line was written so often. */
  written(line: string, times?: number): Promise<void>;
  open(gate: string): void;
};

export function makeBoard(): Board {
  const folder = tempFolder("board");
  const file = path.join(folder, "lines");
  const lines = (): string[] =>
    existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  return {
    folder,
    lines,
    written: (line, times = 1) =>
      untilTrue(() => lines().filter((one) => one === line).length >= times),
    open: (gate) => writeFileSync(path.join(folder, gate), ""),
  };
}

/** What every workflow of these tests begins with; `ctx.input.folder` is the board's. */
const HEADER = `
import { appendFileSync, existsSync } from "node:fs";
import { z } from "zod";
import {
  action, agent, checkpoint, compute, decision, defineWorkflow, end, loop, parallel, shell,
} from "@osolmaz/pi-workflows";
const input = z.object({ folder: z.string() });
const write = (ctx, line) => appendFileSync(ctx.input.folder + "/lines", line + "\\n");
const gate = async (ctx, name) => {
  while (!existsSync(ctx.input.folder + "/" + name)) {
    ctx.signal.throwIfAborted();
    await new Promise((done) => setTimeout(done, 5));
  }
};
const step = (name, more = {}) => action({
  input, safety: "idempotent", output: z.string(), ...more,
  run: async (ctx) => { write(ctx, name); await gate(ctx, name); return name; },
});
`;

/** Writes a workflow: `body` defines its nodes, `definition` is what `defineWorkflow` gets besides. */
export function writeWorkflow(
  project: string,
  name: string,
  { body, definition }: { body: string; definition: string },
): void {
  const folder = path.join(project, ".pi/workflows");
  mkdirSync(folder, { recursive: true });
  const text = `${HEADER}\n${body}\nexport default defineWorkflow({ name: ${JSON.stringify(name)}, input, ${definition} });\n`;
  writeFileSync(path.join(folder, `${name}.workflow.ts`), text);
}

/** A workflow of steps, one after another: each writes its name and waits for its gate. */
export function writeSteps(
  project: string,
  name: string,
  steps: Record<string, string>,
  more = "",
): void {
  const names = Object.keys(steps);
  const body = names.map((one) => `const ${one} = step("${one}", ${steps[one]});`).join("\n");
  const edges = names.map((one, index) => {
    const next = names[index + 1];
    return `${one}: ${next === undefined ? 'end("done")' : `"${next}"`}`;
  });
  writeWorkflow(project, name, {
    body,
    definition: `${more} output: z.string(), startAt: "${names[0]}", nodes: { ${names.join(", ")} },
      edges: { ${edges.join(", ")} }, exits: { done: ({ output }) => output(${names.at(-1)}) }`,
  });
}

/** Loads the project's workflows as the command line does, and has them accepted. */
export async function acceptAll(client: Client, project: string): Promise<void> {
  const { workflows, workflowProblems } = await resolve({ project, files: [], workflows: "all" });
  if (workflowProblems.length > 0) throw new Error(JSON.stringify(workflowProblems, undefined, 2));
  await client.acceptWorkflows(project, workflows);
}

/** A project with resource managers (`name` → body of `reconcile`), in which workflows may lie too. */
export function runProject(managers: Record<string, string> = {}): string {
  return makeProject(managers);
}

export function start(
  client: Client,
  project: string,
  workflow: string,
  input: Json,
): Promise<StoredRun> {
  return client.startRun({ project, workflow, input });
}

/** Resolves with the run when it is in that state. */
export async function inState(client: Client, runId: string, state: RunState): Promise<StoredRun> {
  let run: StoredRun | undefined;
  await untilTrue(async () => {
    run = await client.run(runId);
    if (run && run.state !== state && (run.state === "succeeded" || run.state === "failed")) {
      throw new Error(`the run ended: ${JSON.stringify(run)}`);
    }
    return run?.state === state;
  });
  return run as StoredRun;
}
