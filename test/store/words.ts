import { canonicalJson, fingerprintText, type Json } from "../../src/model/canonical.ts";
import type { ApplyChange, SpecWrite } from "../../src/model/batch.ts";
import type { ResolvedManager } from "../../src/model/manifest.ts";
import type { PassOutcome } from "../../src/model/pass.ts";
import type { Clock, Ids } from "../../src/model/ports.ts";
import { workflowLane, type ResolvedWorkflow } from "../../src/model/graph.ts";
import type { JournalInput, RunEnding, StoredRun } from "../../src/model/run.ts";
import type { StartRun } from "../../src/store/runs.ts";
import type {
  Claimed,
  ResourceManagerStore,
  SettleReceipt,
  SettleRequest,
} from "../../src/store/store.ts";

export const PROJECT = "/projects/widgets";
export const START = Date.UTC(2026, 0, 1);

/** A clock that stands still until it is moved. */
export class ManualClock implements Clock {
  #wall = START;
  #monotonic = 0;

  now(): number {
    return this.#wall;
  }
  monotonic(): number {
    return this.#monotonic;
  }
  schedule(): () => void {
    throw new Error("the store sets no timers");
  }
  advance(ms: number): void {
    this.#wall += ms;
    this.#monotonic += ms;
  }
  /** Somebody sets the wall clock, or the machine was suspended: only wall time jumps. */
  jump(ms: number): void {
    this.#wall += ms;
  }
}

export function countedIds(): Ids {
  let count = 0;
  const next = (kind: string) => `${kind}-${String((count += 1)).padStart(6, "0")}`;
  return { next: () => next("id"), token: () => next("token") };
}

export function resolvedManager(name: string): ResolvedManager {
  return {
    name,
    path: `/definitions/${name}.resource-manager.ts`,
    scope: "project",
    digest: `digest-of-${name}`,
    inputs: [],
    secretPaths: [],
    sources: [],
    deadlineMs: 60_000,
    maxConcurrent: 4,
  };
}

export function resolvedWorkflow(name: string, digest: string): ResolvedWorkflow {
  return {
    name,
    path: `/definitions/${name}.workflow.ts`,
    scope: "project",
    digest,
    inputs: [],
    secretPaths: [],
    deadlineMs: 3_600_000,
    graph: { workflow: name, startAt: "a", nodes: {}, edges: {} },
  };
}

export function specWrite(spec: Json, overrides: Partial<SpecWrite> = {}): SpecWrite {
  const text = canonicalJson(spec);
  return {
    spec: text,
    specHash: fingerprintText(text),
    initialStatus: "{}",
    labels: {},
    dependsOn: [],
    prunable: true,
    suspended: false,
    origin: { owner: { kind: "apply", name: "specs" }, file: "specs/a.resource.json" },
    ...overrides,
  };
}

/** What the suites need of a store; the reference model offers just this. */
export type ModelledStore = Pick<
  ResourceManagerStore,
  | "beginEpoch"
  | "acceptManager"
  | "applyBatch"
  | "delete"
  | "suspend"
  | "enqueue"
  | "claim"
  | "renew"
  | "settle"
  | "setFinalizer"
  | "beginEffect"
  | "settleEffect"
  | "resolveEffect"
  | "repair"
  | "get"
  | "queue"
  | "effects"
  | "lanes"
  | "acceptWorkflow"
  | "startRun"
  | "ensureChildRun"
  | "childRun"
  | "cancelChildRun"
  | "appendJournal"
  | "runOrders"
  | "pauseRun"
  | "resumeRun"
  | "cancelRun"
  | "answerRun"
  | "resolveRun"
  | "retryRun"
  | "run"
  | "runs"
  | "awaited"
  | "journal"
  | "close"
>;

/** A store with one server epoch, accepted managers, and short words for what tests do. */
export class Driver<Store extends ModelledStore = ModelledStore> {
  readonly store: Store;
  readonly clock: ManualClock;
  readonly #lanes = new Map<string, number>();
  epoch = 0;

  constructor(store: Store, clock: ManualClock) {
    this.store = store;
    this.clock = clock;
  }

  async begin(...managers: string[]): Promise<this> {
    this.epoch = (await this.store.beginEpoch()).epoch;
    for (const name of managers) {
      const { lane } = await this.store.acceptManager(PROJECT, resolvedManager(name));
      this.#lanes.set(name, lane);
    }
    return this;
  }

  /** Accepts a workflow; its lane is claimed from like the managers'. */
  async accept(name = "w", digest = `digest-of-${name}`): Promise<void> {
    const record = await this.store.acceptWorkflow(PROJECT, resolvedWorkflow(name, digest));
    this.#lanes.set(workflowLane(name), record.lane);
  }

  start(input: Json = {}, more: Partial<StartRun> = {}): Promise<StoredRun> {
    const request = { project: PROJECT, workflow: "w", input, startedBy: "ann", ...more };
    return this.store.startRun(request);
  }

  /** Starts a run and hands it out. */
  async started(input: Json = {}): Promise<Claimed & { run: StoredRun }> {
    await this.start(input);
    return this.claimRun();
  }

