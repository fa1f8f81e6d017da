import type { Json } from "../model/canonical.ts";
import type { EffectDecision, EffectOutcome, StoredEffect } from "../model/effect.ts";
import type { EventInput, ResourceEvent } from "../model/event.ts";
import type { ApplyBatch, BatchReceipt, ManagerRecord, Snapshot } from "../model/batch.ts";
import type { ResolvedManager } from "../model/manifest.ts";
import type { PassOutcome, PassRecord } from "../model/pass.ts";
import type { QueueEntry, WakeCause } from "../model/queue.ts";
import type {
  ManagedResource,
  Origin,
  Owner,
  ResourceRef,
  ResourceSummary,
  StoredResource,
} from "../model/resource.ts";
import type { RunEnding, StoredRun } from "../model/run.ts";
import type { PruneRecord, StoredSyncSet, SyncReport, SyncSet } from "../model/sync.ts";
import type { RunReader, RunStore } from "./runs.ts";

/**
 * What the server needs of a store: coarse operations, each one transaction, so that a remote
 * database can implement it. Every write that is acknowledged is durable.
 * All methods throw PiWorkflowsError only.
 */
export type ResourceManagerStore = StoreReader &
  RunStore & {
    /** Starts a new server epoch: claims of every earlier one are void at once (F-7). */
    beginEpoch(): Promise<{ epoch: number; recovered: number }>;

    /** Records a definition that the server accepted; its lane's queue rows become claimable. */
    acceptManager(project: string, manager: ResolvedManager): Promise<ManagerRecord>;

    /** Applies up to LIMITS.batch changes: all of them or, when one is refused, none. */
    applyBatch(batch: ApplyBatch): Promise<BatchReceipt>;

    /**
     * Requests deletion: sets `deletionTimestamp` once and enqueues, or removes the resource where it
     * has no finalizers (D-1). `force` drops finalizers and reports unsettled effects (D-8).
     */
    delete(request: DeleteRequest): Promise<DeleteReceipt>;

    /** Sets or lifts `suspended`; lifting enqueues. */
    suspend(ref: ResourceRef, suspended: boolean): Promise<StoredResource>;

    /** Marks keys dirty. Unknown or removed uids are skipped. Returns how many were marked. */
    enqueue(requests: EnqueueRequest[]): Promise<number>;

    /** Claims up to `request.limit` ready keys, lanes in the order given. */
    claim(request: ClaimRequest): Promise<Claimed[]>;

    /** Extends a claim. @throws LEASE_LOST */
    renew(claim: Claim, expiresAt: number): Promise<void>;

    /**
     * Ends a pass: status, conditions, queue row, event, pass record, and the next claims, in one
     * transaction (G-8). Idempotent per claim (F-6).
     * For a run, `run` says what became of it, beside the outcome `settled`; its state, and the wake of
     * its parent, are in that transaction.
     * @throws LEASE_LOST when another claim has taken over or the resource is another (D-5);
     * BAD_REQUEST, TOO_LARGE, NOT_JSON when the outcome can't be stored: the claim is kept, and the
     * caller settles it again as failed.
     */
    settle(request: SettleRequest): Promise<SettleReceipt>;

    /** Adds or removes a finalizer, durable when it resolves (D-2, D-3, D-4). */
    setFinalizer(
      claim: Claim,
      name: string,
      present: boolean,
    ): Promise<ManagedResource["metadata"] | undefined>;

    /**
     * Records that an effect is about to be called, or says why not to (E-1 to E-4). `observe` in
     * answer to a proof of absence, with `effect.parked`, means that its calls are used up: end the
     * pass as parked.
     * @throws EFFECT_CONFLICT for another request under one key, and for an effect that this very
     * pass is applying; LEASE_LOST, TOO_LARGE
     */
    beginEffect(claim: Claim, request: BeginEffect): Promise<EffectDecision>;

    /**
     * Records how a begun effect ended. A fenced claim may still move its own effect from
     * `indeterminate` to `applied` or `rejected` for the same fingerprint (E-10).
     */
    settleEffect(claim: Claim, settlement: SettleEffect): Promise<StoredEffect>;

    /** Settles an open effect by hand and enqueues its resource. @throws EFFECT_NOT_OPEN, NOT_FOUND */
    resolveEffect(
      uid: string,
      key: string,
      outcome: EffectOutcome & { state: "applied" | "rejected" },
      by: string,
    ): Promise<StoredEffect>;

    /**
     * Appends an event, or folds it into an equal one. On behalf of a pass, with its claim (F-1).
     * @throws NOT_FOUND, LEASE_LOST, TOO_LARGE
     */
    appendEvent(uid: string, event: EventInput, claim?: Claim): Promise<ResourceEvent>;

    /**
     * Enqueues every live resource that has no queue row, but for suspended ones and those that the
     * runtime has stopped trying; additive and idempotent.
     */
    repair(options?: { dryRun?: boolean }): Promise<{ enqueued: number }>;

    /** Enables sync for a project, or changes the settings of its set; the report stays. */
    putSyncSet(set: SyncSet): Promise<void>;

    /** Ends sync for a project; its resources stay. False where it was not enabled. */
    removeSyncSet(project: string): Promise<boolean>;

    /**
     * Records what a sync came to, with the resources that are not as the source says: they get the
     * condition `Synced=False`, and others that had it are synced again. Returns the
     * resources that changed. @throws NOT_FOUND where the set was removed meanwhile
     */
    recordSync(project: string, record: SyncRecord): Promise<MarkedResource[]>;

    /** What a source of a lane last remembered under its name; undefined where nothing. */
    sourceMark(lane: number, source: string): Promise<string | undefined>;
    putSourceMark(lane: number, source: string, mark: string): Promise<void>;

    /** Resources of a lane, live and removed, that changed after a version of the store. */
    changedSince(lane: number, version: number): Promise<{ uid: string; key: string }[]>;

    /** Whether this delivery of a webhook was taken before, as far back as is remembered. */
    isDelivered(webhook: string, delivery: string): Promise<boolean>;
    /** @throws TOO_LARGE past LIMITS.deliveryId */
    recordDelivery(webhook: string, delivery: string): Promise<void>;

    /** Deletes history past retention, in bounded steps. Returns rows deleted; 0 when done. */
    retain(limit: number): Promise<number>;

    /**
     * Deletes, or with `dryRun` counts, resources that were removed and runs that ended longer ago than
     * that, with all that belongs to them. Runs that a live resource shows stay, and whatever has an
     * open effect.
     */
    pruneHistory(options: {
      olderThanMs: number;
      dryRun?: boolean;
    }): Promise<{ resources: number; runs: number }>;

    close(): Promise<void>;
  };

