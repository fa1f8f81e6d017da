import { memoryUsage, cpuUsage } from "node:process";
import type { Clock } from "../../model/ports.ts";
import type { ServerStatus } from "../protocol.ts";
import { Histogram, Series, type Labels } from "./exposition.ts";
import type { Observer, SeenClaim, SeenEffect, SeenNode, SeenPass, SeenSync } from "./observer.ts";

/** What a scrape reads at its time, beside what was counted. */
export type Readings = {
  status: ServerStatus;
  /** Passes that may run at once, by lane. */
  most: ReadonlyMap<number, number>;
  openEffects: { pending: number; indeterminate: number; parked: number };
  /** Whether each project that is synced is in step. */
  syncs: { project: string; inStep: boolean }[];
};

// The buckets of controller-runtime and client-go, so that dashboards made for them fit.
const RECONCILE_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
  1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
const QUEUE_SECONDS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000];
const LONG_SECONDS = [0.01, 0.1, 1, 5, 10, 30, 60, 300, 900, 3600];

/** `result` of controller_runtime_reconcile_total; the last two are ours. */
const RESULTS = {
  settled: "success",
  requeue: "requeue",
  requeueAfter: "requeue_after",
  failed: "error",
  crashed: "error",
  parked: "parked",
} as const satisfies Record<SeenPass["outcome"], string>;

const counter = (name: string, help: string): Series => new Series("counter", name, help);
const gauge = (name: string, help: string): Series => new Series("gauge", name, help);

/** Passes and the queue, as controller-runtime and client-go have them. */
function controllerFamilies() {
  return {
    total: counter("controller_runtime_reconcile_total", "Passes per controller and result"),
    errors: counter("controller_runtime_reconcile_errors_total", "Passes that failed"),
    terminal: counter(
      "controller_runtime_terminal_reconcile_errors_total",
      "Passes that failed and are not tried again by themselves",
    ),
    panics: counter("controller_runtime_reconcile_panics_total", "Passes whose runner died"),
    time: new Histogram(
      "controller_runtime_reconcile_time_seconds",
      "Length of passes",
      RECONCILE_SECONDS,
    ),
    active: gauge("controller_runtime_active_workers", "Passes under way"),
    most: gauge("controller_runtime_max_concurrent_reconciles", "Passes at once, at most"),
    depth: gauge("workqueue_depth", "Keys that are ready and not claimed"),
    adds: counter("workqueue_adds_total", "Times that a key was marked to be looked at"),
    retries: counter("workqueue_retries_total", "Passes that are tried again"),
    queued: new Histogram(
      "workqueue_queue_duration_seconds",
      "How long keys were ready before they were claimed",
      QUEUE_SECONDS,
    ),
    worked: new Histogram(
      "workqueue_work_duration_seconds",
      "How long keys were worked on",
      QUEUE_SECONDS,
    ),
    unfinished: gauge("workqueue_unfinished_work_seconds", "Age of passes under way, summed up"),
    longest: gauge("workqueue_longest_running_processor_seconds", "Age of the oldest pass"),
  };
}

/** What is ours, and the process. */
function ownFamilies() {
  return {
    effects: counter("pi_workflows_effects_total", "Effects that were settled, by state"),
    effectTime: new Histogram(
      "pi_workflows_effect_time_seconds",
      "From the beginning of an effect until it was settled",
      LONG_SECONDS,
    ),
    openEffects: gauge("pi_workflows_open_effects", "Effects that are not settled"),
    nodes: counter("pi_workflows_run_nodes_total", "Attempts of nodes of runs, by how they ended"),
    ended: counter("pi_workflows_runs_ended_total", "Runs that ended, by state"),
    runs: gauge("pi_workflows_runs", "Runs that have not ended, by state"),
    syncs: counter("pi_workflows_syncs_total", "Syncs, by outcome"),
    syncTime: new Histogram("pi_workflows_sync_time_seconds", "Length of syncs", LONG_SECONDS),
    inStep: gauge("pi_workflows_sync_in_step", "1 where the store is as the newest revision says"),
    resources: gauge("pi_workflows_resources", "Resources"),
    runners: gauge("pi_workflows_runners", "Child processes for passes, by state"),
    wal: gauge("pi_workflows_wal_bytes", "Size of the write-ahead log"),
    info: gauge("pi_workflows_build_info", "Version of the server, as labels"),
    cpu: counter("process_cpu_seconds_total", "User and system time of the server"),
    memory: gauge("process_resident_memory_bytes", "Resident size of the server"),
    heap: gauge("nodejs_heap_size_used_bytes", "Heap of the server that is in use"),
    started: gauge("process_start_time_seconds", "Start of the server since the epoch"),
  };
}

type Families = ReturnType<typeof controllerFamilies> & ReturnType<typeof ownFamilies>;

/**
 * Counts what a server does, under the names that controller-runtime gives them, each controller being
 * a resource manager (or `workflow/NAME`) of a project. Its memory depends on how many of those there
 * are, not on how much they do.
 */
export class Metrics implements Observer {
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #of: Families = { ...controllerFamilies(), ...ownFamilies() };
  /** By lane: it is not known here whose a lane is. */
  readonly #adds = new Map<number, number>();
  readonly #underWay = new Map<string, { claim: SeenClaim; at: number }>();

