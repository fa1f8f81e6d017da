import { randomUUID } from "node:crypto";
import { fingerprint, type Json } from "../model/canonical.ts";
import { mergeConditions, type Condition } from "../model/condition.ts";
import type { StoredEffect } from "../model/effect.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { EventInput } from "../model/event.ts";
import type { PassResult } from "../model/pass.ts";
import { backoffMs, type WakeCause } from "../model/queue.ts";
import type { ManagedResource } from "../model/resource.ts";
import type { ChildRun, ChildRunRequest } from "../model/workflow-scheduler.ts";
import type { ResourceManager, SchemaLike } from "../resource-managers/define.ts";
import { startPass } from "../runner/pass.ts";
import type { PassHost } from "../runner/port.ts";
import { VirtualClock } from "./clock.ts";
import { Crash, type CrashPoint } from "./crash.ts";
import { TestLedger } from "./ledger.ts";

/** What a test of a manager begins with. */
export type ManagerTestOptions<TSpec> = {
  spec: TSpec;
  /** Default `test`. */
  key?: string;
  /** Default `/project`. */
  project?: string;
  /** The clock of the passes; it moves by itself to when the next pass is due. */
  clock?: VirtualClock;
};

/** How a pass ended; `crashed` where the test let its process die. */
export type PassEnd = PassResult | { kind: "crashed" };

/**
 * One resource of a manager in memory, pass by pass: the runtime's own pass, context and effects, over
 * a ledger, child runs and a clock that the test can look at. Between passes the resource is what the
 * store would hold.
 */
export class ManagerTest<TSpec, TStatus> {
  readonly clock: VirtualClock;
  readonly ledger: TestLedger;
  /** How each pass ended. */
  readonly passes: PassEnd[] = [];
  readonly events: EventInput[] = [];
  readonly logs: unknown[][] = [];
  /** What was asked of each child run, and what has come of it, by request key. */
  readonly requests = new Map<string, ChildRunRequest>();
  readonly runs = new Map<string, ChildRun>();
  /** False: runs that are cancelled have something to undo, and go on until `endRun`. */
  endsCancelled = true;
  /** True once the last finalizer of a deleted resource was removed. */
  isRemoved = false;
  /** The next pass dies there, once. */
  crashAt: CrashPoint | undefined;
  #resource: ManagedResource<TSpec, TStatus>;
  #dueAt = 0;
  #failures = 0;
  readonly #manager: ResourceManager<TSpec, TStatus>;
  readonly #project: string;

