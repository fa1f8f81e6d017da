import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { hasEnded } from "../src/model/run.ts";
import type { Client, RunItem } from "../src/server/protocol.ts";
import { check, interleave, median, medianRatio, milliseconds, perSecond } from "./harness.ts";
import type { Benchmark, Figure } from "./harness.ts";
import { clock, startHost, type Host } from "./host.ts";
import { COMMAND, runNode } from "./processes.ts";
import { makeProject, NOOP, type Project } from "./project.ts";

/** Nodes of each workflow. What a run costs by itself is in all of them alike. */
const SIZES = [10, 100, 1_000, 10_000];
/** Runs of a size in one round: short ones are measured together. */
const NODES_PER_ROUND = 1_000;

/**
 * W1: chains of pure nodes, each of which adds one to what the one before it handed over, from the
 * request over the socket to the notice that the run has ended.
 */
export const w1: Benchmark = {
  name: "W1",
  what: "pure nodes of a graph, from 10 to 10,000 of them",
  async run({ quick }) {
    const sizes = quick ? SIZES.slice(0, 3) : SIZES;
    const project = makeProject(NOOP);
    for (const size of sizes) addChain(project, size);
    const host = await startHost(project, 2);
    for (const size of sizes) await runByCommand(project, size);
    const samples = await interleave(quick ? 5 : 7, subjects(host, project, sizes));
    await host.checkSettled();
    await host.stop();
    return figures(samples, sizes);
  },
};

/** By size: milliseconds of one run, its warm-up left out. */
function subjects(
  host: Host,
  project: Project,
  sizes: readonly number[],
): Record<string, () => Promise<number>> {
  return Object.fromEntries(
    sizes.map((size) => [
      String(size),
      async () => {
        // Each workflow is code of its own, so its runner is started by the first of a round.
        await runOnce(host, project, size);
        const runs = Math.max(1, Math.round(NODES_PER_ROUND / size));
        let ms = 0;
        for (let left = runs; left > 0; left -= 1) ms += await runOnce(host, project, size);
        return ms / runs;
      },
    ]),
  );
}

function figures(samples: Record<string, number[]>, sizes: readonly number[]): Figure[] {
  const [small = 0, large = 0, largest = 0] = [sizes[0], sizes.at(-2), sizes.at(-1)];
  const whole = median((samples[largest] ?? []).map((ms) => (1_000 * largest) / ms));
  const early = perNode(samples, small, large);
  const late = perNode(samples, large, largest);
  const runs = sizes.map((size) => [`${size} nodes`, milliseconds(median(samples[size] ?? []))]);
  const [from, to] = [large.toLocaleString("en"), largest.toLocaleString("en")];
  return [
    {
      goal: "W1",
      what: `pure nodes of one run of ${to}, its start and end counted in`,
      value: whole,
      unit: "nodes/s",
      limit: { atLeast: 2_000 },
      absolute: perSecond(whole),
      detail: Object.fromEntries(runs) as Record<string, string>,
    },
    {
      goal: "W1",
      what: `a node more between ${from} and ${to}, beside one between ${small} and ${from}`,
      value: medianRatio(late, early),
      unit: "×",
      limit: { atMost: 1.2 },
      absolute: `${milliseconds(median(late))} and ${milliseconds(median(early))} a node`,
    },
  ];
}

/** Milliseconds of each node that the longer run has more. */
function perNode(samples: Record<string, number[]>, from: number, to: number): number[] {
  const short = samples[from] ?? [];
  return (samples[to] ?? []).map((ms, round) => (ms - (short[round] ?? 0)) / (to - from));
}

function chainName(size: number): string {
  return `chain-${size}`;
}

function addChain({ root }: Project, size: number): void {
  const folder = path.join(root, ".pi", "workflows");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    path.join(folder, `${chainName(size)}.workflow.ts`),
    `import { z } from "zod";
import { compute, defineWorkflow, end } from "@osolmaz/pi-workflows";
const nodes = {};
const edges = {};
let last;
for (let index = 1; index <= ${size}; index += 1) {
  const before = last;
  last = compute({ run: ({ output }) => (before ? output(before) : 0) + 1 });
  nodes["n" + index] = last;
  edges["n" + index] = index === ${size} ? end("done") : "n" + (index + 1);
}
export default defineWorkflow({
  name: ${JSON.stringify(chainName(size))}, input: z.object({}), output: z.number(),
  startAt: "n1", nodes, edges, exits: { done: ({ output }) => output(last) },
});
`,
  );
}

/** Has the command line accept the workflow; its run is checked like the others. */
async function runByCommand({ root, env }: Project, size: number): Promise<void> {
  const start = [COMMAND, "run", "start", chainName(size), "--wait", "-o", "json"];
  const { stdout } = await runNode(start, { cwd: root, env });
  const { run } = JSON.parse(stdout) as { run: { output: unknown } };
  check(run.output === size, `a run of ${size} nodes adds up to it`);
}

async function runOnce({ client }: Host, { root }: Project, size: number): Promise<number> {
  const leaving = new AbortController();
  const notices = client.watchRuns(
    { project: root, workflow: chainName(size), limit: 1 },
    leaving.signal,
  );
  const iterator = notices[Symbol.asyncIterator]();
  await untilListed(iterator);
  const begun = clock();
  const { runId } = await client.startRun({ project: root, workflow: chainName(size), input: {} });
  for (;;) {
    const { value, done } = await iterator.next();
    check(done !== true, "the watch goes on until the run has ended");
    if (value.kind === "present" && value.run.runId === runId && hasEnded(value.run)) break;
  }
  const ms = clock() - begun;
  leaving.abort();
  await iterator.return?.(undefined);
  await checkRun(client, runId, size);
  return ms;
}

/** The run has its result, and a line for each node that it came by, in order. */
async function checkRun(client: Client, runId: string, size: number): Promise<void> {
  const run = await client.run(runId);
  check(run?.state === "succeeded" && run.output === size, `a run of ${size} nodes adds up to it`);
  let after = 0;
  let ended = 0;
  for (;;) {
    const lines = await client.journal(runId, { after, limit: 1_000 });
    for (const line of lines) {
      check(line.sequence === after + 1, "the journal has no gap");
      after = line.sequence;
      if (line.event === "succeeded" && line.kind === "compute") ended += 1;
    }
    if (lines.length === 0) break;
  }
  check(ended === size, `${size} nodes have ended, not ${ended}`);
}

async function untilListed(notices: AsyncIterator<RunItem>): Promise<void> {
  for (;;) {
    const { value, done } = await notices.next();
    check(done !== true, "the watch lists what there is");
    if (value.kind === "listed") return;
  }
}