/** Everything that reads; the query-only reader implements just this. */
export type StoreReader = RunReader & {
  info(): Promise<StoreInfo>;
  get(ref: ResourceRef): Promise<StoredResource | undefined>;
  /** One page, ordered by (project, manager, key); `next` continues it. */
  list(query: ListQuery): Promise<{ items: ResourceSummary[]; next?: string }>;
  managers(project?: string): Promise<ManagerRecord[]>;
  /** What a plan needs of a project's resources, without bodies. */
  snapshot(project: string): Promise<Snapshot>;
  /** Canonical specs of some uids, for the resources whose hash differs. */
  specs(uids: string[]): Promise<Map<string, string>>;
  effects(query: {
    uid?: string;
    project?: string;
    open?: boolean;
    limit?: number;
  }): Promise<EffectListing[]>;
  /** Events after `after`, oldest first. */
  events(query: EventQuery): Promise<ResourceEvent[]>;
  history(ref: ResourceRef): Promise<GenerationRecord[]>;
  /** Newest first. */
  passes(uid: string, limit?: number): Promise<PassRecord[]>;
  queue(query: { uid?: string; project?: string; limit?: number }): Promise<QueueEntry[]>;
  /** Where sync is enabled, with what is known of it. */
  syncSets(project?: string): Promise<StoredSyncSet[]>;
  /** What syncs of a project pruned, newest first. */
  prunes(project: string): Promise<PruneRecord[]>;
  /** The resource that was removed last under a name, for as long as history keeps it. */
  removed(ref: ResourceRef): Promise<StoredResource | undefined>;
  /**
   * Per lane: rows ready now and the earliest time at which another becomes ready. `only` names the
   * lanes wanted, so that a scheduler of many asks about one.
   */
  lanes(only?: readonly number[]): Promise<Lane[]>;
};

export type StoreInfo = {
  /** Changes when a backup is restored. */
  storeId: string;
  epoch: number;
  /** Rises with every committed change of a resource. */
  revision: number;
  schemaVersion: number;
  sqliteVersion: string;
  /** Live ones of resource managers; runs don't count. */
  resources: number;
};

