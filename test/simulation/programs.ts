import { z } from "zod";
import { fingerprintText } from "../../src/model/canonical.ts";
import type { ResolvedWorkflow } from "../../src/model/graph.ts";
import type { ResolvedManager } from "../../src/model/manifest.ts";
import { hasEnded } from "../../src/model/run.ts";
import type { ResourceManager } from "../../src/resource-managers/define.ts";
import {
  conditionFalse,
  conditionTrue,
  defineResourceManager,
  TerminalError,
} from "../../src/resource-managers/index.ts";
import { compile } from "../../src/workflows/compile.ts";
import type { CompiledWorkflow } from "../../src/workflows/compiled.ts";
import {
  action,
  checkpoint,
  compute,
  decision,
  defineWorkflow,
  end,
  loop,
  parallel,
} from "../../src/workflows/index.ts";
import type { Proc } from "./proc.ts";
import { CONSISTENCY_MS, type Provider } from "./provider.ts";
import type { World } from "./world.ts";

export const PROJECT = "/simulated";
export const MANAGERS = ["thing", "poll"] as const;
export const WORKFLOWS = ["careful", "quick"] as const;
export const FINALIZER = "simulation/thing";
const PASS_DEADLINE_MS = 20_000;

/** What the authors' code of a simulation acts on: the world, and the process that it runs in. */
export type Site = { world: World; provider: Provider; proc: Proc };

/** What a resource of the simulation says. */
export type ThingSpec = {
  size: number;
  /** The effect can't be observed: only a person can tell what became of it. */
  opaque: boolean;
  /** The workflow whose run it wants, once for each size. */
  run?: (typeof WORKFLOWS)[number];
  asks: boolean;
};

/** The effect that a generation of a thing wants. */
export function effectKeyOf(generation: number): string {
  return `set-${generation}`;
}

/** What the provider calls an effect of a resource. */
export function providerKeyOf(uid: string, effectKey: string): string {
  return `${uid}/${effectKey}`;
}

/** The managers, as the code of one process. */
export function managersAt(site: Site): Record<(typeof MANAGERS)[number], ResourceManager> {
  const { world, proc, provider } = site;
  const ensure = async (
    ctx: Parameters<ResourceManager["reconcile"]>[0],
    uid: string,
    { effectKey, opaque }: { effectKey: string; opaque: boolean },
  ): Promise<void> => {
    const key = providerKeyOf(uid, effectKey);
    await ctx.effects.ensure({
      key: effectKey,
      kind: opaque ? "opaque" : "set",
      request: { key },
      consistencyWindowMs: CONSISTENCY_MS,
      observe: async () => {
        if (opaque) return { state: "unknown", reason: "nothing of it can be seen" };
        return { state: (await provider.look(proc, key)) ? "applied" : "absent" };
      },
      apply: async () => ({ externalRef: await provider.send(proc, key) }),
    });
  };
  const misbehave = async (): Promise<void> => {
    const { random, faults } = world;
    if (random.chance(0.3)) await proc.sleep(random.between(0, 200));
    const isTerminal = random.chance(faults.passTerminal);
    if (!isTerminal && !random.chance(faults.passThrows)) return;
    world.note("author's code threw");
    throw isTerminal ? new TerminalError("this can't be") : new Error("the author's code throws");
  };
  const thing = defineResourceManager<ThingSpec, object>({
    name: "thing",
    initialStatus: () => ({}),
    deadlineMs: PASS_DEADLINE_MS,
    async reconcile(ctx, { metadata, spec }) {
      const { uid, generation, deletionTimestamp } = metadata;
      world.trace(`pass of ${metadata.key} at ${generation} for ${ctx.event.cause}`);
      await misbehave();
      if (deletionTimestamp !== undefined) {
        await ensure(ctx, uid, { effectKey: "remove", opaque: false });
        await ctx.finalizers.remove(FINALIZER);
        return ctx.settled();
      }
      await ctx.finalizers.add(FINALIZER);
      await ensure(ctx, uid, { effectKey: effectKeyOf(generation), opaque: spec.opaque });
      await misbehave();
      if (world.random.chance(world.faults.requeue)) return ctx.requeue();
      if (world.random.chance(world.faults.requeue)) return ctx.requeueAfter(1_500);
      const status = { resourceManagerStatus: { size: spec.size } };
      if (spec.run !== undefined) {
        const requestKey = `run-${spec.run}-${spec.size}-${spec.asks}`;
        const input = { ask: spec.asks };
        const run = await ctx.workflows.ensure({ requestKey, workflow: spec.run, input });
        if (!hasEnded(run)) {
          return ctx.settled({ ...status, conditions: [conditionFalse("Ready", "Running")] });
        }
      }
      await ctx.events.emit({ type: "Normal", reason: "Set", message: `to ${spec.size}` });
      return ctx.settled({ ...status, conditions: [conditionTrue("Ready", "Set")] });
    },
  });
  const poll = defineResourceManager<ThingSpec, object>({
    name: "poll",
    initialStatus: () => ({}),
    deadlineMs: PASS_DEADLINE_MS,
    maxConcurrent: 1,
    async reconcile(ctx, { metadata, spec }) {
      world.trace(`poll of ${metadata.key} for ${ctx.event.cause}`);
      await misbehave();
      const result = {
        resourceManagerStatus: { size: spec.size },
        conditions: [conditionTrue("Ready", "Polled")],
      };
      return spec.opaque ? ctx.settled(result) : ctx.requeueAfter(5 * 60_000, result);
    },
  });
  return { thing, poll };
}

