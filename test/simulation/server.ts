import type Database from "better-sqlite3";
import type { ManagerRecord } from "../../src/model/batch.ts";
import type { ResolvedWorkflow, WorkflowRecord } from "../../src/model/graph.ts";
import type { Log } from "../../src/model/ports.ts";
import { createChanges } from "../../src/server/changes.ts";
import { record } from "../../src/server/definitions.ts";
import {
  createHandlers,
  type Handlers,
  type HandlerServices,
  type RunRoute,
} from "../../src/server/handlers.ts";
import { keepHouse } from "../../src/server/housekeeping.ts";
import { capsOf } from "../../src/server/lanes.ts";
import { createRegistry } from "../../src/server/registry.ts";
import { boundAgents } from "../../src/server/runs/agents.ts";
import { createValueCheck } from "../../src/server/runs/check.ts";
import { childRunHost } from "../../src/server/runs/child-runs.ts";
import { runHandlers } from "../../src/server/runs/handlers.ts";
import { startRunPass } from "../../src/server/runs/pass.ts";
import { createWorkflowRegistry, type WorkflowRegistry } from "../../src/server/runs/registry.ts";
import { Scheduler } from "../../src/server/scheduler.ts";
import { createBatchCheck } from "../../src/server/spec-check.ts";
import { watchedBySyncs } from "../../src/server/sync/handlers.ts";
import { SyncLoop, type LoopServices } from "../../src/server/sync/loop.ts";
import { EMPTY_REPORT } from "../../src/model/sync.ts";
import { createStore } from "../../src/store/sqlite/store.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import { workflowLane } from "../../src/model/graph.ts";
import { scriptedAgents } from "../server/runs/scripted-agents.ts";
import { FaultyConnection } from "./database.ts";
import type { Oracle } from "./oracle.ts";
import { Proc } from "./proc.ts";
import { MANAGERS, PROJECT, resolvedManager, resolvedWorkflow, WORKFLOWS } from "./programs.ts";
import type { Provider } from "./provider.ts";
import { SYNC_SET, type Repository } from "./repository.ts";
import { SimulatedRunner } from "./runner.ts";
import { never, type World } from "./world.ts";

/** What outlives a server. */
export type Machine = {
  world: World;
  provider: Provider;
  oracle: Oracle;
  database: Database.Database;
  working: Map<string, Proc>;
  /** What the definitions on disk say: a version for each name. */
  versions: Map<string, number>;
  /** Present where sync is enabled. */
  repository: Repository | undefined;
};

/** What a client may ask of a server. */
export type Routes = Pick<
  Handlers,
  "commit" | "delete" | "suspend" | "reconcile" | "resolveEffect" | "repair" | "effects" | "list"
> &
  Pick<Handlers, RunRoute>;

/**
 * One life of a server: the parts of a real one, but for the lock, the socket and the processes. When
 * it dies, which may be in the middle of a transaction, exactly what was committed is left.
 */
export class SimulatedServer {
  readonly proc: Proc;
  runner!: SimulatedRunner;
  scheduler!: Scheduler;
  store!: ResourceManagerStore;
  routes!: Routes;
  /** True from when it claims. */
  isUp = false;
  /** Its start failed, as on a full disk. */
  hasFailed = false;
  readonly #machine: Machine;
  #loop: SyncLoop | undefined;
  #pointsLeft = Number.POSITIVE_INFINITY;

  constructor(machine: Machine) {
    this.#machine = machine;
    this.proc = new Proc(machine.world);
  }

  /** Does not return where it dies meanwhile. */
  async start(): Promise<void> {
    try {
      await this.#start();
    } catch (thrown) {
      if ((thrown as { code?: string }).code === undefined) throw thrown;
      this.#machine.world.trace(`start failed: ${String(thrown)}`);
      this.hasFailed = true;
    }
  }

  /** It will die after so many more points. */
  dieAfter(points: number): void {
    this.#pointsLeft = points;
  }

