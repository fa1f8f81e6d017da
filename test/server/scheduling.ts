import path from "node:path";
import { onTestFinished } from "vitest";
import type { ManagerRecord } from "../../src/model/batch.ts";
import { fingerprintText, type Json } from "../../src/model/canonical.ts";
import { workflowLane, type ResolvedWorkflow, type WorkflowRecord } from "../../src/model/graph.ts";
import type { StoredRun } from "../../src/model/run.ts";
import type { ResolvedManager } from "../../src/model/manifest.ts";
import type { Ids, Log, LogFields } from "../../src/model/ports.ts";
import { createChanges } from "../../src/server/changes.ts";
import type { Caps } from "../../src/server/lanes.ts";
import { boundAgents } from "../../src/server/runs/agents.ts";
import { createValueCheck } from "../../src/server/runs/check.ts";
import { childRunHost } from "../../src/server/runs/child-runs.ts";
import { createWorkflowRegistry } from "../../src/server/runs/registry.ts";
import { startRunPass } from "../../src/server/runs/pass.ts";
import { Scheduler } from "../../src/server/scheduler.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import { FakeRunner } from "./fake-runner.ts";
import { scriptedAgents } from "./runs/scripted-agents.ts";
import { creation } from "./hosting.ts";
import { tempFolder } from "./temp.ts";
import { turns, VirtualClock } from "./virtual-clock.ts";

/** A scheduler over a real store, on a clock and with a runner that the test moves. */
export type Bench = {
  clock: VirtualClock;
  store: ResourceManagerStore;
  runner: FakeRunner;
  scheduler: Scheduler;
  log: { level: string; message: string; fields: LogFields }[];
  accept(name: string, more?: Partial<ResolvedManager>, project?: string): Promise<ManagerRecord>;
  acceptWorkflow(name: string, more?: Partial<ResolvedWorkflow>): Promise<WorkflowRecord>;
  /** Starts a run and wakes the scheduler, as its route does. */
  startRun(workflow: string, input?: Json): Promise<StoredRun>;
  /** Creates resources and wakes the scheduler, as a commit does. Returns their uids by key. */
  create(manager: ManagerRecord, ...keys: string[]): Promise<Map<string, string>>;
};

export type BenchOptions = {
  caps?: Caps;
  wrap?: (store: ResourceManagerStore) => ResourceManagerStore;
};

export async function makeBench({ caps, wrap }: BenchOptions = {}): Promise<Bench> {
  const clock = new VirtualClock();
  const file = path.join(tempFolder(), "state.sqlite");
  const real = await openStore({ path: file, clock, ids: countingIds() });
  const store = wrap ? wrap(real) : real;
  const runner = new FakeRunner();
  const lines: Bench["log"] = [];
  const { epoch } = await store.beginEpoch();
  const changes = createChanges();
  const registry = createWorkflowRegistry([]);
  const workflows = new Map<string, WorkflowRecord>();
  const scheduler: Scheduler = new Scheduler({
    store,
    clock,
    log: recordingLog(lines),
    changes,
    epoch,
    runnerOf: () => runner,
    childRuns: (claimed, guarded) =>
      childRunHost(
        { store, workflows: registry, check: createValueCheck(), changes, scheduler },
        claimed,
        guarded,
      ),
    startRun: (claimed) =>
      startRunPass(
        {
          store,
          clock,
          log: recordingLog(lines),
          changes,
          agents: boundAgents(scriptedAgents().port),
          definitionOf: ({ digest }) => Promise.resolve(workflows.get(digest)),
        },
        runner,
        claimed,
      ),
    caps: caps ?? { total: 8, perProject: 8, runs: 8 },
    random: () => 0.5,
  });
  onTestFinished(async () => {
    const drained = scheduler.drain();
    runner.answer = undefined;
    while (runner.running.length + runner.executing.length > 0) {
      await runner.stop();
      await turns();
    }
    await drained;
    await real.close();
  });
  scheduler.start();
  return {
    clock,
    store,
    runner,
    scheduler,
    log: lines,
    async accept(name, more = {}, project = "/p") {
      const record = await store.acceptManager(project, { ...definition(name), ...more });
      scheduler.register(record);
      await turns();
      return record;
    },
    async acceptWorkflow(name, more = {}) {
      const record = await store.acceptWorkflow("/p", { ...workflow(name), ...more });
      workflows.set(record.digest, record);
      registry.put(record);
      scheduler.register(record);
      await turns();
      return record;
    },
    async startRun(name, input = {}) {
      const run = await store.startRun({ project: "/p", workflow: name, input, startedBy: "test" });
      scheduler.wake({ project: "/p", manager: workflowLane(name) });
      await turns();
      return run;
    },
    async create(manager, ...keys) {
      const uids = await createIn(store, manager, keys);
      scheduler.wake({ project: manager.project, manager: manager.name });
      await turns();
      return uids;
    },
  };
}

/** A definition that no file holds. */
export function definition(name: string): ResolvedManager {
  return {
    name,
    path: `/p/.pi/resource-managers/${name}.resource-manager.ts`,
    scope: "project",
    digest: fingerprintText(name),
    inputs: [],
    secretPaths: [],
    sources: [],
    deadlineMs: 60_000,
    maxConcurrent: 4,
  };
}

/** A workflow that no file holds: one node, which asks a person. */
export function workflow(name: string): ResolvedWorkflow {
  return {
    name,
    path: `/p/.pi/workflows/${name}.workflow.ts`,
    scope: "project",
    digest: fingerprintText(name),
    inputs: [],
    secretPaths: [],
    deadlineMs: 60 * 60_000,
    graph: {
      workflow: name,
      startAt: "ask",
      nodes: {
        ask: { kind: "checkpoint", safety: "pure", outputSchema: { type: "boolean" } },
        done: { kind: "result", safety: "pure" },
      },
      edges: { ask: { next: { to: "done" } } },
    },
  };
}

/** Creates resources straight in a store, in batches of at most a thousand. */
export async function createIn(
  store: ResourceManagerStore,
  { project, name }: ManagerRecord,
  keys: readonly string[],
): Promise<Map<string, string>> {
  const uids = new Map<string, string>();
  for (let from = 0; from < keys.length; from += 1_000) {
    const { items } = await store.applyBatch({
      project,
      changes: keys.slice(from, from + 1_000).map((key) => creation(key, { size: 1 }, name)),
    });
    for (const { key, uid } of items) uids.set(key, uid);
  }
  return uids;
}

function countingIds(): Ids {
  let count = 0;
  return {
    next: () => `id-${String((count += 1)).padStart(9, "0")}`,
    token: () => `token-${(count += 1)}`,
  };
}

function recordingLog(lines: Bench["log"]): Log {
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}): void =>
      void lines.push({ level, message, fields });
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
