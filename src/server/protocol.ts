import type {
  ManagerProposal,
  ManagerRecord,
  ApplyBatch,
  BatchReceipt,
  Snapshot,
} from "../model/batch.ts";
import type { StoredEffect } from "../model/effect.ts";
import type { ResourceEvent } from "../model/event.ts";
import type { PassRecord } from "../model/pass.ts";
import type { QueueEntry } from "../model/queue.ts";
import type { ResourceRef, ResourceSummary, StoredResource, Origin } from "../model/resource.ts";
import type { PruneGuard, PruneRecord, StoredSyncSet } from "../model/sync.ts";
import type {
  DeleteReceipt,
  EffectListing,
  GenerationRecord,
  ListQuery,
  StoreInfo,
  Lane,
} from "../store/store.ts";
import {
  absentIfNotFound,
  RUN_ROUTES,
  RUN_STREAMS,
  runClientOver,
  type RunApi,
  type RunClient,
  type RunStreamApi,
} from "./run-protocol.ts";

export type { RunClient, RunItem } from "./run-protocol.ts";

/** Rises when a message changes so that older clients or servers can't understand it. */
export const PROTOCOL_VERSION = 2;

/** Request and response headers by which versions that do not fit refuse each other. */
export const HEADERS = {
  protocol: "pi-workflows-protocol",
  version: "pi-workflows-version",
} as const;

/** `GET /v1/hello`: who answers, so that versions that do not fit refuse each other clearly. */
export type Hello = {
  version: string;
  protocol: number;
  pid: number;
  home: string;
  /** Present while it drains: it takes no more work, and is about to be gone. */
  stopping?: true;
};

/** `GET /v1/status` */
export type ServerStatus = Hello & {
  startedAt: number;
  store: StoreInfo;
  lanes: Lane[];
  runners: { alive: number; busy: number };
  passes: { running: number; done: number; failed: number };
  /** Runs of workflows that have not ended. */
  runs: { pending: number; running: number; waiting: number; interrupted: number };
  walBytes: number;
  /** The port of 127.0.0.1 where webhooks are answered; absent where they are not. */
  webhookPort?: number;
};

type Nothing = Record<string, never>;
/** An effect settled by hand. */
export type EffectVerdict =
  | { state: "applied"; externalRef?: string }
  | { state: "rejected"; reason: string };
/** One key, or every key of a manager. */
export type ReconcileTarget = ResourceRef | { project: string; resourceManager: string };
/** One step of a watch. */
export type WatchItem =
  | { kind: "present" | "removed"; resource: ResourceSummary }
  | { kind: "listed" };
/** Which events a stream holds: those after `after` (exclusive), else from now. */
export type EventsQuery = { project?: string; uid?: string; after?: number };

/** What `syncEnable` takes; what is absent has the default named, or stays as it was. */
export type SyncEnable = {
  /** Canonical path of the work tree. */
  project: string;
  /** Default: the branch that is checked out. */
  branch?: string;
  /** Reads the files of the work tree, not a branch. Default in a folder without git. */
  workingTree?: boolean;
  /** Default `.pi/resources`. */
  roots?: string[];
  /** Default true. */
  prune?: boolean;
  guard?: PruneGuard;
  /**
   * Path or name of this work tree: consent to sync a linked one, or a second one of a repository
   * that is already synced.
   */
  worktree?: string;
};
/** What a sync is doing now. */
export type SyncActivity = {
  state: "waiting" | "settling" | "loading" | "planning" | "applying" | "retrying";
  /** Epoch milliseconds. */
  since: number;
  /** The revision that is being dealt with. */
  revision?: string;
  /** When it tries again by itself, where it waits for that. */
  retryAt?: number;
};
/** A sync set, what became of it, and what it is doing. */
export type SyncStatus = StoredSyncSet & { activity: SyncActivity };
/** One step of a watch of syncs: first all that there are, then each as it changes. */
export type SyncItem =
  | { kind: "present"; status: SyncStatus }
  | { kind: "removed"; project: string }
  | { kind: "listed" };