export type Lane = {
  lane: number;
  project: string;
  manager: string;
  /** Rows that could be claimed now; counted up to 1,000. */
  ready: number;
  running: number;
  /** When the next row that is not ready yet becomes so, epoch milliseconds; absent if none waits. */
  nextReadyAt?: number;
};

export type DeleteRequest = {
  ref: ResourceRef;
  origin: Origin;
  force?: boolean;
  expected?: number;
};
export type DeleteReceipt = {
  uid: string;
  removed: boolean;
  /** Finalizers still to run, or dropped by force. */
  finalizers: string[];
  /** Effects that may have been left behind (D-8). */
  unsettledEffects: StoredEffect[];
};

/** `uid`s are looked up first, refs where the caller has no uid. */
export type EnqueueRequest = {
  target: { uid: string } | ResourceRef | LaneTarget;
  cause: WakeCause;
  /** Milliseconds from now; merged by minimum with what is there. */
  delayMs?: number;
};

/** Every key of a lane, or every one that begins with `prefix`. */
export type LaneTarget = { lane: number; prefix?: string };

export type ClaimRequest = {
  epoch: number;
  /** Lanes with room, best first, with how many each may still take. */
  lanes: { lane: number; max: number }[];
  limit: number;
  /** How long each claim lasts: by lane, else the default. */
  leaseMs: number;
};

/** The right to write on behalf of one pass (F-1). */
export type Claim = { uid: string; lane: number; token: string; generation: number };

export type Claimed = {
  claim: Claim;
  reconcileId: string;
  project: string;
  manager: string;
  resource: ManagedResource;
  /** Present where the key is a run: its state is `running` now, and it is in a new epoch. */
  run?: StoredRun;
  /** Of a run: the first pass since a restore, before which its journal may have gaps (E-12). */
  doubtedFrom?: number;
  cause: WakeCause;
  attempts: number;
  crashAttempts: number;
  expiresAt: number;
  /** When it was ready to be claimed, epoch milliseconds; for those who measure. */
  readyAt?: number;
};

export type SettleRequest = {
  claim: Claim;
  reconcileId: string;
  /** The generation and version that the pass read. */
  observedGeneration: number;
  outcome: PassOutcome;
  /** How the pass of a run ended, with `outcome` `settled`; absent for `failed` and `crashed`. */
  run?: RunEnding;
  startedAt: number;
  durationMs: number;
  /** In [0, 1): the jitter of a backoff (B-2). */
  random: number;
  /** Claims to make in the same transaction. */
  next?: ClaimRequest;
};

export type SettleReceipt = {
  record: PassRecord;
  /** Absent where the pass removed its resource. */
  resourceVersion?: number;
  /** When the key may run next; absent where it left the queue. */
  readyAt?: number;
  claimed: Claimed[];
};

export type BeginEffect = {
  key: string;
  kind: string;
  request: Json;
  /** The request as people may see it; absent: as it is. What is compared is the true one. */
  shown?: Json;
  /** True when the caller has just observed, with proof, that the effect is absent. */
  provenAbsent: boolean;
};
export type SettleEffect = {
  key: string;
  requestFingerprint: string;
  outcome: EffectOutcome;
  /** `externalRef` as the event about it may name it; absent: as it is. */
  shownRef?: string;
};

export type EffectListing = StoredEffect & {
  project: string;
  resourceManager: string;
  resourceKey: string;
};

export type ListQuery = {
  project?: string;
  manager?: string;
  labels?: Record<string, string>;
  owner?: Owner;
  /** Only resources whose `Ready` condition is not true for their generation. */
  notReady?: boolean;
  limit?: number;
  after?: string;
};

export type EventQuery = {
  uid?: string;
  project?: string;
  after?: number;
  limit?: number;
  /** The newest `limit` of them, newest first: what streams begin from, and what people look at. */
  newestFirst?: boolean;
};

/** What one sync came to. */
export type SyncRecord = {
  report: SyncReport;
  /** Every resource that is not as its source says; absent: what is marked stays so. */
  notSynced?: SyncMark[];
  /** Prunes that happened. */
  prunes?: PruneRecord[];
};
/** A resource whose mark changed. */
export type MarkedResource = ResourceRef & { uid: string };
/** Why a resource is not as its source says. */
export type SyncMark = { uid: string; reason: string; message: string };

/** The last states of a spec, newest first. */
export type GenerationRecord = {
  generation: number;
  spec: Json;
  specHash: string;
  origin: Origin;
  at: number;
};
