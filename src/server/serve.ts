import { randomUUID } from "node:crypto";
import { systemClock } from "../model/clock.ts";
import type { ManagerRecord } from "../model/batch.ts";
import type { PiWorkflowsError } from "../model/errors.ts";
import { VERSION } from "../model/installation.ts";
import { LIMITS } from "../model/limits.ts";
import type { Clock, Log } from "../model/ports.ts";
import { createInProcessRunner } from "../runner/in-process.ts";
import { reapOrphans } from "../runner/orphans.ts";
import { createRunnerPool } from "../runner/pool.ts";
import { openWarmResolver } from "../runner/warm-resolver.ts";
import type { RunnerPort } from "../runner/port.ts";
import { globalDefinitionsFolder } from "../sources/project.ts";
import type { Schema } from "../sources/schema.ts";
import { openStore } from "../store/sqlite/store.ts";
import type { ResourceManagerStore } from "../store/store.ts";
import { finishRestore } from "./backup.ts";
import { removeStaleBundles } from "./bundles.ts";
import { createChanges, type Changes } from "./changes.ts";
import { readConfig, type Config } from "./config.ts";
import { record } from "./definitions.ts";
import { createDispatch, localTransport, type Dispatch } from "./dispatch.ts";
import { drain } from "./drain.ts";
import { createHandlers, type Handlers } from "./handlers.ts";
import { homeAt, placeSocket, prepareHome, removeInfo, writeInfo, type Home } from "./home.ts";
import { describeHosted } from "./hosted.ts";
import { keepHouse } from "./housekeeping.ts";
import { serveHttp } from "./http.ts";
import { watchIdle } from "./idle.ts";
import type { ServerOptions } from "./index.ts";
import { capsOf } from "./lanes.ts";
import { acquireLock } from "./lock.ts";
import { createLogger } from "./logger.ts";
import { PROTOCOL_VERSION, type Transport } from "./protocol.ts";
import { createRegistry, type Registry } from "./registry.ts";
import { createReleasers, PARTS_END_MS, type Releasers } from "./releasers.ts";
import { openObservation, type Observation } from "./observe/open.ts";
import { statsOf } from "./runner-stats.ts";
import { openAgents } from "./runs/open-agents.ts";
import type { Agents } from "./runs/agents.ts";
import { splitEnvironment, type SplitEnvironment } from "./runs/credentials.ts";
import { openRuns, type Runs } from "./runs/open.ts";
import { Scheduler } from "./scheduler.ts";
import { openSources, type OpenSources } from "./sources/open.ts";
import { createBatchCheck } from "./spec-check.ts";
import { syncHandlers, watchedBySyncs } from "./sync/handlers.ts";
import { Syncs } from "./sync/sets.ts";
import { systemIds } from "./system.ts";

/** A server that serves. */
export type Running = { transport: Transport; stop(): Promise<void> };

export type ServeOptions = ServerOptions & {
  project: string;
  /** Begins to stop the server, for clients that ask for it and for one that is idle. */
  requestStop: () => void;
};

/** What the steps of a start hand on. */
type Base = {
  options: ServeOptions;
  home: Home;
  config: Config;
  clock: Clock;
  log: Log;
  releasers: Releasers;
  startedAt: number;
  /** Where resource managers for every project live. */
  globalFolder: string;
  environment: SplitEnvironment;
  observation: Observation;
};

/**
 * Starts a server, step by step; where one fails, the ones before it are undone in reverse order.
 * @throws SERVER_RUNNING, UNSUPPORTED, SCHEMA_TOO_NEW, STORE_CORRUPT
 */
export async function serve(options: ServeOptions): Promise<Running> {
  const releasers = createReleasers();
  let log: Log | undefined = options.log;
  try {
    const base = own(options, releasers);
    ({ log } = base);
    const store = await openStoreOf(base);
    const registry = createRegistry(await store.managers());
    const hosted = await acceptHosted(base, store, registry);
    const changes = createChanges();
    const door = createDoor(base);
    const runners = await createRunners(base);
    const runs = await openRuns({
      ...base,
      store,
      changes,
      agents: runners.agents,
      executor: runners.pool,
      scheduler: () => scheduler,
    });
    const scheduler = await createScheduler(base, { store, changes, runners, runs });
    const parts = { store, registry, runs, hosted, changes, scheduler, runners };
    const sources = openSources({
      ...base,
      ...parts,
      isServed: (record) => isServed(hosted, record),
    });
    const { dispatch, syncs } = createRoutes(base, parts, sources);
    sources.start();
    for (const record of registry.all().filter((one) => isServed(hosted, one))) {
      scheduler.register(record);
      sources.register(record);
    }
    for (const record of runs.workflows.all()) scheduler.register(record);
    scheduler.start();
    if (options.listen !== false) {
      await door.open(dispatch);
      await sources.openWebhooks();
    }
    await syncs.start();
    attend(base, { ...parts, dispatch, syncs, sources });
    log.info("The server serves", { home: base.home.path, version: VERSION });
    const stopMs = (options.drainMs ?? LIMITS.drainMs) + PARTS_END_MS;
    return { transport: localTransport(dispatch), stop: () => releasers.releaseAll(log, stopMs) };
  } catch (thrown) {
    await releasers.releaseAll(log, PARTS_END_MS);
    throw thrown;
  }
}

