import { toPiWorkflowsError } from "../../model/errors.ts";
import { workflowLane } from "../../model/graph.ts";
import type { StoredRun } from "../../model/run.ts";
import type { ChildRun } from "../../model/workflow-scheduler.ts";
import { TerminalError } from "../../resource-managers/results.ts";
import type { PassHost } from "../../runner/port.ts";
import type { RunStore } from "../../store/runs.ts";
import type { Claimed } from "../../store/store.ts";
import type { Changes } from "../changes.ts";
import type { Guarded } from "../guarded.ts";
import type { ValueCheck } from "./check.ts";
import type { RunScheduler } from "./handlers.ts";
import type { WorkflowRegistry } from "./registry.ts";

/** What `ctx.workflows` needs of the server. */
export type ChildRunServices = {
  store: RunStore;
  workflows: WorkflowRegistry;
  check: ValueCheck;
  changes: Changes;
  scheduler: RunScheduler;
};

/** The part of a pass's host that is about child runs. */
export type ChildRunHost = Pick<PassHost, "ensureWorkflow" | "getWorkflow" | "cancelWorkflow">;

/** `ctx.workflows` over the store: every write is made with the pass's claim (F-1). */
export function childRunHost(
  services: ChildRunServices,
  { claim, project }: Claimed,
  guarded: Guarded,
): ChildRunHost {
  const { store, workflows, check } = services;
  return {
    async ensureWorkflow(request) {
      const { workflow, input } = request;
      await terminally(async () => {
        const schema = workflows.get(project, workflow).inputSchema;
        await check({ what: `The input of ${workflow}`, value: input, schema, root: "input" });
      });
      return told(services, await guarded(() => store.ensureChildRun(claim, request)));
    },
    async getWorkflow(requestKey) {
      const run = await guarded(() => store.childRun(claim, requestKey));
      return run && childOf(run);
    },
    async cancelWorkflow(requestKey) {
      const run = await guarded(() => store.cancelChildRun(claim, requestKey));
      if (!run) return undefined;
      services.scheduler.notify(run.runId, "orders");
      return told(services, run);
    },
  };
}

/** What no later pass of the same spec can mend ends in a terminal failure that says how to. */
async function terminally(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    const { message, hint } = toPiWorkflowsError(thrown);
    throw new TerminalError(`${message}. ${hint}`);
  }
}

function told({ changes, scheduler }: ChildRunServices, run: StoredRun): ChildRun {
  const { project, workflow, runId } = run;
  const manager = workflowLane(workflow);
  changes.touch([{ uid: runId, project, resourceManager: manager, key: runId }]);
  scheduler.wake({ project, manager });
  return childOf(run);
}

function childOf({ runId, state, attempt, output, parent }: StoredRun): ChildRun {
  return {
    requestId: parent?.requestKey ?? runId,
    runId,
    state,
    attempt,
    ...(output === undefined ? {} : { output }),
  };
}
