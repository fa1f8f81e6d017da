import { statSync } from "node:fs";
import os from "node:os";
import { PiWorkflowsError } from "../model/errors.ts";
import { describeRef, type ResourceRef } from "../model/resource.ts";
import type { ResourceManagerStore } from "../store/store.ts";
import type { Changes, Touched } from "./changes.ts";
import { acceptDefinition } from "./definitions.ts";
import type { Home } from "./home.ts";
import type { Hello, Params, ReconcileTarget, Result, RouteName } from "./protocol.ts";
import type { Registry } from "./registry.ts";
import type { RunApi } from "./run-protocol.ts";
import type { Runs } from "./runs/open.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Sources } from "./sources/sources.ts";
import type { BatchCheck } from "./spec-check.ts";
import { nextTurn } from "./turn.ts";

/** What the routes work on. */
export type HandlerServices = {
  home: Home;
  store: ResourceManagerStore;
  registry: Registry;
  scheduler: Scheduler;
  sources: Pick<Sources, "register">;
  changes: Changes;
  checkBatch: BatchCheck;
  globalFolder: string;
  hello: () => Hello;
  startedAt: number;
  runs: Pick<Runs, "parentsDeleted" | "count">;
  metrics: () => Promise<string>;
  runners: () => { alive: number; busy: number };
  /** The port of 127.0.0.1 where webhooks are answered, where they are. */
  webhookPort: () => number | undefined;
  /** Begins to stop; does not wait. */
  requestStop: () => void;
};

/** One function per route: it takes what the schema let through. */
export type Handlers = { [R in RouteName]: (params: Params<R>) => Promise<Result<R>> };

/** Routes that sync/handlers.ts has. */
export type SyncRoute =
  | "syncEnable"
  | "syncDisable"
  | "syncStatus"
  | "syncNow"
  | "syncSuspend"
  | "syncConfirmPrune"
  | "prunes"
  | "undelete";

/** Routes that runs/handlers.ts has. */
export type RunRoute = keyof RunApi;

/** Each route is a store call and, where something may now be ready, a wake. */
export function createHandlers(services: HandlerServices): Omit<Handlers, SyncRoute | RunRoute> {
  return { ...readHandlers(services), ...applyHandlers(services), ...writeHandlers(services) };
}

type ReadRoute =
  | "hello"
  | "status"
  | "metrics"
  | "snapshot"
  | "specs"
  | "managers"
  | "get"
  | "list"
  | "effects"
  | "history"
  | "passes"
  | "queue";

