import type { ManagerRecord } from "../../model/batch.ts";
import { LIMITS } from "../../model/limits.ts";
import type { Clock, Log } from "../../model/ports.ts";
import type { SourceCause } from "../../model/queue.ts";
import type { MapInput, MapOutcome, RunnerPort } from "../../runner/port.ts";
import type { Changes } from "../changes.ts";
import type { EnqueueRequest, ResourceManagerStore } from "../../store/store.ts";

/** What sources work with. */
export type SourceServices = {
  store: ResourceManagerStore;
  clock: Clock;
  log: Log;
  changes: Changes;
  /** Tells the scheduler that something of a lane may be ready. */
  wake: (target: { project: string; manager: string }) => void;
  /** The runner in which a manager's sources map. */
  runnerOf: (record: ManagerRecord) => RunnerPort;
  /** Aborts when the server stops. */
  stopping: AbortSignal;
};

/** Asks a source of an accepted definition which keys an input is about: in a runner, never here. */
export function askForKeys(
  { log, runnerOf, stopping }: SourceServices,
  record: ManagerRecord,
  source: number,
  input: MapInput,
): Promise<MapOutcome> {
  const { project, name, digest } = record;
  const request = {
    project,
    manager: { name, digest },
    source,
    input,
    deadlineMs: LIMITS.mapMs,
  };
  const fields = { project, manager: name, from: "source" };
  const host = {
    log: (level: keyof Log, message: string, more?: Record<string, unknown>) =>
      log[level](message, { ...more, ...fields }),
  };
  return runnerOf(record).map(request, host, stopping);
}

/** All keys of a manager, as a map says it. */
export const ALL_KEYS: readonly string[] = ["*"];

/** Wakes the resources of some keys; those without a resource are passed over. */
export async function wakeKeys(
  { store, wake }: Pick<SourceServices, "store" | "wake">,
  record: ManagerRecord,
  keys: readonly string[],
  { cause, delayMs }: { cause: SourceCause; delayMs?: number },
): Promise<number> {
  const target = { project: record.project, manager: record.name };
  const requests = keys.map((key) => ({
    target: targetOf(record, key),
    cause,
    ...(delayMs === undefined ? {} : { delayMs }),
  }));
  const marking = store.enqueue(requests);
  // In the same turn too, so that the claim that follows shares the commit of small ones.
  wake(target);
  const marked = await marking;
  wake(target);
  return marked;
}

function targetOf({ lane, project, name }: ManagerRecord, key: string): EnqueueRequest["target"] {
  return key.endsWith("*")
    ? { lane, prefix: key.slice(0, -1) }
    : { project, resourceManager: name, key };
}
