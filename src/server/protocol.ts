import type {
  ManagerProposal,
  ManagerRecord,
  ApplyBatch,
  BatchReceipt,
  Snapshot,
} from "../model/batch.ts";
import type { StoredEffect } from "../model/effect.ts";
import type { ResourceEvent } from "../model/event.ts";
import type { ResourceRef, ResourceSummary, StoredResource, Origin } from "../model/resource.ts";
import type { DeleteReceipt, ListQuery, StoreInfo, Lane } from "../store/store.ts";

/** Rises when a message changes so that older clients or servers can't understand it. */
export const PROTOCOL_VERSION = 1;

/** `GET /v1/hello`: who answers, so that versions that do not fit refuse each other clearly. */
export type Hello = { version: string; protocol: number; pid: number; home: string };

/** `GET /v1/status` */
export type ServerStatus = Hello & {
  startedAt: number;
  store: StoreInfo;
  lanes: Lane[];
  runners: { alive: number; busy: number };
  passes: { running: number; done: number; failed: number };
  walBytes: number;
};

/** The typed client of the server; its methods throw PiWorkflowsError as the server threw it. */
export type Client = {
  hello(): Promise<Hello>;
  status(): Promise<ServerStatus>;
  snapshot(project: string): Promise<Snapshot>;
  specs(uids: string[]): Promise<Map<string, string>>;
  acceptManagers(project: string, proposals: ManagerProposal[]): Promise<ManagerRecord[]>;
  commit(batch: ApplyBatch): Promise<BatchReceipt>;
  get(ref: ResourceRef): Promise<StoredResource | undefined>;
  list(query: ListQuery): Promise<{ items: ResourceSummary[]; next?: string }>;
  delete(ref: ResourceRef, options: { origin: Origin; force?: boolean }): Promise<DeleteReceipt>;
  suspend(ref: ResourceRef, suspended: boolean): Promise<StoredResource>;
  /** Enqueues now; returns how many keys were marked. */
  reconcile(ref: ResourceRef | { project: string; resourceManager: string }): Promise<number>;
  resolveEffect(
    uid: string,
    key: string,
    outcome: { state: "applied"; externalRef?: string } | { state: "rejected"; reason: string },
  ): Promise<StoredEffect>;
  repair(options?: { dryRun?: boolean }): Promise<{ enqueued: number }>;
  /** Server-sent events from cursor `after` (exclusive; absent: from now), until `signal` aborts. */
  events(
    query: { project?: string; uid?: string; after?: number },
    signal: AbortSignal,
  ): AsyncIterable<ResourceEvent>;
  /** Resources as they change, first all that match; `removed` where one is gone. */
  watch(
    query: ListQuery,
    signal: AbortSignal,
  ): AsyncIterable<{ kind: "present" | "removed"; resource: ResourceSummary } | { kind: "listed" }>;
  /** Asks the server to drain and exit; resolves when it has accepted. */
  stop(): Promise<void>;
  close(): Promise<void>;
};
