import { toPiWorkflowsError } from "../../model/errors.ts";
import type { ResolvedWorkflow } from "../../model/graph.ts";
import { LIMITS } from "../../model/limits.ts";
import type { RunnerFault } from "../../model/pass.ts";
import type { Clock, Log } from "../../model/ports.ts";
import type { RunEnding, StoredRun } from "../../model/run.ts";
import type { RunExecutor, RunNotice, RunOutcome } from "../../runner/run-port.ts";
import type { Claimed, ResourceManagerStore } from "../../store/store.ts";
import type { Changes } from "../changes.ts";
import type { Pass, PassEnd } from "../pass.ts";
import { secretMaskOf, type SecretMask } from "../secret-values.ts";
import type { Agents } from "./agents.ts";
import { createRunHost } from "./host.ts";

/** What passes of runs need of the server. */
export type RunPassServices = {
  store: ResourceManagerStore;
  clock: Clock;
  log: Log;
  changes: Changes;
  agents: Agents;
  /** What a run's own code says of itself. */
  definitionOf: (run: StoredRun) => Promise<ResolvedWorkflow | undefined>;
};

/** A claim of a run. */
export type ClaimedRun = Claimed & { run: StoredRun };

/** One execution, as the end of its pass is judged. */
type Execution = { claimed: ClaimedRun; remainingMs: number; stop: Stop; mask: SecretMask };

/** Why the runner was told to stop where it can, if it was. */
type Stop = { why?: "replaced" | "yield" };

/**
 * Starts one pass of a run: a runner takes the run up where its journal ends, and works on it until it
 * ends, waits for a person, or is told to stop. Everything it asks for is done with the pass's claim.
 */
export function startRunPass(
  services: RunPassServices,
  executor: RunExecutor,
  claimed: ClaimedRun,
): Pass {
  const controller = new AbortController();
  const abort = (fault: RunnerFault): void => controller.abort(fault);
  const notices = createNotices();
  const stop: Stop = {};
  const pauseFor = (why: Stop["why"] & string): void => {
    stop.why ??= why;
    notices.tell("pause");
  };
  const execute = async (): Promise<PassEnd> => {
    const { run, reconcileId } = claimed;
    // From here on it is told of a pause; one that came before, when nobody could be told, is stored.
    if (await isPaused(services, run)) return calledOff("it was paused before it began");
    const definition = await services.definitionOf(run);
    const mask = secretMaskOf({ secretPaths: definition?.secretPaths ?? [] }, { spec: run.input });
    const remainingMs = Math.max(0, run.deadlineAt - services.clock.now());
    const execution: Execution = { claimed, remainingMs, stop, mask };
    const { runId, project, workflow, digest, input, epochs: epoch } = run;
    const { doubtedFrom } = claimed;
    const doubt = doubtedFrom === undefined ? {} : { doubtedFrom };
    const pass = { runId, project, workflow, digest, input, epoch, remainingMs, ...doubt };
    const host = createRunHost(services, claimed, { mask, abort: () => abort("lease-lost") });
    const started = services.clock.monotonic();
    const outcome = await executor
      .execute(pass, host.port, { signal: controller.signal, onNotice: notices.listen })
      .catch((thrown: unknown): RunOutcome => {
        const fields = mask.fields({ reconcileId, error: thrown });
        services.log.error("A runner broke its contract", fields);
        const { message } = toPiWorkflowsError(thrown);
        return { kind: "crashed", fault: "bad-message", message };
      });
    await host.close();
    return judged(services, execution, {
      outcome,
      tookMs: services.clock.monotonic() - started,
    });
  };
  return {
    claimed,
    abort,
    done: execute(),
    run: {
      notify: notices.tell,
      replaced: (digest) => {
        if (digest !== claimed.run.digest) pauseFor("replaced");
      },
      yield: () => pauseFor("yield"),
    },
  };
}

/** How the pass ends, given how its runner ended, and what it was told. */
async function judged(
  { store }: RunPassServices,
  { claimed: { run }, remainingMs, stop, mask }: Execution,
  { outcome, tookMs }: { outcome: RunOutcome; tookMs: number },
): Promise<PassEnd> {
  if (outcome.kind === "ran") {
    const ending = maskEnding(outcome.ending, mask);
    if (!isPause(ending)) return ended(ending);
    const now = await store.run(run.runId).catch(() => undefined);
    if (now?.paused) return ended(ending);
    // A run that is being cancelled undoes what it did with the code that did it.
    if (stop.why === "replaced" && now?.cancelling !== true) return ended(REPLACED);
    // A pause that nobody wants any more, or that was only for the server's sake.
    return calledOff("it stopped so that it can go on later");
  }
  // The engine ends a run at its deadline itself; one that did not within its grace was killed.
  const isOver = tookMs >= remainingMs + LIMITS.endRunMs;
  if (outcome.kind === "crashed" && outcome.fault === "deadline" && isOver) return ended(OVERDUE);
  return { outcome: mask.outcome(outcome) };
}

async function isPaused({ store }: RunPassServices, { runId }: StoredRun): Promise<boolean> {
  return (await store.run(runId).catch(() => undefined))?.paused === true;
}

/** It counts as no attempt, and the run stays ready unless it is paused. */
function calledOff(message: string): PassEnd {
  return { outcome: { kind: "crashed", fault: "shutdown", message } };
}

function ended(run: RunEnding): PassEnd {
  return { outcome: { kind: "settled" }, run };
}

function isPause(ending: RunEnding): boolean {
  return ending.state === "waiting" && ending.reason === "Paused";
}

const REPLACED: RunEnding = {
  state: "interrupted",
  reason: "DefinitionChanged",
  message: "its workflow changed while it ran",
};
const OVERDUE: RunEnding = {
  state: "failed",
  reason: "DeadlineExceeded",
  message: "its runner did not end it in time after its deadline, and was killed",
};

function maskEnding(ending: RunEnding, mask: SecretMask): RunEnding {
  return ending.state === "succeeded" ? ending : { ...ending, message: mask.text(ending.message) };
}

/** Keeps what is told before there is a listener. */
function createNotices(): {
  tell: (notice: RunNotice) => void;
  listen: (listener: (notice: RunNotice) => void) => void;
} {
  let early: RunNotice[] = [];
  let listener: ((notice: RunNotice) => void) | undefined;
  return {
    tell: (notice) => {
      if (listener) listener(notice);
      else early.push(notice);
    },
    listen: (to) => {
      listener = to;
      early.forEach(to);
      early = [];
    },
  };
}
