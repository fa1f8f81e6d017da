import { statSync } from "node:fs";
import os from "node:os";
import { PiWorkflowsError } from "../model/errors.ts";
import { describeRef, type ResourceRef } from "../model/resource.ts";
import type { ResourceManagerStore } from "../store/store.ts";
import type { Changes, Touched } from "./changes.ts";
import { acceptDefinition } from "./definitions.ts";
import type { Home } from "./home.ts";
import type { Hello, Params, Result, RouteName } from "./protocol.ts";
import type { Registry } from "./registry.ts";
import type { Scheduler } from "./scheduler.ts";
import type { BatchCheck } from "./spec-check.ts";

/** What the routes work on. */
export type HandlerServices = {
  home: Home;
  store: ResourceManagerStore;
  registry: Registry;
  scheduler: Scheduler;
  changes: Changes;
  checkBatch: BatchCheck;
  globalFolder: string;
  hello: () => Hello;
  startedAt: number;
  runners: () => { alive: number; busy: number };
  /** Begins to stop; does not wait. */
  requestStop: () => void;
};

/** One function per route: it takes what the schema let through. */
export type Handlers = { [R in RouteName]: (params: Params<R>) => Promise<Result<R>> };

/** Each route is a store call and, where something may now be ready, a wake. */
export function createHandlers(services: HandlerServices): Handlers {
  return { ...readHandlers(services), ...applyHandlers(services), ...writeHandlers(services) };
}

type ReadRoute =
  | "hello"
  | "status"
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
      walBytes: statSync(`${home.database}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    }),
    snapshot: ({ project }) => store.snapshot(project),
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
      for (const manager of new Set(receipt.items.map((item) => item.manager))) {
        scheduler.wake({ project, manager });
      }
      return receipt;
    },
  };
}

function writeHandlers(services: HandlerServices): Omit<Handlers, ReadRoute | ApplyRoute> {
  const { store, registry, scheduler, changes } = services;
  const woken = (ref: Touched): void => {
    changes.touch([ref]);
    scheduler.wake({ project: ref.project, manager: ref.resourceManager });
  };
  return {
    delete: async ({ ref, origin, force }) => {
      const receipt = await store.delete({ ref, origin, ...(force ? { force } : {}) });
      woken({ ...ref, uid: receipt.uid });
      return receipt;
    },
    suspend: async ({ ref, suspended }) => {
      const stored = await store.suspend(ref, suspended);
      woken({ ...ref, uid: stored.resource.metadata.uid });
      return stored;
    },
    reconcile: async ({ target }) => {
      const { project, resourceManager } = target;
      const { lane } = registry.get(project, resourceManager);
      const one = "key" in target;
      const marked = await store.enqueue([{ target: one ? target : { lane }, cause: "request" }]);
      if (one && marked === 0) notFound(target);
      scheduler.wake({ project, manager: resourceManager });
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
    stop: () => {
      services.requestStop();
      return Promise.resolve({ stopping: true });
    },
  };
}

function notFound(ref: ResourceRef): never {
  throw new PiWorkflowsError("NOT_FOUND", `There is no ${describeRef(ref)} in ${ref.project}`);
}
