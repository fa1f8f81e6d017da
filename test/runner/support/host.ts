import { fingerprint, type Json } from "../../../src/model/canonical.ts";
import {
  EFFECT_TRANSITIONS,
  type EffectDecision,
  type EffectState,
  type StoredEffect,
} from "../../../src/model/effect.ts";
import { PiWorkflowsError } from "../../../src/model/errors.ts";
import type { EventInput } from "../../../src/model/event.ts";
import type { ChildRunRequest } from "../../../src/model/workflow-scheduler.ts";
import type { ManagedResource } from "../../../src/model/resource.ts";
import type { PassHost, PassRequest } from "../../../src/runner/port.ts";
import type { LogLine } from "./pool.ts";

/** A host that keeps everything in memory, with a ledger that obeys EFFECT_TRANSITIONS. */
export type MemoryHost = PassHost & {
  effects: Map<string, StoredEffect>;
  moves: { key: string; from: EffectState | undefined; to: EffectState }[];
  events: EventInput[];
  finalizers: Set<string>;
  childRuns: ChildRunRequest[];
  lines: LogLine[];
};

export function memoryHost(now: () => number = Date.now): MemoryHost {
  const effects = new Map<string, StoredEffect>();
  const moves: MemoryHost["moves"] = [];
  const events: EventInput[] = [];
  const finalizers = new Set<string>();
  const childRuns: ChildRunRequest[] = [];
  const cancelled = new Set<string>();
  const lines: LogLine[] = [];

  const move = (effect: StoredEffect, from: EffectState | undefined): StoredEffect => {
    if (from !== undefined && !EFFECT_TRANSITIONS[from].includes(effect.state)) {
      throw new Error(`${effect.key}: ${from} → ${effect.state} is no move of the ledger`);
    }
    moves.push({ key: effect.key, from, to: effect.state });
    const stored = { ...effect, sequence: moves.length };
    effects.set(effect.key, stored);
    return stored;
  };
  const start = (
    request: { key: string; kind: string; request: Json },
    before: StoredEffect | undefined,
  ): EffectDecision => {
    const effect: StoredEffect = {
      key: request.key,
      kind: request.kind,
      request: request.request,
      resourceUid: "uid-1",
      generation: 1,
      requestFingerprint: fingerprint(request.request),
      state: "pending",
      startedAt: new Date(now()).toISOString(),
      attempts: (before?.attempts ?? 0) + 1,
      parked: false,
      sequence: 0,
    };
    return { next: "call", effect: move(effect, before?.state) };
  };

  return {
    effects,
    moves,
    events,
    finalizers,
    childRuns,
    lines,
    async beginEffect(request) {
      const before = effects.get(request.key);
      if (before === undefined) return start(request, before);
      if (before.requestFingerprint !== fingerprint(request.request)) {
        throw new PiWorkflowsError("EFFECT_CONFLICT", `effect ${request.key} has another request`);
      }
      if (before.state === "applied" || before.state === "rejected") {
        return { next: "done", effect: before };
      }
      // A pending row that a new pass finds is one whose pass died after it was written (E-6).
      const open =
        before.state === "pending"
          ? move({ ...before, state: "indeterminate" }, "pending")
          : before;
      if (request.provenAbsent) return start(request, open);
      const quietMs = now() - Date.parse(open.startedAt);
      return { next: "observe", effect: open, quietMs };
    },
    async settleEffect({ key, requestFingerprint, outcome }) {
      const before = effects.get(key);
      if (before === undefined || before.requestFingerprint !== requestFingerprint) {
        throw new Error(`no effect ${key} with that fingerprint`);
      }
      if (outcome.state === "indeterminate") {
        const { reason, park: parked } = outcome;
        const after = { ...before, state: outcome.state, reason, parked };
        if (before.state === "indeterminate") {
          effects.set(key, after);
          return after;
        }
        return move(after, before.state);
      }
      const completedAt = new Date(now()).toISOString();
      return move({ ...before, ...outcome, parked: false, completedAt }, before.state);
    },
    async setFinalizer(name, present) {
      if (present) finalizers.add(name);
      else finalizers.delete(name);
    },
    async emitEvent(event) {
      events.push(event);
    },
    async ensureWorkflow(request) {
      childRuns.push(request);
      return { requestId: `request-${request.requestKey}`, state: "running", attempt: 1 };
    },
    async getWorkflow(requestKey) {
      const known = childRuns.some((run) => run.requestKey === requestKey);
      if (!known) return undefined;
      const state = cancelled.has(requestKey) ? "failed" : "running";
      return { requestId: `request-${requestKey}`, state, attempt: 1 };
    },
    async cancelWorkflow(requestKey) {
      cancelled.add(requestKey);
      return this.getWorkflow(requestKey);
    },
    log(level, message, fields = {}) {
      lines.push({ level, message, fields });
    },
  };
}

/** A resource as a pass reads it. */
export function resourceOf(spec: unknown = {}, status: unknown = {}): ManagedResource {
  return {
    metadata: {
      uid: "uid-1",
      resourceManager: "probe",
      key: "one",
      resourceVersion: 1,
      generation: 1,
      finalizers: [],
    },
    spec,
    status: { observedGeneration: 0, conditions: [], resourceManagerStatus: status },
  };
}

let passes = 0;

/** One pass of the manager under `digest`. */
export function passOf(
  digest: string,
  {
    spec,
    deadlineMs = 10_000,
    name = "probe",
  }: { spec?: unknown; deadlineMs?: number; name?: string } = {},
): PassRequest {
  passes += 1;
  return {
    reconcileId: `pass-${passes}`,
    project: "/project",
    manager: { name, digest, deadlineMs },
    resource: resourceOf(spec),
    event: { cause: "spec" },
  };
}

export const never = (): AbortSignal => new AbortController().signal;
