import type { EventInput } from "../../../src/model/event.ts";
import type { ChildRunRequest } from "../../../src/model/workflow-scheduler.ts";
import type { ManagedResource } from "../../../src/model/resource.ts";
import type { PassHost, PassRequest } from "../../../src/runner/port.ts";
import { TestLedger } from "../../../src/testing/ledger.ts";
import type { LogLine } from "./pool.ts";

/** A host that keeps everything in memory, with the ledger of the test kit. */
export type MemoryHost = PassHost &
  Pick<TestLedger, "effects" | "moves"> & {
    events: EventInput[];
    finalizers: Set<string>;
    childRuns: ChildRunRequest[];
    lines: LogLine[];
  };

export function memoryHost(now: () => number = Date.now): MemoryHost {
  const ledger = new TestLedger("uid-1", now);
  const { effects, moves } = ledger;
  const events: EventInput[] = [];
  const finalizers = new Set<string>();
  const childRuns: ChildRunRequest[] = [];
  const cancelled = new Set<string>();
  const lines: LogLine[] = [];

  return {
    effects,
    moves,
    events,
    finalizers,
    childRuns,
    lines,
    beginEffect: async (request) => ledger.begin(request, 1),
    settleEffect: async (settlement) => ledger.settle(settlement),
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
