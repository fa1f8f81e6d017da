import type { Json } from "../model/canonical.ts";
import type { EffectObservation, EffectRecord } from "../model/effect.ts";
import type { EventInput } from "../model/event.ts";
import type { LogFields } from "../model/ports.ts";
import type { WakeCause } from "../model/queue.ts";
import type { ChildRun, ChildRunRequest } from "../model/workflow-scheduler.ts";
import type { EffectApplied, ReconcileResult, ResultPatch } from "./results.ts";

/** One external effect that a pass wants to be true. */
export type EffectRequest = {
  /** Names the intended effect; put into it whatever makes a new intent (generation, head). */
  key: string;
  /** A word for people and filters, e.g. `github-merge`. */
  kind: string;
  /** What will be asked of the provider. Its fingerprint may not change under one key. */
  request: Json;
  /**
   * Looks whether the effect is already there. Called before every repeat, never before the first
   * call. `unknown` parks the effect; a thrown error is tried again later.
   */
  observe(signal: AbortSignal): Promise<EffectObservation>;
  /**
   * Calls the provider, once. Returns what to remember. Throw `EffectRejected` for a definitive
   * refusal; any other error means that the outcome is not known.
   */
  apply(signal: AbortSignal, call: EffectCall): Promise<EffectApplied | void>;
  /**
   * For providers that answer "not found" for a while after a write: an `absent` observation sooner
   * than this after the call proves nothing (E-7). It counts from when the call was given up, or its
   * pass was over, while the server was awake; let it cover how long a request may be on its way.
   * Milliseconds, default 0.
   */
  consistencyWindowMs?: number;
};

/** What one call of a provider may pass on so that a repeat can be told from the first. */
export type EffectCall = {
  /** Stable for all calls of this effect: an idempotency token. */
  idempotencyKey: string;
  /** 1 for the first call. */
  attempt: number;
};

/** A settled effect as `ensure` returns it. */
export type AppliedEffect = EffectRecord & { state: "applied"; result?: Json };

/** Services and facts that a pass gets besides its resource. */
export type ReconcileContext<TStatus> = {
  /** Aborts when the deadline passes, the claim is lost or the server stops. Pass it on. */
  readonly signal: AbortSignal;
  /**
   * Canonical path of the resource's project. Runners do not run there: resolve the paths of a spec
   * against it.
   */
  readonly project: string;
  /** This pass's id, as in logs and events. */
  readonly reconcileId: string;
  /** What caused this pass; a hint only, never a command. */
  readonly event: { cause: WakeCause };
  readonly effects: {
    /**
     * Makes sure that the effect has happened, effectively once.
     * @throws EffectRejected when the provider refused it, now or before.
     */
    ensure(request: EffectRequest): Promise<AppliedEffect>;
  };
  readonly workflows: {
    /**
     * Creates or finds a finite child run.
     * @throws TerminalError where this host schedules no workflows.
     */
    ensure(request: ChildRunRequest): Promise<ChildRun>;
    /**
     * The newest attempt of the run that this resource asked for under `requestKey`; undefined where
     * it asked for none.
     * @throws TerminalError where this host schedules no workflows.
     */
    get(requestKey: string): Promise<ChildRun | undefined>;
    /**
     * Asks that a run which has not ended be cancelled: it undoes what it can, then ends as failed,
     * and its end causes another pass. Returns it as it is now.
     * @throws TerminalError where this host schedules no workflows.
     */
    cancel(requestKey: string): Promise<ChildRun | undefined>;
  };
  readonly finalizers: {
    /** Durable when it resolves: add it before the first thing that needs cleaning up (D-4). */
    add(name: string): Promise<void>;
    /** Removing the last one of a deleted resource removes the resource (D-2). */
    remove(name: string): Promise<void>;
  };
  readonly events: { emit(event: EventInput): Promise<void> };
  readonly log: {
    debug(message: string, fields?: LogFields): void;
    info(message: string, fields?: LogFields): void;
    warn(message: string, fields?: LogFields): void;
    error(message: string, fields?: LogFields): void;
  };
  /** Epoch milliseconds. */
  now(): number;
  /** Done until something changes. */
  settled(patch?: ResultPatch<TStatus>): ReconcileResult<TStatus>;
  /** Look again as soon as there is room. */
  requeue(patch?: ResultPatch<TStatus>): ReconcileResult<TStatus>;
  /** Look again after `delayMs` at the latest; sooner if something happens. */
  requeueAfter(delayMs: number, patch?: ResultPatch<TStatus>): ReconcileResult<TStatus>;
};