  die(): void {
    if (!this.proc.isAlive) return;
    this.#machine.world.note("server died");
    this.proc.die();
  }

  /** Lets go of the database, when nothing of it is under way any more. */
  close(): void {
    this.proc.die();
    if (this.#machine.database.inTransaction) throw new Error("a dead server is in a transaction");
  }

  /** A place at which it may die. True where it is dead. */
  #point(name: string): boolean {
    const { world } = this.#machine;
    world.points += 1;
    world.trace(name);
    this.#pointsLeft -= 1;
    if (this.#pointsLeft <= 0) this.die();
    return !this.proc.isAlive;
  }

  async #start(): Promise<void> {
    const { world, oracle } = this.#machine;
    const { clock } = this.proc;
    this.store = this.#openStore();
    const registry = createRegistry(await this.store.managers());
    const workflows = createWorkflowRegistry(await this.store.workflows());
    const changes = createChanges();
    const { epoch } = await this.store.beginEpoch();
    oracle.epochBegun(epoch);
    this.runner = new SimulatedRunner({ ...this.#machine, server: this.proc });
    const log = this.#log();
    const check = createValueCheck();
    const known = new Map<string, ResolvedWorkflow>();
    const services = { store: this.store, workflows, check, changes };
    const definitionOf = ({ digest }: { digest: string }): Promise<ResolvedWorkflow | undefined> =>
      Promise.resolve(known.get(digest));
    const runPass = {
      store: this.store,
      clock,
      log,
      changes,
      agents: boundAgents(scriptedAgents().port),
      definitionOf,
    };
    const scheduler: Scheduler = new Scheduler({
      store: this.store,
      clock,
      log,
      changes,
      epoch,
      runnerOf: () => this.runner,
      childRuns: (claimed, guarded) => childRunHost({ ...services, scheduler }, claimed, guarded),
      startRun: (claimed) => startRunPass(runPass, this.runner, claimed),
      caps: capsOf(),
      random: world.random.next,
    });
    this.scheduler = scheduler;
    const accept = async (name: string): Promise<WorkflowRecord> => {
      const version = this.#machine.versions.get(name) ?? 1;
      return this.#acceptWorkflow(workflows, resolvedWorkflow(name, version));
    };
    const ofResources: Partial<HandlerServices> = {
      store: this.store,
      registry,
      scheduler,
      sources: { register: () => undefined },
      changes,
      checkBatch: createBatchCheck(new Map()),
      globalFolder: "",
      startedAt: clock.now(),
      runs: {
        count: () => Promise.resolve({ pending: 0, running: 0, waiting: 0, interrupted: 0 }),
        parentsDeleted: async (uids) => {
          for (const parentUid of uids) {
            const { items } = await this.store.runs({ parentUid, open: true });
            for (const run of items) {
              scheduler.notify(run.runId, "orders");
              scheduler.wake({ project: PROJECT, manager: workflowLane(run.workflow) });
            }
          }
        },
      },
      runners: () => this.runner.stats(),
      metrics: () => Promise.resolve(""),
      webhookPort: () => undefined,
      requestStop: () => undefined,
    };
    // What is left out is for routes that nobody calls here.
    const handlers = createHandlers(ofResources as HandlerServices);
    const ofRuns = runHandlers({
      ...services,
      scheduler,
      definitionOf,
      accept: (_project, proposals) => Promise.all(proposals.map(({ name }) => accept(name))),
    });
    const syncs = { wrote: () => this.#loop?.recheck() };
    this.routes = { ...handlers, ...watchedBySyncs(handlers, syncs), ...ofRuns };
    for (const name of WORKFLOWS) {
      for (let version = 1; version <= (this.#machine.versions.get(name) ?? 1); version += 1) {
        const resolved = resolvedWorkflow(name, version);
        known.set(resolved.digest, resolved);
      }
    }
    for (const name of MANAGERS) scheduler.register(await this.#accept(registry, name));
    for (const name of WORKFLOWS) scheduler.register(await accept(name));
    scheduler.start();
    keepHouse(this.store, clock, log);
    await this.#sync({ log, changes, commit: handlers.commit });
    this.isUp = true;
  }

  async #sync({
    log,
    changes,
    commit,
  }: Pick<LoopServices, "log" | "changes"> & Pick<Handlers, "commit">): Promise<void> {
    const { repository, world } = this.#machine;
    if (!repository) return;
    const { store } = this;
    const stored = await store.syncSets();
    if (stored.length === 0) await store.putSyncSet(SYNC_SET);
    this.#loop = new SyncLoop(
      {
        store,
        target: {
          snapshot: (project) => store.snapshot(project),
          specs: (uids) => store.specs(uids),
          acceptManagers: () => Promise.resolve([]),
          acceptWorkflows: () => Promise.resolve([]),
          commit,
        },
        clock: this.proc.clock,
        log,
        changes,
        resolver: {
          prepare: () => undefined,
          resolve: (request) => repository.resolve(request),
        },
        globalFolder: "/nowhere/simulated",
        random: world.random.next,
        onChange: () => undefined,
      },
      stored[0] ?? { set: SYNC_SET, report: EMPTY_REPORT },
      () => repository.source(),
    );
    this.#loop.start();
  }

  async #accept(registry: ReturnType<typeof createRegistry>, name: string): Promise<ManagerRecord> {
    const version = this.#machine.versions.get(name) ?? 1;
    const manager = resolvedManager(name, version);
    const accepted = await record({ store: this.store, registry }, PROJECT, manager);
    return accepted.record;
  }

  async #acceptWorkflow(
    workflows: WorkflowRegistry,
    resolved: ResolvedWorkflow,
  ): Promise<WorkflowRecord> {
    const before = workflows.find(PROJECT, resolved.name);
    if (before?.digest === resolved.digest) return before;
    const accepted = await this.store.acceptWorkflow(PROJECT, resolved);
    workflows.put(accepted);
    return accepted;
  }

