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
import type {
  DeleteReceipt,
  EffectListing,
  GenerationRecord,
  ListQuery,
  StoreInfo,
  Lane,
} from "../store/store.ts";

/** Rises when a message changes so that older clients or servers can't understand it. */
export const PROTOCOL_VERSION = 1;

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
  walBytes: number;
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

/** What each route takes and answers. The zod form of what it takes is in protocol-schemas.ts. */
export type Api = {
  hello: { params: Nothing; result: Hello };
  status: { params: Nothing; result: ServerStatus };
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
  stop: { params: Nothing; result: { stopping: true } };
};
export type RouteName = keyof Api;
export type Params<R extends RouteName> = Api[R]["params"];
export type Result<R extends RouteName> = Api[R]["result"];

/** The streams: server-sent events, one JSON item each. */
export type StreamApi = {
  events: { params: EventsQuery; item: ResourceEvent };
  watch: { params: ListQuery; item: WatchItem };
};
export type StreamName = keyof StreamApi;

/** How a route is reached. GET routes take their parameters from the query string. */
export type Route = { method: "GET" | "POST"; path: string };

/** The one table of routes. */
export const ROUTES = {
  hello: { method: "GET", path: "/v1/hello" },
  status: { method: "GET", path: "/v1/status" },
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
  stop: { method: "POST", path: "/v1/stop" },
} as const satisfies Record<RouteName, Route>;

/** Streams, all by GET. */
export const STREAMS = {
  events: "/v1/events",
  watch: "/v1/watch",
} as const satisfies Record<StreamName, string>;

/** The typed client of the server; its methods throw PiWorkflowsError as the server threw it. */
export type Client = {
  hello(): Promise<Hello>;
  status(): Promise<ServerStatus>;
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
    hello: () => call("hello", {}),
    status: () => call("status", {}),
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
    events: (query, signal) => stream("events", query, signal),
    watch: (query, signal) => stream("watch", query, signal),
    stop: async () => void (await call("stop", {})),
    close,
  };
}

function absentIfNotFound(thrown: unknown): undefined {
  if (thrown instanceof Error && "code" in thrown && thrown.code === "NOT_FOUND") return undefined;
  throw thrown;
}
