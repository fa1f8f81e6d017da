import { realpathSync } from "node:fs";
import type { AgentPort } from "../model/agent.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { Manifest } from "../model/manifest.ts";
import type { ApplyReceipt } from "../model/plan.ts";
import type { Clock, Ids, Log, Probe } from "../model/ports.ts";
import type { WorkflowScheduler } from "../model/workflow-scheduler.ts";
import type { ResourceManager } from "../resource-managers/define.ts";
import type { ResourceManagerStore } from "../store/store.ts";
import { serve, type Running } from "./serve.ts";
import { clientOver, type Client, type Transport } from "./protocol.ts";

export { PiWorkflowsError, type ErrorCode } from "../model/errors.ts";
export type { Client } from "./protocol.ts";
export { connect, type ConnectOptions } from "./client.ts";

/** What a server is made of; everything has a default. */
export type ServerOptions = {
  /** The state folder. Default `PI_WORKFLOWS_HOME` or `~/.pi/agent/workflows`. */
  home?: string;
  /** A store to use in place of the state folder's database; whoever made it closes it. */
  store?: ResourceManagerStore;
  /**
   * Managers that run in this process, through the same scheduler, claims and ledger as those in
   * files.
   */
  managers?: readonly ResourceManager[];
  /** The project that these managers belong to: its canonical path. Default the working folder. */
  project?: string;
  /** Starts the finite workflows of `ctx.workflows` in place of this server. */
  workflows?: WorkflowScheduler;
  /** What agents of workflows are. Default the real Pi, as `config.json` says. */
  agents?: AgentPort;
  /** Where definitions for every project live. Default `~/.pi/agent/resource-managers`. */
  globalDefinitions?: string;
  /** False serves this process only, through `client`. Default true: the Unix socket too. */
  listen?: boolean;
  /** Passes at once, in all. Default LIMITS.concurrency. */
  concurrency?: number;
  /** Stops by itself after so long without work or clients. Milliseconds; default never. */
  idleExitMs?: number;
  /** How long `stop` lets running passes go on. Milliseconds; default LIMITS.drainMs. */
  drainMs?: number;
  /** Writes log lines to standard error too. Default false. */
  echo?: boolean;
  log?: Log;
  clock?: Clock;
  ids?: Ids;
  probe?: Probe;
};

/** A server as a program holds it. */
export type Server = {
  /** Resolves when it serves. Does nothing where it does. @throws SERVER_RUNNING, UNSUPPORTED */
  start(): Promise<void>;
  /** Drains and ends; resolves when nothing is left. Does nothing where it does not serve. */
  stop(): Promise<void>;
  /** Resolves when the server has stopped, for whatever reason; at once where it never started. */
  stopped(): Promise<void>;
  /**
   * Applies resources of the managers handed over: `defineResource` values, or manifests.
   * @throws INVALID_SPECS, CONFLICT
   */
  apply(resources: readonly Manifest[], options?: { owner?: string }): Promise<ApplyReceipt>;
  /** The typed client of this server, without a socket. */
  readonly client: Client;
};

/**
 * A server that is not started. One per state folder: it owns the database, schedules passes, and
 * serves clients. It never runs project code itself; managers handed over as objects are the
 * program's own.
 */
export function createServer(options: ServerOptions = {}): Server {
  const { managers = [], project = realpathSync(process.cwd()) } = options;
  let running: Running | undefined;
  let ended: Promise<void> = Promise.resolve();
  let end = (): void => {};
  // Start and stop take turns, in whatever order they are called.
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = (step: () => Promise<void>): Promise<void> => {
    const done = turn.then(step);
    turn = done.catch(() => undefined);
    return done;
  };
  const stop = (): Promise<void> =>
    inTurn(async () => {
      await running?.stop();
      running = undefined;
      end();
    });
  const start = (): Promise<void> =>
    inTurn(async () => {
      if (running) return;
      // A client that asked for it gets its answer first.
      const requestStop = (): void => void setImmediate(() => void stop());
      running = await serve({ ...options, project, requestStop });
      ended = new Promise((resolve) => (end = resolve));
    });
  const client = clientOver(whileRunning(() => running?.transport));
  return {
    start,
    stop,
    stopped: () => ended,
    async apply(resources, { owner = "program" } = {}) {
      const { applyHosted } = await import("./hosted-apply.ts");
      return applyHosted(client, { project, managers, owner }, resources);
    },
    client,
  };
}

/** A transport that is there only while the server runs. */
function whileRunning(current: () => Transport | undefined): Transport {
  const transport = (): Transport => {
    const found = current();
    if (found) return found;
    throw new PiWorkflowsError("SERVER_UNREACHABLE", "This server has not been started");
  };
  return {
    call: async (route, params) => transport().call(route, params),
    stream: (name, params, signal) => transport().stream(name, params, signal),
    close: () => Promise.resolve(),
  };
}