/** Makes this process the one that owns the state folder. */
function own(options: ServeOptions, releasers: Releasers): Base {
  const clock = options.clock ?? systemClock;
  const home = homeAt(options.home);
  prepareHome(home);
  releasers.add("lock", acquireLock(home));
  let { log } = options;
  if (!log) {
    const logger = createLogger({ file: home.log, clock, echo: options.echo === true });
    releasers.add("log", () => logger.close());
    log = logger;
  }
  const config = readConfig(home.config);
  const common = { config, clock, log, releasers, startedAt: clock.now() };
  return {
    ...common,
    options,
    home,
    observation: openObservation({ ...common, env: process.env }),
    globalFolder: options.globalDefinitions ?? globalDefinitionsFolder(),
    environment: splitEnvironment(process.env, config.pi?.env),
  };
}

async function openStoreOf(base: Base): Promise<ResourceManagerStore> {
  const { options, home, clock, log, releasers, observation } = base;
  if (options.store) return observation.watch(options.store);
  const ids = options.ids ?? systemIds(clock);
  const probe = options.probe ? { probe: options.probe } : {};
  if (finishRestore(home)) log.warn("A restore that was cut short is done now");
  // What is built on a damaged database makes it worse; the next start refuses, and says what to do.
  const onDamage = (error: PiWorkflowsError): void => {
    log.error("The server stops: its database is damaged", { error });
    options.requestStop();
  };
  const { onEnqueue } = observation;
  const store = await openStore({ path: home.database, clock, ids, onDamage, onEnqueue, ...probe });
  releasers.add("store", () => store.close());
  return observation.watch(store);
}

/** Makes the managers that were handed over as objects those of their project. */
async function acceptHosted(
  { options }: Base,
  store: ResourceManagerStore,
  registry: Registry,
): Promise<Map<string, Schema | undefined>> {
  const schemas = new Map<string, Schema | undefined>();
  for (const definition of options.managers ?? []) {
    const { manager, schema } = await describeHosted(definition);
    schemas.set(manager.name, schema);
    await record({ store, registry }, options.project, manager);
  }
  return schemas;
}

/**
 * The two transports of passes: child processes, and this process. Sources map in child processes
 * of their own, so that neither waits for the other.
 */
type Runners = { pool: RunnerPort; local: RunnerPort; maps: RunnerPort; agents: Agents };

/** A pool is empty until something is to run. */
async function createRunners(base: Base): Promise<Runners> {
  const { options, home, config, clock, log, releasers, environment } = base;
  const killed = await reapOrphans(home.path);
  if (killed.length > 0) log.warn("Runners of an earlier server were killed", { killed });
  const token = randomUUID();
  const common = { home: home.path, token, clock, log };
  const agents = openAgents({
    ...common,
    port: options.agents,
    config: config.pi,
    env: process.env,
    credentials: environment.credentials,
  });
  releasers.add("agents", () => agents.stop());
  const poolOf = (concurrency: number): RunnerPort => {
    const made = { ...common, bundlePath: home.bundle, env: environment.runners };
    const pool = createRunnerPool({ ...made, limits: { concurrency } });
    releasers.add("runners", () => pool.stop());
    return pool;
  };
  const pool = poolOf(options.concurrency ?? LIMITS.concurrency);
  const maps = poolOf(LIMITS.mapConcurrency);
  const local = createInProcessRunner([...(options.managers ?? [])], clock);
  releasers.add("in-process passes", () => local.stop());
  return { pool, local, maps, agents };
}

async function createScheduler(
  { options, clock, log, releasers }: Base,
  { store, changes, runners, runs }: Pick<Parts, "store" | "changes" | "runners" | "runs">,
): Promise<Scheduler> {
  const { epoch, recovered } = await store.beginEpoch();
  if (recovered > 0) log.warn("Passes of an earlier server were cut short", { recovered });
  const scheduler = new Scheduler({
    store,
    clock,
    log,
    changes,
    epoch,
    runnerOf: ({ scope }) => (scope === "hosted" ? runners.local : runners.pool),
    startRun: runs.startRun,
    childRuns: runs.childRuns,
    caps: capsOf(options.concurrency),
    random: Math.random,
    ...(options.workflows ? { workflows: options.workflows } : {}),
  });
  releasers.add("scheduler", () =>
    drain(scheduler, [runners.pool, runners.local], {
      clock,
      log,
      waitMs: options.drainMs ?? LIMITS.drainMs,
    }),
  );
  return scheduler;
}