function readHandlers(services: HandlerServices): Pick<Handlers, ReadRoute> {
  const { home, store, scheduler, hello, startedAt } = services;
  return {
    hello: () => Promise.resolve(hello()),
    status: async () => ({
      ...hello(),
      startedAt,
      store: await store.info(),
      lanes: await store.lanes(),
      runners: services.runners(),
      passes: scheduler.stats(),
      runs: await services.runs.count(),
      ...portOf(services),
      walBytes: statSync(`${home.database}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    }),
    metrics: async () => ({ text: await services.metrics() }),
    snapshot: async ({ project }) => {
      const snapshot = await store.snapshot(project);
      // Reading ten thousand resources and writing them as JSON take some 20 ms each.
      await nextTurn();
      return snapshot;
    },
    specs: async ({ uids }) => Object.fromEntries(await store.specs(uids)),
    managers: ({ project }) => store.managers(project),
    get: async (ref) => (await store.get(ref)) ?? notFound(ref),
    list: (query) => store.list(query),
    effects: (query) => store.effects(query),
    history: (ref) => store.history(ref),
    passes: ({ uid, limit }) => store.passes(uid, limit),
    queue: (query) => store.queue(query),
  };
}

type ApplyRoute = "acceptManagers" | "commit";

function applyHandlers(services: HandlerServices): Pick<Handlers, ApplyRoute> {
  const { store, registry, scheduler, changes } = services;
  return {
    acceptManagers: async ({ project, proposals }) => {
      const records = [];
      for (const proposal of proposals) {
        const { record, replaced } = await acceptDefinition(services, project, proposal);
        // Other code may come to another result, so everything it manages is looked at again.
        // As if a person had asked: that also revives what was given up under the old code.
        if (replaced) await store.enqueue([{ target: { lane: record.lane }, cause: "request" }]);
        scheduler.register(record);
        services.sources.register(record);
        records.push(record);
      }
      return records;
    },
    commit: async (batch) => {
      await services.checkBatch(batch, (name) => registry.get(batch.project, name));
      const receipt = await store.applyBatch(batch);
      const { project } = batch;
      changes.touch(
        receipt.items.map(({ uid, manager, key }) => ({
          uid,
          project,
          resourceManager: manager,
          key,
        })),
      );
      const pruned = receipt.items.filter((_item, index) => batch.changes[index]?.kind === "prune");
      await services.runs.parentsDeleted(pruned.map(({ uid }) => uid));
      for (const manager of new Set(receipt.items.map((item) => item.manager))) {
        scheduler.wake({ project, manager });
      }
      return receipt;
    },
  };
}

type WriteRoute = Exclude<RouteName, ReadRoute | ApplyRoute | SyncRoute | RunRoute>;

function writeHandlers(services: HandlerServices): Pick<Handlers, WriteRoute> {
  const { store, registry, scheduler, changes } = services;
  const wake = ({ project, resourceManager }: ReconcileTarget): void =>
    scheduler.wake({ project, manager: resourceManager });
  /**
   * Wakes the scheduler in the same turn as a write, so that the claim that follows shares its commit
   * and a pass begins one disk flush earlier, and after it, for writes of several transactions.
   */
  const waking = async <T>(target: ReconcileTarget, write: Promise<T>): Promise<T> => {
    wake(target);
    const result = await write;
    wake(target);
    return result;
  };
  const woken = (ref: Touched): void => {
    changes.touch([ref]);
    wake(ref);
  };
  return {
    delete: async ({ ref, origin, force }) => {
      const write = store.delete({ ref, origin, ...(force ? { force } : {}) });
      const receipt = await waking(ref, write);
      changes.touch([{ ...ref, uid: receipt.uid }]);
      await services.runs.parentsDeleted([receipt.uid]);
      return receipt;
    },
    suspend: async ({ ref, suspended }) => {
      const stored = await waking(ref, store.suspend(ref, suspended));
      changes.touch([{ ...ref, uid: stored.resource.metadata.uid }]);
      return stored;
    },
    reconcile: async ({ target }) => {
      const { project, resourceManager } = target;
      const { lane } = registry.get(project, resourceManager);
      const one = "key" in target;
      const write = store.enqueue([{ target: one ? target : { lane }, cause: "request" }]);
      const marked = await waking(target, write);
      if (one && marked === 0) throw await notMarked(store, target);
      return { marked };
    },
    resolveEffect: async ({ uid, key, outcome }) => {
      const [listed] = await store.effects({ uid, limit: 1 });
      const effect = await store.resolveEffect(uid, key, outcome, os.userInfo().username);
      if (listed) {
        const { project, resourceManager, resourceKey } = listed;
        woken({ uid, project, resourceManager, key: resourceKey });
      }
      return effect;
    },
    repair: async (options) => {
      const result = await store.repair(options);
      scheduler.wake();
      return result;
    },
    pruneHistory: (options) => store.pruneHistory(options),
    stop: () => {
      services.requestStop();
      return Promise.resolve({ stopping: true });
    },
  };
}

function portOf({ webhookPort }: HandlerServices): { webhookPort?: number } {
  const port = webhookPort();
  return port === undefined ? {} : { webhookPort: port };
}

function notFound(ref: ResourceRef): never {
  throw missing(ref);
}

function missing(ref: ResourceRef): PiWorkflowsError {
  return new PiWorkflowsError("NOT_FOUND", `There is no ${describeRef(ref)} in ${ref.project}`);
}

/** Why a request to look at one key marked nothing. */
async function notMarked(store: ResourceManagerStore, ref: ResourceRef): Promise<PiWorkflowsError> {
  const stored = await store.get(ref);
  if (!stored?.suspended) return missing(ref);
  return new PiWorkflowsError("SUSPENDED", `${describeRef(ref)} is suspended`, {
    hint: `Lift it with \`pi-workflows resume ${describeRef(ref)}\`.`,
  });
}
