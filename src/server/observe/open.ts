import type { ManagerRecord } from "../../model/batch.ts";
import type { WorkflowRecord } from "../../model/graph.ts";
import type { Clock, Log } from "../../model/ports.ts";
import type { ResourceManagerStore } from "../../store/store.ts";
import type { Config } from "../config.ts";
import { mostOf } from "../lanes.ts";
import type { ServerStatus } from "../protocol.ts";
import type { Releasers } from "../releasers.ts";
import { Metrics, type Readings } from "./metrics.ts";
import { observedStore, observers } from "./observed-store.ts";
import { openTraces } from "./traces.ts";

/** What measures one server. */
export type Observation = {
  /** For the store: a key of the lane was marked dirty. */
  onEnqueue: (lane: number) => void;
  /** The store whose use is measured. */
  watch: (store: ResourceManagerStore) => ResourceManagerStore;
  /** All metrics now, in Prometheus's text format. */
  text: (sources: MetricSources) => Promise<string>;
};

export type MetricSources = {
  store: ResourceManagerStore;
  status: () => Promise<ServerStatus>;
  lanes: () => readonly (ManagerRecord | WorkflowRecord)[];
};

export type ObservationOptions = {
  config: Config;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  log: Log;
  releasers: Releasers;
  startedAt: number;
};

/** Counts from now on, and sends spans where an endpoint is configured. */
export function openObservation(options: ObservationOptions): Observation {
  const { clock, startedAt, releasers } = options;
  const metrics = new Metrics(clock, startedAt);
  const traces = openTraces(options);
  if (traces) releasers.add("traces", () => traces.close());
  const observer = observers([metrics, ...(traces ? [traces] : [])]);
  return {
    onEnqueue: observer.enqueued,
    watch: (store) => observedStore(store, observer, clock),
    text: async (sources) => metrics.text(await read(sources)),
  };
}

/** Open effects are counted up to this. */
const EFFECTS_COUNTED = 1_000;

async function read({ store, status, lanes }: MetricSources): Promise<Readings> {
  const [now, open, sets] = await Promise.all([
    status(),
    store.effects({ open: true, limit: EFFECTS_COUNTED }),
    store.syncSets(),
  ]);
  return {
    status: now,
    most: new Map(lanes().map((record) => [record.lane, mostOf(record)])),
    openEffects: {
      pending: open.filter(({ state }) => state === "pending").length,
      indeterminate: open.filter(({ state, parked }) => state !== "pending" && !parked).length,
      parked: open.filter(({ parked }) => parked).length,
    },
    syncs: sets.map(({ set, report }) => ({
      project: set.project,
      inStep: report.conditions.some(({ type, status: is }) => type === "Synced" && is),
    })),
  };
}
