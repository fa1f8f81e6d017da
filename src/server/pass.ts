import type { ManagerRecord } from "../model/batch.ts";
import { toPiWorkflowsError } from "../model/errors.ts";
import type { PassOutcome, RunnerFault } from "../model/pass.ts";
import type { Log } from "../model/ports.ts";
import type { RunEnding } from "../model/run.ts";
import type { WorkflowScheduler } from "../model/workflow-scheduler.ts";
import { TerminalError } from "../resource-managers/results.ts";
import type { PassHost, RunnerPort } from "../runner/port.ts";
import type { RunNotice } from "../runner/run-port.ts";
import type { Claimed, ResourceManagerStore } from "../store/store.ts";
import type { Changes, Touched } from "./changes.ts";
import { createGuard, type Guarded } from "./guarded.ts";
import type { ChildRunHost } from "./runs/child-runs.ts";
import { secretMaskOf, type SecretMask } from "./secret-values.ts";

/** What passes need of the server. */
export type PassServices = {
  store: ResourceManagerStore;
  log: Log;
  changes: Changes;
  /** Starts child runs in the server's place, where a host program says how. */
  workflows?: WorkflowScheduler;
  /** Starts child runs here. Absent in schedulers without workflows. */
  childRuns?: (claimed: Claimed, guarded: Guarded) => ChildRunHost;
};

/** How a pass ended; `run` with the outcome `settled` where it was one of a run that said how. */
export type PassEnd = { outcome: PassOutcome; run?: RunEnding };

/** One pass under way. `done` resolves when nothing of it runs any more. */
export type Pass = {
  claimed: Claimed;
  /** Calls it off; the outcome will have this fault. */
  abort: (fault: RunnerFault) => void;
  done: Promise<PassEnd>;
  /** Present where it is a pass of a run. */
  run?: LiveRun;
};

/** What may be said to a run while a runner executes it. */
export type LiveRun = {
  notify(notice: RunNotice): void;
  /** Its workflow has other code now: it stops where it can, and is parked. */
  replaced(digest: string): void;
  /** It is to stop where it can, and to go on when there is a runner again. */
  yield(): void;
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
    .then((outcome) => ({ outcome: mask.outcome(outcome) }));
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
  const guarded = createGuard(changes, [touchedBy(claimed)], abort);
  return {
    secrets: mask.secrets,
    beginEffect: (request) => guarded(() => store.beginEffect(claim, mask.begun(request))),
    settleEffect: (settlement) =>
      guarded(() => store.settleEffect(claim, mask.settled(settlement)), true),
    setFinalizer: (name, present) =>
      guarded(async () => void (await store.setFinalizer(claim, name, present))),
    emitEvent: (event) =>
      guarded(async () => void (await store.appendEvent(claim.uid, mask.event(event), claim))),
    ...childRunsOf(services, claimed, guarded),
    log: (level, message, fields) =>
      services.log[level](mask.text(message), {
        ...mask.fields(fields),
        reconcileId,
        from: "manager",
      }),
  };
}

function childRunsOf(services: PassServices, claimed: Claimed, guarded: Guarded): ChildRunHost {
  const { workflows, childRuns } = services;
  const { uid } = claimed.claim;
  if (workflows) {
    return {
      ensureWorkflow: (request) => workflows.ensure(uid, request),
      getWorkflow: (requestKey) => workflows.get(uid, requestKey),
      cancelWorkflow: (requestKey) => workflows.cancel(uid, requestKey),
    };
  }
  if (childRuns) return childRuns(claimed, guarded);
  const none = (): Promise<never> =>
    Promise.reject(new TerminalError("this server runs no workflows"));
  return { ensureWorkflow: none, getWorkflow: none, cancelWorkflow: none };
}
