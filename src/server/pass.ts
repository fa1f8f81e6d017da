import type { ManagerRecord } from "../model/batch.ts";
import { toPiWorkflowsError, type PiWorkflowsError } from "../model/errors.ts";
import type { PassOutcome, RunnerFault } from "../model/pass.ts";
import type { Log } from "../model/ports.ts";
import type { WorkflowScheduler } from "../model/workflow-scheduler.ts";
import { TerminalError } from "../resource-managers/results.ts";
import type { PassHost, RunnerPort } from "../runner/port.ts";
import type { Claimed, ResourceManagerStore } from "../store/store.ts";
import type { Changes, Touched } from "./changes.ts";
import { secretMaskOf, type SecretMask } from "./secret-values.ts";

/** What passes need of the server. */
export type PassServices = {
  store: ResourceManagerStore;
  log: Log;
  changes: Changes;
  workflows?: WorkflowScheduler;
};

/** One pass under way. `done` resolves when nothing of it runs any more. */
export type Pass = {
  claimed: Claimed;
  /** Calls it off; the outcome will have this fault. */
  abort: (fault: RunnerFault) => void;
  done: Promise<PassOutcome>;
};

/** Starts one pass: everything it asks for is done with its claim, and nothing else (F-1). */
export function startPass(
  services: PassServices,
  runner: RunnerPort,
  record: ManagerRecord,
  claimed: Claimed,
): Pass {
  const controller = new AbortController();
  const abort = (fault: RunnerFault): void => controller.abort(fault);
  const { project, resource, reconcileId, cause } = claimed;
  const { name, digest, deadlineMs } = record;
  const request = {
    reconcileId,
    project,
    manager: { name, digest, deadlineMs },
    resource,
    event: { cause },
  };
  const mask = secretMaskOf(record, resource);
  const host = passHost(services, claimed, { mask, abort: () => abort("lease-lost") });
  const done = runner
    .run(request, host, controller.signal)
    .catch((thrown: unknown): PassOutcome => {
      const fields = mask.fields({ reconcileId, error: thrown });
      services.log.error("A runner broke its contract", fields);
      return { kind: "crashed", fault: "bad-message", message: toPiWorkflowsError(thrown).message };
    })
    .then((outcome) => mask.outcome(outcome));
  return { claimed, abort, done };
}

/** The resource of a claim, as streams know it. */
export function touchedBy({ project, resource }: Claimed): Touched {
  const { uid, resourceManager, key } = resource.metadata;
  return { uid, project, resourceManager, key };
}

/**
 * The one door from a pass to the store and the log, and so the place where secret values are masked
 * for both transports.
 */
function passHost(
  services: PassServices,
  claimed: Claimed,
  { mask, abort }: { mask: SecretMask; abort: () => void },
): PassHost {
  const { store, changes } = services;
  const { claim, reconcileId } = claimed;
  const touched = [touchedBy(claimed)];
  let lost: PiWorkflowsError | undefined;
  // Once a write was refused the pass belongs to someone else: it is told to stop, and what it still
  // asks for is refused without asking the store (F-4); but a provider's late answer still counts
  // (E-10).
  const guarded = async <T>(write: () => Promise<T>, late = false): Promise<T> => {
    if (lost && !late) throw lost;
    try {
      const result = await write();
      changes.touch(touched);
      return result;
    } catch (thrown) {
      const error = toPiWorkflowsError(thrown);
      if (error.code === "LEASE_LOST") {
        lost = error;
        abort();
      }
      throw error;
    }
  };
  return {
    secrets: mask.secrets,
    beginEffect: (request) => guarded(() => store.beginEffect(claim, mask.begun(request))),
    settleEffect: (settlement) =>
      guarded(() => store.settleEffect(claim, mask.settled(settlement)), true),
    setFinalizer: (name, present) =>
      guarded(async () => void (await store.setFinalizer(claim, name, present))),
    emitEvent: (event) =>
      guarded(async () => void (await store.appendEvent(claim.uid, mask.event(event), claim))),
    ensureWorkflow: (request) => {
      if (services.workflows) return services.workflows.ensure(claim.uid, request);
      return noWorkflows(`, so ${request.workflow} can't be started`);
    },
    getWorkflow: (requestKey) => services.workflows?.get(claim.uid, requestKey) ?? noWorkflows(),
    cancelWorkflow: (requestKey) =>
      services.workflows?.cancel(claim.uid, requestKey) ?? noWorkflows(),
    log: (level, message, fields) =>
      services.log[level](mask.text(message), {
        ...mask.fields(fields),
        reconcileId,
        from: "manager",
      }),
  };
}

function noWorkflows(consequence = ""): Promise<never> {
  return Promise.reject(new TerminalError(`this server runs no workflows${consequence}`));
}
