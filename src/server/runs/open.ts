import {
  workflowLane,
  type ResolvedWorkflow,
  type WorkflowProposal,
  type WorkflowRecord,
} from "../../model/graph.ts";
import type { RunSummary, StoredRun } from "../../model/run.ts";
import type { RunExecutor } from "../../runner/run-port.ts";
import type { RunQuery, RunReader } from "../../store/runs.ts";
import type { Claimed } from "../../store/store.ts";
import { readWorkflow } from "../bundles.ts";
import type { Guarded } from "../guarded.ts";
import type { Handlers, RunRoute } from "../handlers.ts";
import type { Home } from "../home.ts";
import type { Pass } from "../pass.ts";
import type { ServerStatus } from "../protocol.ts";
import type { Scheduler } from "../scheduler.ts";
import { acceptWorkflow } from "./accept.ts";
import { createValueCheck } from "./check.ts";
import { childRunHost, type ChildRunHost, type ChildRunServices } from "./child-runs.ts";
import { runHandlers } from "./handlers.ts";
import { startRunPass, type ClaimedRun, type RunPassServices } from "./pass.ts";
import { createWorkflowRegistry, type WorkflowRegistry } from "./registry.ts";

/** What runs of workflows are made of. */
export type RunsOptions = Omit<RunPassServices, "definitionOf"> & {
  home: Home;
  globalFolder: string;
  executor: RunExecutor;
  /** Asked for only while the server serves, which is when there is one. */
  scheduler: () => Scheduler;
};

/** Everything of the server that is about workflows and their runs. */
export type Runs = {
  workflows: WorkflowRegistry;
  handlers: Pick<Handlers, RunRoute>;
  /** Starts a pass of a run. */
  startRun: (claimed: ClaimedRun) => Pass;
  /** `ctx.workflows` of a pass. */
  childRuns: (claimed: Claimed, guarded: Guarded) => ChildRunHost;
  /** Tells runs whose parents are being deleted, which the store has cancelled, and their lanes. */
  parentsDeleted: (uids: readonly string[]) => Promise<void>;
  /** Runs that have not ended, by state. */
  count: () => Promise<ServerStatus["runs"]>;
  /** Digests of the code that runs which have not ended go on with. */
  digestsInUse: () => Promise<Set<string>>;
};

/** Reads the accepted workflows, and makes what the rest of the server needs for their runs. */
export async function openRuns(options: RunsOptions): Promise<Runs> {
  const { store, home, changes, executor } = options;
  const workflows = createWorkflowRegistry(await store.workflows());
  const check = createValueCheck();
  const scheduler = {
    wake: (target: { project: string; manager: string }) => options.scheduler().wake(target),
    notify: (runId: string, notice: "orders" | "pause") =>
      options.scheduler().notify(runId, notice),
  };
  const definitionOf = async (run: StoredRun): Promise<ResolvedWorkflow | undefined> => {
    const record = workflows.find(run.project, run.workflow);
    return record?.digest === run.digest ? record : readWorkflow(home, run.digest);
  };
  const accept = async (
    project: string,
    proposals: WorkflowProposal[],
  ): Promise<WorkflowRecord[]> => {
    const records: WorkflowRecord[] = [];
    for (const proposal of proposals) {
      const record = await acceptWorkflow({ ...options, workflows }, project, proposal);
      options.scheduler().register(record);
      records.push(record);
    }
    return records;
  };
  const services = { store, workflows, check, changes, scheduler };
  return {
    workflows,
    handlers: runHandlers({ ...services, definitionOf, accept }),
    startRun: (claimed) => startRunPass({ ...options, definitionOf }, executor, claimed),
    childRuns: (claimed, guarded) => childRunHost(services, claimed, guarded),
    parentsDeleted: (uids) => tellChildren(services, uids),
    count: async () => {
      const counts = { pending: 0, running: 0, waiting: 0, interrupted: 0 };
      for await (const { state } of openRunsOf(store)) counts[state as keyof typeof counts] += 1;
      return counts;
    },
    digestsInUse: async () => {
      const digests = new Set<string>();
      for await (const { digest } of openRunsOf(store)) digests.add(digest);
      return digests;
    },
  };
}

async function tellChildren(
  { store, scheduler }: ChildRunServices,
  uids: readonly string[],
): Promise<void> {
  for (const parentUid of uids) {
    for await (const run of openRunsOf(store, { parentUid })) {
      scheduler.notify(run.runId, "orders");
      scheduler.wake({ project: run.project, manager: workflowLane(run.workflow) });
    }
  }
}

/** Runs that have not ended, page by page. */
async function* openRunsOf(
  store: RunReader,
  query: RunQuery = {},
): AsyncGenerator<RunSummary, void> {
  let after: string | undefined;
  do {
    const page = await store.runs({ ...query, open: true, ...(after ? { after } : {}) });
    yield* page.items;
    after = page.next;
  } while (after !== undefined);
}