/** A manager as the server knows it. `version` makes another digest of it. */
export function resolvedManager(name: string, version: number): ResolvedManager {
  return {
    name,
    path: `${PROJECT}/.pi/resource-managers/${name}.resource-manager.ts`,
    scope: "project",
    digest: fingerprintText(`${name} ${version}`),
    inputs: [],
    secretPaths: [],
    sources: [],
    deadlineMs: PASS_DEADLINE_MS,
    maxConcurrent: name === "poll" ? 1 : 4,
  };
}

/** Which process a run is executed by: there is at most one at a time (F-5). */
const sites = new Map<string, Site>();

export function placeRun(runId: string, site: Site): void {
  sites.set(runId, site);
}

function siteOf(runId: string): Site {
  return sites.get(runId) as Site;
}

/** What the provider calls what a node of a run does. */
export function nodeKeyOf(runId: string, node: string, visit: number | string): string {
  return `${runId}/${node}/${visit}`;
}

const input = z.object({ ask: z.boolean() });
const start = compute({ input, output: z.number(), run: () => 1 });
const record = action({
  safety: "idempotent",
  retry: { times: 3, delay: "2s" },
  run: async ({ runId, idempotencyKey }) => {
    const { provider, proc } = siteOf(runId);
    return provider.send(proc, `idempotent/${idempotencyKey}`, { isIdempotent: true });
  },
});
const ledgered = action({
  safety: "idempotent",
  retry: { times: 5, delay: "10s" },
  run: async ({ runId, effects }) => {
    const { provider, proc } = siteOf(runId);
    const key = nodeKeyOf(runId, "ledgered", "effect");
    await effects.ensure({
      key: "ledgered",
      kind: "node",
      request: { key },
      consistencyWindowMs: CONSISTENCY_MS,
      observe: async () => ({ state: (await provider.look(proc, key)) ? "applied" : "absent" }),
      apply: async () => ({ externalRef: await provider.send(proc, key) }),
    });
    return 1;
  },
});
const charge = action({
  safety: "manual",
  run: ({ runId, idempotencyKey }) => {
    const { provider, proc } = siteOf(runId);
    return provider.send(proc, nodeKeyOf(runId, "charge", idempotencyKey));
  },
  compensate: async ({ runId, idempotencyKey }) => {
    const { provider, proc } = siteOf(runId);
    await provider.send(proc, nodeKeyOf(runId, "refund", idempotencyKey));
  },
});
const branches = decision({
  input,
  choices: ["ask", "go"],
  choose: ({ input: { ask } }) => (ask ? "ask" : "go"),
});
const question = checkpoint({ message: "Go on?", answer: z.object({ again: z.boolean() }) });
const again = decision({
  choices: ["yes", "no"],
  choose: ({ output }) => (output(question).again ? "yes" : "no"),
});

const careful = defineWorkflow({
  name: "careful",
  input,
  output: z.object({ done: z.boolean() }),
  startAt: "start",
  deadline: "6h",
  nodes: { start, record, ledgered, charge, branches, question, again },
  edges: {
    start: parallel(["record", "ledgered"], { join: "charge" }),
    record: "charge",
    ledgered: "charge",
    charge: "branches",
    branches: { ask: "question", go: end("done") },
    question: "again",
    again: { yes: loop("charge", { max: 2, exhausted: end("done") }), no: end("done") },
  },
  exits: { done: () => ({ done: true }) },
});

const count = compute({ output: z.number(), run: () => 1 });
const more = decision({ choices: ["more", "enough"], choose: () => "more" });
const quick = defineWorkflow({
  name: "quick",
  input,
  output: z.object({ done: z.boolean() }),
  startAt: "count",
  nodes: { count, more },
  edges: {
    count: "more",
    more: { more: loop("count", { max: 5, exhausted: end("done") }), enough: end("done") },
  },
  exits: { done: () => ({ done: true }) },
});

/** The code of a workflow, of whatever version: they differ in their digest only. */
export function compiledWorkflow(name: string): CompiledWorkflow {
  return compile(name === "quick" ? quick : careful);
}

/** A workflow as the server knows it. */
export function resolvedWorkflow(name: string, version: number): ResolvedWorkflow {
  const { graph, deadlineMs } = compiledWorkflow(name);
  return {
    name,
    path: `${PROJECT}/.pi/workflows/${name}.workflow.ts`,
    scope: "project",
    digest: fingerprintText(`${name} ${version}`),
    inputs: [],
    secretPaths: [],
    deadlineMs,
    graph,
  };
}
