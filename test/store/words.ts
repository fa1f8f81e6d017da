import { canonicalJson, fingerprintText, type Json } from "../../src/model/canonical.ts";
import type { ApplyChange, SpecWrite } from "../../src/model/batch.ts";
import type { ResolvedManager } from "../../src/model/manifest.ts";
import type { PassOutcome } from "../../src/model/pass.ts";
import type { Clock, Ids } from "../../src/model/ports.ts";
import type { Claimed, ResourceManagerStore, SettleReceipt } from "../../src/store/store.ts";

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
    return this.store.settle({
      claim: claimed.claim,
      reconcileId: claimed.reconcileId,
      observedGeneration: claimed.resource.metadata.generation,
      outcome,
      startedAt: this.clock.now(),
      durationMs: 5,
      random,
    });
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

export const EFFECT = {
  key: "merge:1",
  kind: "merge",
  request: { number: 7 },
  provenAbsent: false,
};

export function keysOf(claimed: Claimed[]): string[] {
  return claimed.map(({ resource }) => resource.metadata.key);
}
