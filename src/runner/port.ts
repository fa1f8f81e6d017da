import type { EffectDecision, EffectOutcome, StoredEffect } from "../model/effect.ts";
import type { EventInput } from "../model/event.ts";
import type { ResolvedManager } from "../model/manifest.ts";
import type { PassOutcome, RunnerFault } from "../model/pass.ts";
import type { LogFields } from "../model/ports.ts";
import type { WakeCause } from "../model/queue.ts";
import type { ManagedResource } from "../model/resource.ts";
import type { ChildRun, ChildRunRequest } from "../model/workflow-scheduler.ts";
import type { Json } from "../model/canonical.ts";
import type { RunExecutor } from "./run-port.ts";

/** One pass to run: everything the runner may know. */
export type PassRequest = {
  reconcileId: string;
  project: string;
  manager: Pick<ResolvedManager, "name" | "digest" | "deadlineMs">;
  resource: ManagedResource;
  event: { cause: WakeCause };
};

/**
 * What a pass may ask of the server while it runs; the implementation adds the claim (F-1), so a
 * runner can't write for another. Rejections reach the author's code as thrown errors.
 */
export type PassHost = {
  beginEffect(request: {
    key: string;
    kind: string;
    request: Json;
    provenAbsent: boolean;
  }): Promise<EffectDecision>;
  settleEffect(settlement: {
    key: string;
    requestFingerprint: string;
    outcome: EffectOutcome;
  }): Promise<StoredEffect>;
  setFinalizer(name: string, present: boolean): Promise<void>;
  emitEvent(event: EventInput): Promise<void>;
  ensureWorkflow(request: ChildRunRequest): Promise<ChildRun>;
  /** The resource's run under this request key, and the same after asking that it be cancelled. */
  getWorkflow(requestKey: string): Promise<ChildRun | undefined>;
  cancelWorkflow(requestKey: string): Promise<ChildRun | undefined>;
  log(level: "debug" | "info" | "warn" | "error", message: string, fields?: LogFields): void;
  /**
   * Secret values of the resource's spec, longest first. The host masks them in what the pass sends;
   * the runner masks them in what else it tells of the pass: the output of its process.
   */
  secrets?: readonly string[];
};

/** A question to one source of a definition: which keys is this about? */
export type MapRequest = {
  project: string;
  manager: Pick<ResolvedManager, "name" | "digest">;
  /** Index in the definition's sources. */
  source: number;
  input: MapInput;
  deadlineMs: number;
};
export type MapInput =
  /** Relative to the project. */
  | { kind: "files"; paths: string[] }
  | { kind: "watch"; resource: ManagedResource; removed: boolean }
  | { kind: "webhook"; headers: Record<string, string>; body: string };

/** What a map may ask of the server. */
export type MapHost = Pick<PassHost, "log">;

/** What the author's function made of it; `invalid` where it returned what are no keys. */
export type MapResult =
  | { kind: "keys"; keys: string[] }
  | { kind: "refused"; message: string }
  | { kind: "invalid"; message: string };
export type MapOutcome = MapResult | { kind: "crashed"; fault: RunnerFault; message: string };

/**
 * Runs passes. Two implementations: child processes for definitions in files, and in-process for
 * managers handed over as objects. `run` never rejects: every way to end is an outcome (P-2), and
 * when it resolves nothing of the pass is still running (F-5).
 */
export type RunnerPort = RunExecutor & {
  /**
   * Runs one pass. Whoever aborts `signal` names the fault that the outcome is to have:
   * `abort("shutdown")`. Any other reason counts as `lease-lost`.
   */
  run(pass: PassRequest, host: PassHost, signal: AbortSignal): Promise<PassOutcome>;
  /** Asks a source for keys, in the same way: it never rejects, and nothing of it runs on. */
  map(request: MapRequest, host: MapHost, signal: AbortSignal): Promise<MapOutcome>;
  /** Runners alive, for `server status`. */
  stats(): { alive: number; busy: number };
  /** Ends every runner; passes under way end as crashed with fault `shutdown`. */
  stop(): Promise<void>;
};