type Parts = {
  store: ResourceManagerStore;
  registry: Registry;
  runs: Runs;
  hosted: ReadonlyMap<string, Schema | undefined>;
  changes: Changes;
  scheduler: Scheduler;
  runners: Runners;
};

/** Whether passes of a manager can run here: one handed over as an object is this program's or none. */
function isServed(hosted: Parts["hosted"], { scope, name }: ManagerRecord): boolean {
  return scope !== "hosted" || hosted.has(name);
}

function createRoutes(
  base: Base,
  parts: Parts,
  sources: OpenSources,
): { dispatch: Dispatch; syncs: Syncs } {
  const { options, home, clock, log, releasers, startedAt, globalFolder } = base;
  const { store, registry, runs, hosted, changes, scheduler, runners } = parts;
  const stopping = new AbortController();
  const handlers = createHandlers({
    home,
    store,
    registry,
    scheduler,
    sources,
    changes,
    startedAt,
    checkBatch: createBatchCheck(hosted),
    globalFolder,
    hello: () => ({
      version: VERSION,
      protocol: PROTOCOL_VERSION,
      pid: process.pid,
      home: home.path,
      ...(stopping.signal.aborted ? { stopping: true } : {}),
    }),
    runs,
    runners: () => statsOf(runners),
    metrics: () =>
      base.observation.text({
        store,
        status: () => handlers.status({}),
        lanes: () => [...registry.all(), ...runs.workflows.all()],
      }),
    webhookPort: () => sources.webhookPort(),
    requestStop: options.requestStop,
  });
  // Released before the scheduler drains: what arrives meanwhile is refused.
  releasers.add("requests", () => stopping.abort());
  const { acceptManagers, commit } = handlers;
  const syncs = createSyncs(base, parts, { acceptManagers, commit });
  const dispatch = createDispatch({
    handlers: {
      ...handlers,
      ...watchedBySyncs(handlers, syncs),
      ...syncHandlers(syncs, store),
      ...runs.handlers,
    },
    sources: { store, runs: store, changes, clock, syncs },
    log,
    stopping: stopping.signal,
  });
  return { dispatch, syncs };
}

/** Sync, which reaches the store as clients do. */
function createSyncs(
  { clock, log, releasers, globalFolder }: Base,
  { store, runs, changes }: Pick<Parts, "store" | "runs" | "changes">,
  { acceptManagers, commit }: Pick<Handlers, "acceptManagers" | "commit">,
): Syncs {
  const resolver = openWarmResolver();
  releasers.add("resolver", () => resolver.close());
  const syncs = new Syncs({
    store,
    target: {
      snapshot: (project) => store.snapshot(project),
      specs: (uids) => store.specs(uids),
      acceptManagers: (project, proposals) => acceptManagers({ project, proposals }),
      acceptWorkflows: (project, proposals) =>
        runs.handlers.acceptWorkflows({ project, proposals }),
      commit,
    },
    clock,
    log,
    changes,
    resolver,
    globalFolder,
    random: Math.random,
  });
  releasers.add("syncs", () => syncs.stop());
  return syncs;
}

/**
 * The socket. Released after the scheduler, though it opens last: while passes drain, clients can
 * still see that the server stops, instead of meeting a lock without a server.
 */
function createDoor({ home, releasers, startedAt }: Base): { open(to: Dispatch): Promise<void> } {
  let close = async (): Promise<void> => {};
  releasers.add("socket", () => close());
  return {
    async open(dispatch) {
      const socket = placeSocket(home);
      const { pid } = process;
      const closeHttp = await serveHttp({ dispatch, socket });
      close = async () => {
        removeInfo(home);
        await closeHttp();
      };
      writeInfo(home, { pid, version: VERSION, protocol: PROTOCOL_VERSION, startedAt, socket });
    },
  };
}

/** What goes on beside requests and passes. */
function attend(
  { options, home, clock, log, releasers }: Base,
  {
    dispatch,
    syncs,
    sources,
    ...parts
  }: Parts & { dispatch: Dispatch; syncs: Syncs; sources: OpenSources },
): void {
  const { store, registry, runs, scheduler } = parts;
  releasers.add("housekeeping", keepHouse(store, clock, log));
  const named = [...registry.all(), ...runs.workflows.all()].map(({ digest }) => digest);
  void runs
    .digestsInUse()
    .then((used) => removeStaleBundles(home, [...named, ...used], clock.now()))
    .catch((error: unknown) => log.warn("Old bundles could not be removed", { error }));
  const { idleExitMs, requestStop } = options;
  if (idleExitMs === undefined) return;
  const isIdle = (): boolean =>
    dispatch.open() === 0 && scheduler.isIdle() && !syncs.any() && !sources.any();
  releasers.add(
    "idle watch",
    watchIdle({
      clock,
      afterMs: idleExitMs,
      isIdle,
      lastUsedAt: () => dispatch.lastUsedAt(),
      onIdle: () => {
        log.info("The server stops: nothing to do and no clients", { idleExitMs });
        requestStop();
      },
    }),
  );
}