/** What each route takes and answers. The zod form of what it takes is in protocol-schemas.ts. */
export type Api = RunApi & {
  hello: { params: Nothing; result: Hello };
  status: { params: Nothing; result: ServerStatus };
  metrics: { params: Nothing; result: { text: string } };
  snapshot: { params: { project: string }; result: Snapshot };
  specs: { params: { uids: string[] }; result: Record<string, string> };
  managers: { params: { project?: string }; result: ManagerRecord[] };
  acceptManagers: {
    params: { project: string; proposals: ManagerProposal[] };
    result: ManagerRecord[];
  };
  commit: { params: ApplyBatch; result: BatchReceipt };
  get: { params: ResourceRef; result: StoredResource };
  list: { params: ListQuery; result: { items: ResourceSummary[]; next?: string } };
  effects: {
    params: { uid?: string; project?: string; open?: boolean; limit?: number };
    result: EffectListing[];
  };
  history: { params: ResourceRef; result: GenerationRecord[] };
  passes: { params: { uid: string; limit?: number }; result: PassRecord[] };
  queue: { params: { uid?: string; project?: string; limit?: number }; result: QueueEntry[] };
  delete: {
    params: { ref: ResourceRef; origin: Origin; force?: boolean };
    result: DeleteReceipt;
  };
  suspend: { params: { ref: ResourceRef; suspended: boolean }; result: StoredResource };
  reconcile: { params: { target: ReconcileTarget }; result: { marked: number } };
  resolveEffect: {
    params: { uid: string; key: string; outcome: EffectVerdict };
    result: StoredEffect;
  };
  repair: { params: { dryRun?: boolean }; result: { enqueued: number } };
  pruneHistory: {
    params: { olderThanMs: number; dryRun?: boolean };
    result: { resources: number; runs: number };
  };
  syncEnable: { params: SyncEnable; result: SyncStatus };
  syncDisable: { params: { project: string }; result: { disabled: boolean } };
  syncStatus: { params: { project?: string }; result: SyncStatus[] };
  syncNow: { params: { project: string; allowEmpty?: boolean }; result: SyncStatus };
  syncSuspend: { params: { project: string; suspended: boolean }; result: SyncStatus };
  syncConfirmPrune: { params: { project: string; hash: string }; result: SyncStatus };
  prunes: { params: { project: string }; result: PruneRecord[] };
  undelete: { params: ResourceRef; result: StoredResource };
  stop: { params: Nothing; result: { stopping: true } };
};
export type RouteName = keyof Api;
export type Params<R extends RouteName> = Api[R]["params"];
export type Result<R extends RouteName> = Api[R]["result"];

/** The streams: server-sent events, one JSON item each. */
export type StreamApi = RunStreamApi & {
  events: { params: EventsQuery; item: ResourceEvent };
  watch: { params: ListQuery; item: WatchItem };
  sync: { params: { project?: string }; item: SyncItem };
};
export type StreamName = keyof StreamApi;

/** How a route is reached. GET routes take their parameters from the query string. */
export type Route = { method: "GET" | "POST"; path: string };

