import { canonicalJson } from "../model/canonical.ts";
import type { EventInput } from "../model/event.ts";
import { byteLength, LIMITS } from "../model/limits.ts";
import type { LogFields } from "../model/ports.ts";
import type { ChildRunRequest } from "../model/workflow-scheduler.ts";
import type { ReconcileContext } from "../resource-managers/context.ts";
import type { ResultPatch } from "../resource-managers/results.ts";
import type { EffectHold } from "./effects.ts";
import { createGate } from "./gate.ts";
import { clean } from "./message.ts";
import { createPassEffects } from "./pass-effects.ts";
import type { PassHost, PassRequest } from "./port.ts";
import { checkDelay } from "./result.ts";

/** A pass's context, with what the runner must know when the author's function has ended. */
export type PassContext = {
  ctx: ReconcileContext<unknown>;
  /** Resolves when nothing that the author started through the context is under way. */
  quiet: () => Promise<void>;
  /** The effect past which the pass could not go, where there is one still open. */
  hold: () => EffectHold | undefined;
  /**
   * Ends the context: everything asked of it later is refused. Only the outcome of a provider call
   * that was under way still reaches the host, which decides whether it counts (E-10).
   */
  close: () => void;
};

/** What a context is made from. */
export type ContextOptions = {
  pass: PassRequest;
  host: PassHost;
  signal: AbortSignal;
  now: () => number;
};

/** Builds the one context that both transports hand to `reconcile`. */
export function createContext({ pass, host, signal, now }: ContextOptions): PassContext {
  const gate = createGate(pass.reconcileId);
  const log =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      if (gate.isOpen()) host.log(level, clean(message), fields);
    };
  const effects = createPassEffects({
    signal,
    host: {
      beginEffect: async (request) => {
        gate.check();
        return host.beginEffect(request);
      },
      settleEffect: (settlement) => host.settleEffect(settlement),
      log: (level, message, fields) => log(level)(message, fields),
    },
  });
  const setFinalizer = (name: string, present: boolean) =>
    gate.pass(async () => host.setFinalizer(checkFinalizer(name), present));

  const ctx: ReconcileContext<unknown> = {
    signal,
    project: pass.project,
    reconcileId: pass.reconcileId,
    event: { cause: pass.event.cause },
    effects: {
      ensure: (request) => {
        const ensured = gate.pass(() => effects.ensure(request));
        // What holds the pass is remembered: an author who does not await it must not bring down the
        // process of a host program with an unhandled rejection.
        ensured.catch(() => {});
        return ensured;
      },
    },
    workflows: {
      ensure: (request) => gate.pass(async () => host.ensureWorkflow(checkChildRun(request))),
      get: (requestKey) =>
        gate.pass(async () => host.getWorkflow(checkRequestKey("get", requestKey))),
      cancel: (requestKey) =>
        gate.pass(async () => host.cancelWorkflow(checkRequestKey("cancel", requestKey))),
    },
    finalizers: {
      add: (name) => setFinalizer(name, true),
      remove: (name) => setFinalizer(name, false),
    },
    events: { emit: (event) => gate.pass(async () => host.emitEvent(checkEvent(event))) },
    log: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
    now,
    ...RESULTS,
  };
  return { ctx: Object.freeze(ctx), hold: effects.hold, quiet: gate.quiet, close: gate.close };
}

type LogLevel = keyof ReconcileContext<unknown>["log"];

const RESULTS: Pick<ReconcileContext<unknown>, "settled" | "requeue" | "requeueAfter"> = {
  settled: (patch) => ({ kind: "settled", ...pick(patch) }),
  requeue: (patch) => ({ kind: "requeue", ...pick(patch) }),
  requeueAfter: (delayMs, patch) => ({
    kind: "requeueAfter",
    delayMs: checkDelay(delayMs),
    ...pick(patch),
  }),
};

function pick(patch: ResultPatch<unknown> = {}): ResultPatch<unknown> {
  const { resourceManagerStatus, conditions } = patch;
  return {
    ...(resourceManagerStatus === undefined ? {} : { resourceManagerStatus }),
    ...(conditions === undefined ? {} : { conditions }),
  };
}

function checkFinalizer(name: unknown): string {
  checkName("finalizers: a name", name, LIMITS.name);
  return name;
}

function checkChildRun({ requestKey, workflow, input }: ChildRunRequest): ChildRunRequest {
  checkRequestKey("ensure", requestKey);
  checkName("workflows.ensure: workflow", workflow, LIMITS.name);
  checkSize("workflows.ensure: input", input, LIMITS.spec);
  return { requestKey, workflow, input };
}

function checkRequestKey(method: string, requestKey: unknown): string {
  checkName(`workflows.${method}: requestKey`, requestKey, LIMITS.key);
  return requestKey;
}

function checkEvent({ type, reason, message, payload }: EventInput): EventInput {
  if (type !== "Normal" && type !== "Warning") {
    throw new TypeError(`events.emit: type must be "Normal" or "Warning", not ${String(type)}`);
  }
  checkName("events.emit: reason", reason, LIMITS.name);
  const event = { type, reason, message: clean(message) };
  if (payload === undefined) return event;
  checkSize("events.emit: payload", payload, LIMITS.eventPayload);
  return { ...event, payload };
}

function checkName(what: string, value: unknown, longest: number): asserts value is string {
  if (typeof value === "string" && value !== "" && value.length <= longest) return;
  throw new TypeError(`${what} must be text of 1 to ${longest} characters`);
}

function checkSize(what: string, value: unknown, most: number): void {
  const bytes = byteLength(canonicalJson(value));
  if (bytes > most) throw new TypeError(`${what} has ${bytes} bytes of JSON, at most ${most}`);
}