  constructor(clock: Clock, startedAt: number) {
    this.#clock = clock;
    this.#startedAt = startedAt;
  }

  enqueued(lane: number): void {
    this.#adds.set(lane, (this.#adds.get(lane) ?? 0) + 1);
  }

  claimed(claim: SeenClaim): void {
    this.#underWay.set(claim.uid, { claim, at: this.#clock.now() });
    this.#of.queued.observe(queueLabels(claim), claim.queuedMs / 1000);
  }

  lost({ uid }: SeenClaim): void {
    this.#underWay.delete(uid);
  }

  pass(pass: SeenPass): void {
    const of = this.#of;
    this.#underWay.delete(pass.uid);
    const labels = controllerLabels(pass);
    const seconds = (pass.endedAt - pass.startedAt) / 1000;
    of.total.add({ ...labels, result: RESULTS[pass.outcome] });
    const isError = pass.outcome === "failed" || pass.outcome === "crashed";
    of.errors.add(labels, isError ? 1 : 0);
    of.panics.add(labels, pass.outcome === "crashed" ? 1 : 0);
    of.terminal.add(labels, pass.terminal ? 1 : 0);
    of.time.observe(labels, seconds);
    of.worked.observe(queueLabels(pass), seconds);
    const isRetried = pass.requeued && (isError || pass.outcome === "requeue");
    of.retries.add(queueLabels(pass), isRetried ? 1 : 0);
    if (pass.requeued) this.enqueued(pass.lane);
    if (pass.runState === "succeeded" || pass.runState === "failed") {
      of.ended.add({ ...labels, state: pass.runState });
    }
  }

  effect({ claim, state, parked, startedAt, endedAt }: SeenEffect): void {
    const labels = controllerLabels(claim);
    this.#of.effects.add({ ...labels, state: parked ? "parked" : state });
    this.#of.effectTime.observe(labels, (endedAt - startedAt) / 1000);
  }

  node({ claim, event, kind }: SeenNode): void {
    this.#of.nodes.add({ ...controllerLabels(claim), kind, event });
  }

  sync({ project, attempt }: SeenSync): void {
    this.#of.syncs.add({ project, outcome: attempt.outcome });
    this.#of.syncTime.observe({ project }, attempt.durationMs / 1000);
  }

  /** Everything, in Prometheus's text format. */
  text(readings: Readings): string {
    const of = this.#of;
    this.#readLanes(readings);
    const { status, openEffects, syncs } = readings;
    for (const [state, count] of Object.entries(openEffects)) of.openEffects.set({ state }, count);
    for (const [state, count] of Object.entries(status.runs)) of.runs.set({ state }, count);
    of.inStep.clear();
    for (const { project, inStep } of syncs) of.inStep.set({ project }, inStep ? 1 : 0);
    of.resources.set({}, status.store.resources);
    of.runners.set({ state: "busy" }, status.runners.busy);
    of.runners.set({ state: "idle" }, status.runners.alive - status.runners.busy);
    of.wal.set({}, status.walBytes);
    of.info.set({ version: status.version, sqlite: status.store.sqliteVersion }, 1);
    readProcess(of, this.#startedAt);
    return Object.values(of)
      .map((one) => one.text())
      .join("");
  }

  #readLanes({ status, most }: Readings): void {
    const { active, most: places, depth, adds, unfinished, longest } = this.#of;
    for (const one of [active, places, depth, adds, unfinished, longest]) one.clear();
    for (const lane of status.lanes) {
      const labels = { controller: lane.manager, project: lane.project };
      const queue = { name: lane.manager, project: lane.project };
      const ages = this.#agesOf(lane.lane);
      active.set(labels, lane.running);
      places.set(labels, most.get(lane.lane) ?? 0);
      depth.set(queue, lane.ready);
      adds.set(queue, this.#adds.get(lane.lane) ?? 0);
      unfinished.set(
        queue,
        ages.reduce((sum, age) => sum + age, 0),
      );
      longest.set(queue, Math.max(0, ...ages));
    }
  }

  /** Seconds since each key of the lane that is claimed was claimed. */
  #agesOf(lane: number): number[] {
    const now = this.#clock.now();
    return [...this.#underWay.values()]
      .filter(({ claim }) => claim.lane === lane)
      .map(({ at }) => Math.max(0, now - at) / 1000);
  }
}

type ProcessSeries = Record<"cpu" | "memory" | "heap" | "started", Series>;

function readProcess({ cpu, memory, heap, started }: ProcessSeries, startedAt: number): void {
  const { user, system } = cpuUsage();
  const { rss, heapUsed } = memoryUsage();
  cpu.set({}, (user + system) / 1e6);
  memory.set({}, rss);
  heap.set({}, heapUsed);
  started.set({}, startedAt / 1000);
}

function controllerLabels({ manager, project }: SeenClaim): Labels {
  return { controller: manager, project };
}

/** As client-go labels its queues. */
function queueLabels({ manager, project }: SeenClaim): Labels {
  return { name: manager, project };
}