/** The one table of routes. */
export const ROUTES = {
  hello: { method: "GET", path: "/v1/hello" },
  status: { method: "GET", path: "/v1/status" },
  metrics: { method: "GET", path: "/v1/metrics" },
  snapshot: { method: "GET", path: "/v1/snapshot" },
  specs: { method: "POST", path: "/v1/specs" },
  managers: { method: "GET", path: "/v1/managers" },
  acceptManagers: { method: "POST", path: "/v1/managers" },
  commit: { method: "POST", path: "/v1/commit" },
  get: { method: "GET", path: "/v1/resource" },
  list: { method: "GET", path: "/v1/resources" },
  effects: { method: "GET", path: "/v1/effects" },
  history: { method: "GET", path: "/v1/history" },
  passes: { method: "GET", path: "/v1/passes" },
  queue: { method: "GET", path: "/v1/queue" },
  delete: { method: "POST", path: "/v1/delete" },
  suspend: { method: "POST", path: "/v1/suspend" },
  reconcile: { method: "POST", path: "/v1/reconcile" },
  resolveEffect: { method: "POST", path: "/v1/effects/resolve" },
  repair: { method: "POST", path: "/v1/repair" },
  pruneHistory: { method: "POST", path: "/v1/prune-history" },
  syncEnable: { method: "POST", path: "/v1/sync/enable" },
  syncDisable: { method: "POST", path: "/v1/sync/disable" },
  syncStatus: { method: "GET", path: "/v1/sync" },
  syncNow: { method: "POST", path: "/v1/sync/now" },
  syncSuspend: { method: "POST", path: "/v1/sync/suspend" },
  syncConfirmPrune: { method: "POST", path: "/v1/sync/confirm-prune" },
  prunes: { method: "GET", path: "/v1/prunes" },
  undelete: { method: "POST", path: "/v1/undelete" },
  stop: { method: "POST", path: "/v1/stop" },
  ...RUN_ROUTES,
} as const satisfies Record<RouteName, Route>;

/** Streams, all by GET. */
export const STREAMS = {
  events: "/v1/events",
  watch: "/v1/watch",
  sync: "/v1/sync/watch",
  ...RUN_STREAMS,
} as const satisfies Record<StreamName, string>;

/** The typed client of the server; its methods throw PiWorkflowsError as the server threw it. */
export type Client = RunClient & {
  hello(): Promise<Hello>;
  status(): Promise<ServerStatus>;
  /** In the text format of Prometheus; `GET /metrics` answers with just that. */
  metrics(): Promise<string>;
  snapshot(project: string): Promise<Snapshot>;
  specs(uids: string[]): Promise<Map<string, string>>;
  managers(project?: string): Promise<ManagerRecord[]>;
  acceptManagers(project: string, proposals: ManagerProposal[]): Promise<ManagerRecord[]>;
  commit(batch: ApplyBatch): Promise<BatchReceipt>;
  get(ref: ResourceRef): Promise<StoredResource | undefined>;
  list(query: ListQuery): Promise<{ items: ResourceSummary[]; next?: string }>;
  effects(query: Params<"effects">): Promise<EffectListing[]>;
  history(ref: ResourceRef): Promise<GenerationRecord[]>;
  passes(uid: string, limit?: number): Promise<PassRecord[]>;
  queue(query: Params<"queue">): Promise<QueueEntry[]>;
  delete(ref: ResourceRef, options: { origin: Origin; force?: boolean }): Promise<DeleteReceipt>;
  suspend(ref: ResourceRef, suspended: boolean): Promise<StoredResource>;
  /** Enqueues now; returns how many keys were marked. */
  reconcile(target: ReconcileTarget): Promise<number>;
  resolveEffect(uid: string, key: string, outcome: EffectVerdict): Promise<StoredEffect>;
  repair(options?: { dryRun?: boolean }): Promise<{ enqueued: number }>;
  pruneHistory(options: Params<"pruneHistory">): Promise<Result<"pruneHistory">>;
  /**
   * Consents that a project's specs and definitions run here, and keeps the store as its source
   * says from now on. Does not wait for the first sync. @throws CONFLICT, GIT_FAILED, USAGE
   */
  syncEnable(request: SyncEnable): Promise<SyncStatus>;
  /** Resources stay as they are. False where it was not enabled. */
  syncDisable(project: string): Promise<boolean>;
  syncStatus(project?: string): Promise<SyncStatus[]>;
  /** Syncs and resolves when done. `allowEmpty` says that a set suddenly empty is meant. */
  syncNow(project: string, options?: { allowEmpty?: boolean }): Promise<SyncStatus>;
  /** A suspended sync plans and reports, and applies nothing. */
  syncSuspend(project: string): Promise<SyncStatus>;
  syncResume(project: string): Promise<SyncStatus>;
  /** Prunes exactly the set with this hash (or its first twelve characters or more). @throws PRUNE_HELD */
  syncConfirmPrune(project: string, hash: string): Promise<SyncStatus>;
  /** What syncs of a project pruned, newest first. */
  prunes(project: string): Promise<PruneRecord[]>;
  /** Brings a removed resource back with its last spec, as a new uid, protected from pruning. */
  undelete(ref: ResourceRef): Promise<StoredResource>;
  /** Sync sets as they change, first all that match, until `signal` aborts. */
  syncWatch(query: { project?: string }, signal: AbortSignal): AsyncIterable<SyncItem>;
  /** Server-sent events from cursor `after` (exclusive; absent: from now), until `signal` aborts. */
  events(query: EventsQuery, signal: AbortSignal): AsyncIterable<ResourceEvent>;
  /** Resources as they change, first all that match; `removed` where one is gone. */
  watch(query: ListQuery, signal: AbortSignal): AsyncIterable<WatchItem>;
  /** Asks the server to drain and exit; resolves when it has accepted. */
  stop(): Promise<void>;
  close(): Promise<void>;
};

