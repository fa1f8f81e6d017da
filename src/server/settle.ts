import { toPiWorkflowsError } from "../model/errors.ts";
import type { PassOutcome } from "../model/pass.ts";
import type { Clock, Log } from "../model/ports.ts";
import type { RunEnding } from "../model/run.ts";
import { nextDue } from "../sources/schedule.ts";
import type {
  Claimed,
  ResourceManagerStore,
  SettleReceipt,
  SettleRequest,
} from "../store/store.ts";
import { isPassing, type Gate } from "./gate.ts";
import { isOfRuns, type LaneRecord } from "./lanes.ts";

/** A pass that ended, to be written down. */
export type Ended = {
  claimed: Claimed;
  record: LaneRecord;
  outcome: PassOutcome;
  /** What became of the run whose pass it was. */
  run?: RunEnding;
  startedAt: number;
  durationMs: number;
};

export type SettlerOptions = {
  store: ResourceManagerStore;
  clock: Clock;
  log: Log;
  gate: Gate;
  random: () => number;
};

/**
 * Writes down how a pass ended. What the store refuses for good becomes a failed pass that says so;
 * what it can't take now is tried again while the claim lasts. Undefined where the claim was lost:
 * someone else has the key, and there is nothing to do.
 */
export async function settlePass(
  options: SettlerOptions,
  ended: Ended,
): Promise<SettleReceipt | undefined> {
  const { claimed, startedAt, durationMs } = ended;
  const request: SettleRequest = {
    claim: claimed.claim,
    reconcileId: claimed.reconcileId,
    observedGeneration: claimed.resource.metadata.generation,
    outcome: ended.outcome,
    ...(ended.run ? { run: ended.run } : {}),
    startedAt,
    durationMs,
    random: options.random(),
  };
  for (;;) {
    try {
      const [, receipt] = await Promise.all([
        markNextPoll(options, ended),
        options.store.settle(request),
      ]);
      options.gate.passed();
      return receipt;
    } catch (thrown) {
      const error = toPiWorkflowsError(thrown);
      const fields = { reconcileId: request.reconcileId, error };
      if (error.code === "LEASE_LOST") {
        options.log.info("A pass ended without its claim; its result is dropped", fields);
        return undefined;
      }
      if (isPassing(error)) {
        await wait(options.clock, options.gate.failed(error));
      } else if (request.outcome.kind === "failed") {
        options.log.error("A pass could not be settled; its claim will expire", fields);
        return undefined;
      } else {
        options.log.warn("The result of a pass was refused", fields);
        refused(request, error.message);
      }
    }
  }
}

/** What a request whose result can't be kept becomes. A run would come to the same again: it ends. */
function refused(request: SettleRequest, message: string): void {
  if (request.run && request.run.state !== "failed") {
    request.run = { state: "failed", reason: "InvalidOutput", message };
    return;
  }
  request.outcome = { kind: "failed", message, terminal: request.run !== undefined };
  delete request.run;
}

/**
 * The next time of `every(…)` and `cron(…)` is a waiting queue row like any other: it survives a
 * restart, a time that passed while the machine was off is due once, it spreads the load, shows in
 * `why`, and merges with everything else that wakes the key. Asked for in the same turn as the
 * settle and before it, so that one transaction holds both and the settle's receipt counts it.
 */
async function markNextPoll(
  { store, clock }: Pick<SettlerOptions, "store" | "clock">,
  { claimed, record, outcome }: Ended,
): Promise<void> {
  if (isOfRuns(record)) return;
  const { uid } = claimed.claim;
  const due = nextDue(record.sources, uid, clock.now());
  if (due && isAwaited(due.delayMs, outcome)) await store.enqueue([{ target: { uid }, ...due }]);
}

/** Whether a look after `delayMs` is sooner than what follows from the outcome by itself. */
function isAwaited(delayMs: number, outcome: PassOutcome): boolean {
  switch (outcome.kind) {
    case "settled":
    case "parked":
      return true;
    case "requeueAfter":
      return outcome.delayMs > delayMs;
    case "requeue":
    case "failed":
    case "crashed":
      return false;
  }
}

function wait(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => void clock.schedule(resolve, delayMs));
}