  constructor(manager: ResourceManager<TSpec, TStatus>, options: ManagerTestOptions<TSpec>) {
    const { key = "test", project = "/project", clock = new VirtualClock() } = options;
    const spec = parse(manager.spec, options.spec);
    const uid = randomUUID();
    this.clock = clock;
    this.ledger = new TestLedger(uid, clock.now);
    this.#manager = manager;
    this.#project = project;
    this.#resource = {
      metadata: {
        uid,
        resourceManager: manager.name,
        key,
        resourceVersion: 1,
        generation: 1,
        finalizers: [],
      },
      spec,
      status: {
        observedGeneration: 0,
        conditions: [],
        resourceManagerStatus: manager.initialStatus(spec),
      },
    };
  }

  /** As the next pass will read it. */
  get resource(): ManagedResource<TSpec, TStatus> {
    return structuredClone(this.#resource);
  }

  get status(): TStatus {
    return this.#resource.status.resourceManagerStatus;
  }

  get effects(): StoredEffect[] {
    return [...this.ledger.effects.values()];
  }

  /** Until the next pass is due by what the last one asked for. Milliseconds. */
  get dueInMs(): number {
    return Math.max(0, this.#dueAt - this.clock.monotonic());
  }

  condition(type: string): Condition | undefined {
    return this.#resource.status.conditions.find((condition) => condition.type === type);
  }

  /** `Ready`'s status and reason in one word: `false/Draft`; `none` before the first. */
  get ready(): string {
    const ready = this.condition("Ready");
    return ready ? `${ready.status}/${ready.reason}` : "none";
  }

  /** A new generation, as an edited spec file makes it. */
  change(spec: TSpec): void {
    const { metadata } = this.#resource;
    this.#resource = {
      ...this.#resource,
      metadata: { ...metadata, generation: metadata.generation + 1 },
      spec: parse(this.#manager.spec, spec),
    };
  }

  /** Requests deletion: with no finalizer the resource is gone at once. */
  delete(): void {
    const { metadata } = this.#resource;
    const deletionTimestamp = new Date(this.clock.now()).toISOString();
    const generation = metadata.generation + 1;
    this.#resource = {
      ...this.#resource,
      metadata: { ...metadata, deletionTimestamp, generation },
    };
    this.isRemoved = metadata.finalizers.length === 0;
  }

  /** How a child run ends, or where it stands. */
  endRun(requestKey: string, state: ChildRun["state"], output?: Json): void {
    const run = this.runs.get(requestKey);
    if (run === undefined) throw new Error(`no child run ${requestKey} was asked for`);
    this.runs.set(requestKey, { ...run, state, ...(output === undefined ? {} : { output }) });
  }

  /**
   * Runs one pass, when it is due: the clock moves there first. `cause` is what the manager is told
   * of; a pass for another reason than its time begins at once.
   */
  async pass(cause: WakeCause = "requeue", signal?: AbortSignal): Promise<PassEnd> {
    if (this.isRemoved) throw new Error("the resource is gone");
    if (cause === "requeue") await this.clock.advance(this.dueInMs);
    const crash = new Crash(this.crashAt);
    this.crashAt = undefined;
    const { result, abandon } = startPass(this.#manager, {
      pass: {
        reconcileId: randomUUID(),
        project: this.#project,
        manager: { name: this.#manager.name, digest: "", deadlineMs: 60_000 },
        resource: this.resource,
        event: { cause },
      },
      host: this.#host(crash),
      signal: signal ?? new AbortController().signal,
      now: this.clock.now,
    });
    const end = await Promise.race([result, crash.died.then((): PassEnd => ({ kind: "crashed" }))]);
    if (end.kind === "crashed") abandon();
    this.passes.push(end);
    this.#settle(end);
    return end;
  }

  /** Passes until `done`. @throws Error after `most` passes, with how the last of them ended */
  async until(done: () => boolean, most = 25): Promise<void> {
    for (let count = 0; count < most; count += 1) {
      await this.pass();
      if (done()) return;
      if (this.isRemoved) break;
    }
    const last = this.passes.slice(-4).map((end) => JSON.stringify(end).slice(0, 400));
    throw new Error(`not done after ${most} passes: ${this.ready}\n${last.join("\n")}`);
  }

  #settle(end: PassEnd): void {
    const isFailure = end.kind === "failed" || end.kind === "crashed" || end.kind === "parked";
    this.#failures = isFailure ? this.#failures + 1 : 0;
    const delayMs =
      end.kind === "requeueAfter" ? end.delayMs : isFailure ? backoffMs(this.#failures, 0.5) : 0;
    this.#dueAt = this.clock.monotonic() + delayMs;
    if (isFailure) return;
    const { metadata, status } = this.#resource;
    const { generation } = metadata;
    const now = this.clock.now();
    this.#resource = {
      ...this.#resource,
      metadata: { ...metadata, resourceVersion: metadata.resourceVersion + 1 },
      status: {
        ...status,
        observedGeneration: generation,
        conditions: mergeConditions(status.conditions, end.conditions ?? [], generation, now),
        resourceManagerStatus: (end.resourceManagerStatus ??
          status.resourceManagerStatus) as TStatus,
      },
    };
  }

  #host(crash: Crash): PassHost {
    return {
      beginEffect: async (request) => {
        const decision = this.ledger.begin(request, this.#resource.metadata.generation);
        if (decision.next === "call") await crash.at("effect-pending");
        return decision;
      },
      settleEffect: async (settlement) => {
        await crash.at("provider-answered");
        const effect = this.ledger.settle(settlement);
        await crash.at("effect-settled");
        return effect;
      },
      setFinalizer: async (name, present) => this.#setFinalizer(name, present),
      emitEvent: async (event) => void this.events.push(event),
      ensureWorkflow: async (request) => this.#ensureRun(request),
      getWorkflow: async (requestKey) => this.runs.get(requestKey),
      cancelWorkflow: async (requestKey) => {
        const run = this.runs.get(requestKey);
        const isOpen = run !== undefined && run.state !== "succeeded" && run.state !== "failed";
        if (isOpen && this.endsCancelled) this.endRun(requestKey, "failed");
        return this.runs.get(requestKey);
      },
      log: (...line) => void this.logs.push(line),
    };
  }

  /** @throws PiWorkflowsError DELETING for a new one of a resource that is being deleted (D-3) */
  #setFinalizer(name: string, present: boolean): void {
    const { metadata } = this.#resource;
    const others = metadata.finalizers.filter((one) => one !== name);
    if (present && metadata.deletionTimestamp !== undefined) {
      throw new PiWorkflowsError("DELETING", `${metadata.key} is being deleted`);
    }
    const finalizers = present ? [...others, name] : others;
    this.#resource = { ...this.#resource, metadata: { ...metadata, finalizers } };
    this.isRemoved = metadata.deletionTimestamp !== undefined && finalizers.length === 0;
  }

  /** @throws PiWorkflowsError RUN_CONFLICT for another request under the key */
  #ensureRun(request: ChildRunRequest): ChildRun {
    const { requestKey } = request;
    const known = this.requests.get(requestKey);
    if (known && fingerprint(known) !== fingerprint(request)) {
      throw new PiWorkflowsError("RUN_CONFLICT", `child run ${requestKey} has another input`);
    }
    this.requests.set(requestKey, request);
    const run: ChildRun = this.runs.get(requestKey) ?? {
      requestId: requestKey,
      runId: randomUUID(),
      state: "running",
      attempt: 1,
    };
    this.runs.set(requestKey, run);
    return { ...run };
  }
}

/** Tests a manager in memory. @throws ZodError where the spec does not fit its schema */
export function testManager<TSpec, TStatus>(
  manager: ResourceManager<TSpec, TStatus>,
  options: ManagerTestOptions<TSpec>,
): ManagerTest<TSpec, TStatus> {
  return new ManagerTest(manager, options);
}

/** The spec as the manager's own schema completes it, where that is zod's. */
function parse<TSpec>(schema: SchemaLike<TSpec> | undefined, spec: TSpec): TSpec {
  if (schema === undefined || !("parse" in schema) || typeof schema.parse !== "function") {
    return spec;
  }
  return (schema.parse as (value: unknown) => TSpec)(spec);
}