/** What a client is made of: one way to call a route and one to read a stream. */
export type Transport = {
  call: <R extends RouteName>(route: R, params: Params<R>) => Promise<Result<R>>;
  stream: <S extends StreamName>(
    stream: S,
    params: StreamApi[S]["params"],
    signal: AbortSignal,
  ) => AsyncIterable<StreamApi[S]["item"]>;
  close: () => Promise<void>;
};

/** The typed client over any transport: the socket, or straight into the handlers. */
export function clientOver({ call, stream, close }: Transport): Client {
  return {
    ...runClientOver({ call, stream }),
    hello: () => call("hello", {}),
    status: () => call("status", {}),
    metrics: async () => (await call("metrics", {})).text,
    snapshot: (project) => call("snapshot", { project }),
    specs: async (uids) => new Map(Object.entries(await call("specs", { uids }))),
    managers: (project) => call("managers", project === undefined ? {} : { project }),
    acceptManagers: (project, proposals) => call("acceptManagers", { project, proposals }),
    commit: (batch) => call("commit", batch),
    get: (ref) => call("get", ref).catch(absentIfNotFound),
    list: (query) => call("list", query),
    effects: (query) => call("effects", query),
    history: (ref) => call("history", ref),
    passes: (uid, limit) => call("passes", limit === undefined ? { uid } : { uid, limit }),
    queue: (query) => call("queue", query),
    delete: (ref, options) => call("delete", { ref, ...options }),
    suspend: (ref, suspended) => call("suspend", { ref, suspended }),
    reconcile: async (target) => (await call("reconcile", { target })).marked,
    resolveEffect: (uid, key, outcome) => call("resolveEffect", { uid, key, outcome }),
    repair: (options) => call("repair", options ?? {}),
    pruneHistory: (options) => call("pruneHistory", options),
    syncEnable: (request) => call("syncEnable", request),
    syncDisable: async (project) => (await call("syncDisable", { project })).disabled,
    syncStatus: (project) => call("syncStatus", project === undefined ? {} : { project }),
    syncNow: (project, options) => call("syncNow", { project, ...options }),
    syncSuspend: (project) => call("syncSuspend", { project, suspended: true }),
    syncResume: (project) => call("syncSuspend", { project, suspended: false }),
    syncConfirmPrune: (project, hash) => call("syncConfirmPrune", { project, hash }),
    prunes: (project) => call("prunes", { project }),
    undelete: (ref) => call("undelete", ref),
    syncWatch: (query, signal) => stream("sync", query, signal),
    events: (query, signal) => stream("events", query, signal),
    watch: (query, signal) => stream("watch", query, signal),
    stop: async () => void (await call("stop", {})),
    close,
  };
}
