import { PiWorkflowsError, toPiWorkflowsError } from "../../model/errors.ts";
import { workflowLane, type WorkflowRecord } from "../../model/graph.ts";
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
import { unknownWorkflow, type WorkflowRegistry } from "./registry.ts";

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
      const schema = accepted(workflows, project, workflow).inputSchema;
      const given = {
        what: `The input of ${workflow}`,
        value: input,
        schema,
        root: "input",
      } as const;
      const refusal = await check(given).then(() => undefined, toPiWorkflowsError);
      // A run that is there was checked by the schema of its own code, which may be older.
      if (refusal && !(await guarded(() => store.childRun(claim, request.requestKey)))) {
        throw terminal(refusal);
      }
      const ensured = guarded(() => store.ensureChildRun(claim, request));
      return told(services, await ensured.catch(conflictWithHint));
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

/** One that nobody has accepted may be accepted yet: the pass is tried again. @throws UNKNOWN_WORKFLOW */
function accepted(workflows: WorkflowRegistry, project: string, name: string): WorkflowRecord {
  const found = workflows.find(project, name);
  if (found) return found;
  throw withHint(unknownWorkflow(project, name));
}

/** Says what another key would mend. */
function conflictWithHint(thrown: unknown): never {
  const error = toPiWorkflowsError(thrown);
  throw error.code === "RUN_CONFLICT" ? withHint(error) : thrown;
}

/** A resource's conditions have messages, and no hints. */
function withHint({ code, message, hint }: PiWorkflowsError): PiWorkflowsError {
  return new PiWorkflowsError(code, `${message}. ${hint}`);
}

/** Of what no later pass of the same spec can mend: the failure that says how to. */
function terminal({ message, hint }: PiWorkflowsError): TerminalError {
  return new TerminalError(`${message}. ${hint}`);
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