  #openStore(): ResourceManagerStore {
    const { world, oracle, database } = this.#machine;
    const connection = new FaultyConnection(database, world, oracle);
    oracle.watch(connection);
    const probe = (name: string): void => {
      const { isAlive } = this.proc;
      if (isAlive) {
        if (name.endsWith(".written"))
          oracle.written(name.slice("store.".length, -".written".length));
        if (name === "store.committed") oracle.committed();
      }
      // What it had not committed is lost, and nobody hears of what it had.
      if (!isAlive || this.#point(name)) throw new Error("the server is dead");
    };
    const ids = { next: () => world.id("id"), token: () => world.id("token") };
    const clock = oracle.clock(this.proc.clock);
    return this.#mortal(createStore(connection, { clock, ids, probe }));
  }

  /** The same store, of which a dead server hears nothing. */
  #mortal(store: ResourceManagerStore): ResourceManagerStore {
    return new Proxy(store, {
      get: (target, name: keyof ResourceManagerStore) => {
        const method = target[name] as (...params: unknown[]) => Promise<unknown>;
        return (...params: unknown[]) => {
          if (!this.proc.isAlive || this.#point(`call ${name}`)) return never();
          return this.proc.awaiting(method(...params)).then(
            (value) => (this.#point(`answer ${name}`) ? never() : value),
            (thrown: unknown) => {
              world(this.#machine, name, thrown);
              throw thrown;
            },
          );
        };
      },
    });
  }

  #log(): Log {
    const write =
      (level: string) =>
      (message: string, fields: Record<string, unknown> = {}): void => {
        const { error } = fields;
        const why = error instanceof Error ? `: ${error.message}` : "";
        this.#machine.world.trace(`log ${level} ${message}${why}`);
      };
    return {
      debug: write("debug"),
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
    };
  }
}

function world({ world: of }: Machine, name: string, thrown: unknown): void {
  of.trace(`refused ${name}: ${(thrown as Error).message}`);
}