  async claimRun(workflow = "w"): Promise<Claimed & { run: StoredRun }> {
    const [claimed] = await this.claim(1, [workflowLane(workflow)]);
    if (!claimed?.run) throw new Error("no run was ready");
    return { ...claimed, run: claimed.run };
  }

  settleRun(
    claimed: Claimed,
    run: RunEnding,
    more: Pick<SettleRequest, "next"> = {},
  ): Promise<SettleReceipt> {
    return this.store.settle({ ...this.#settlement(claimed, SETTLED, 0.5), run, ...more });
  }

  lane(manager = "m"): number {
    return this.#lanes.get(manager) as number;
  }

  ref(key: string, manager = "m") {
    return { project: PROJECT, resourceManager: manager, key };
  }

  async version(key: string, manager = "m"): Promise<number> {
    const found = await this.store.get(this.ref(key, manager));
    return found?.resource.metadata.resourceVersion ?? 0;
  }

  /** Creates or updates one resource, at whatever version it has. */
  async put(
    key: string,
    spec: Json,
    { manager = "m", ...overrides }: Partial<SpecWrite> & { manager?: string } = {},
  ) {
    const expected = await this.version(key, manager);
    const write = specWrite(spec, overrides);
    const change: ApplyChange =
      expected === 0
        ? { kind: "create", manager, key, write, expected }
        : { kind: "update", manager, key, write, expected };
    const receipt = await this.store.applyBatch({ project: PROJECT, changes: [change] });
    return receipt.items[0] as (typeof receipt.items)[number];
  }

  claimRequest(limit = 1, managers = [...this.#lanes.keys()]) {
    return {
      epoch: this.epoch,
      lanes: managers.map((manager) => ({ lane: this.lane(manager), max: limit })),
      limit,
      leaseMs: 90_000,
    };
  }

  claim(limit = 1, managers?: string[]): Promise<Claimed[]> {
    return this.store.claim(this.claimRequest(limit, managers));
  }

  async claimOne(): Promise<Claimed> {
    const [claimed] = await this.claim();
    if (!claimed) throw new Error("nothing was ready");
    return claimed;
  }

  settle(claimed: Claimed, outcome: PassOutcome, random = 0.5): Promise<SettleReceipt> {
    return this.store.settle(this.#settlement(claimed, outcome, random));
  }

  #settlement(claimed: Claimed, outcome: PassOutcome, random: number): SettleRequest {
    return {
      claim: claimed.claim,
      reconcileId: claimed.reconcileId,
      observedGeneration: claimed.resource.metadata.generation,
      outcome,
      startedAt: this.clock.now(),
      durationMs: 5,
      random,
    };
  }

  async pass(outcome: PassOutcome): Promise<SettleReceipt> {
    return this.settle(await this.claimOne(), outcome);
  }

  async queued(key: string, manager = "m") {
    const entries = await this.store.queue({ project: PROJECT });
    return entries.find((entry) => entry.key === key && entry.resourceManager === manager);
  }
}

export const SETTLED: PassOutcome = { kind: "settled" };
export const FAILED: PassOutcome = { kind: "failed", message: "no answer", terminal: false };
export const TERMINAL: PassOutcome = { kind: "failed", message: "bad input", terminal: true };
export const CRASHED: PassOutcome = { kind: "crashed", fault: "exit", message: "code 1" };
export const ORIGIN = { owner: { kind: "person", name: "ann" }, command: "delete m a" } as const;

/** Opens a store of the suite's kind with managers `m` and `n` accepted and an epoch begun. */
export type Start = () => Promise<Driver>;

/** Ends of a run's pass. */
export const DONE: RunEnding = { state: "succeeded", exit: "done", output: { ok: true } };
export const BROKEN: RunEnding = {
  state: "failed",
  reason: "NodeFailed",
  message: "no answer",
  node: "a",
};
export const ASKS: RunEnding = {
  state: "waiting",
  reason: "Checkpoint",
  message: "?",
  node: "ask",
};
export const STOPPED: RunEnding = { state: "waiting", reason: "Paused", message: "paused" };
export const UNSURE: RunEnding = {
  state: "interrupted",
  reason: "Ambiguous",
  message: "nobody knows",
  node: "push",
};

/** Lines of a journal: of a checkpoint, of an action that is not pure, of a pure node. */
export function line(
  event: "begun" | "succeeded" | "failed" | "aborted" | "ambiguous" | "released",
  visit: number,
  { node = "ask", attempt = 1 } = {},
): JournalInput {
  const kind = node === "ask" ? "checkpoint" : node === "push" ? "action" : "compute";
  const ref = { at: START, visit, node, attempt, kind } as const;
  switch (event) {
    case "begun":
    case "ambiguous":
      return { ...ref, event };
    case "succeeded":
      return { ...ref, event, startedAt: START, output: { visit } };
    case "failed":
      return { ...ref, event, startedAt: START, error: FAULT, retryable: true };
    case "aborted":
      return { ...ref, event, startedAt: START };
    case "released":
      return { at: START, visit, node, attempt, event, by: "ann" };
  }
}
const FAULT = { message: "no", reason: "Error" };

export const EFFECT = {
  key: "merge:1",
  kind: "merge",
  request: { number: 7 },
  provenAbsent: false,
};

export function keysOf(claimed: Claimed[]): string[] {
  return claimed.map(({ resource }) => resource.metadata.key);
}
