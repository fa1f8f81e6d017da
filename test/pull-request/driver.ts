import { randomUUID } from "node:crypto";
import { GitHubClient } from "../../examples/pull-request/.pi/resource-managers/pull-request/github-client.ts";
import { reconcile } from "../../examples/pull-request/.pi/resource-managers/pull-request/reconcile.ts";
import type { Settings } from "../../examples/pull-request/.pi/resource-managers/pull-request/settings.ts";
import {
  pullRequestSpec,
  type PullRequestSpecInput,
} from "../../examples/pull-request/.pi/resource-managers/pull-request/spec.ts";
import {
  initialStatus,
  type PullRequestStatus,
} from "../../examples/pull-request/.pi/resource-managers/pull-request/status.ts";
import { fingerprint } from "../../src/model/canonical.ts";
import { mergeConditions, type Condition } from "../../src/model/condition.ts";
import type { StoredEffect } from "../../src/model/effect.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import type { PassResult } from "../../src/model/pass.ts";
import type { ManagedResource } from "../../src/model/resource.ts";
import type { ChildRun, ChildRunRequest } from "../../src/model/workflow-scheduler.ts";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { startPass } from "../../src/runner/pass.ts";
import type { PassHost } from "../../src/runner/port.ts";

/** What the process dies at, in one pass; nothing of that pass after it is kept. */
export type Crash = "pending-written" | "answer-received" | "outcome-written";

class Killed extends Error {}

type Options = {
  spec: PullRequestSpecInput;
  token?: string;
  timeoutMs?: number;
  settleMs?: number;
};

/**
 * Runs passes of the manager, with the runtime's own pass and effects over a ledger in memory, and
 * a clock that jumps to the next pass. Everything that leaves it is kept, to be searched for
 * secrets.
 */
export class Driver {
  now = Date.parse("2026-03-02T12:00:00Z");
  readonly ledger = new Map<string, StoredEffect>();
  /** Child runs by request key, and what was asked of each; a test says how they end. */
  readonly runs = new Map<string, ChildRun>();
  readonly requests = new Map<string, ChildRunRequest>();
  readonly logs: unknown[] = [];
  /** How each pass ended, a crash as its own kind. */
  readonly outcomes: (PassResult | { kind: "crashed" })[] = [];
  crash: Crash | undefined;
  abort = new AbortController();
  #resource: ManagedResource;
  readonly #options: Options;
  #failures = 0;
  #sequence = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#resource = {
      metadata: {
        uid: randomUUID(),
        resourceManager: "pull-request",
        key: `${options.spec.repository}#${options.spec.number}`,
        resourceVersion: 1,
        generation: 1,
        finalizers: [],
      },
      spec: pullRequestSpec.parse(options.spec),
      status: { observedGeneration: 0, conditions: [], resourceManagerStatus: initialStatus() },
    };
  }

  get status(): PullRequestStatus {
    return this.#resource.status.resourceManagerStatus as PullRequestStatus;
  }

  get uid(): string {
    return this.#resource.metadata.uid;
  }

  condition(type: string): Condition | undefined {
    return this.#resource.status.conditions.find((condition) => condition.type === type);
  }

  /** `Ready`'s status and reason in one word: `false/Draft`. */
  get ready(): string {
    const ready = this.condition("Ready");
    return ready ? `${ready.status}/${ready.reason}` : "none";
  }

  effects(kind = "github-merge"): StoredEffect[] {
    return [...this.ledger.values()].filter((effect) => effect.kind === kind);
  }

  get finalizers(): readonly string[] {
    return this.#resource.metadata.finalizers;
  }

  /** Asks for the resource's deletion. */
  delete(): void {
    const { metadata } = this.#resource;
    const deletionTimestamp = new Date(this.now).toISOString();
    this.#resource = { ...this.#resource, metadata: { ...metadata, deletionTimestamp } };
  }

  /** How a child run ends. */
  end(requestKey: string, output: unknown, state: "succeeded" | "failed" = "succeeded"): void {
    const run = this.runs.get(requestKey);
    if (run === undefined) throw new Error(`no run ${requestKey}`);
    this.runs.set(requestKey, { ...run, state, output: output as never });
  }

  /** A new generation. */
  change(changes: Partial<PullRequestSpecInput>): void {
    const { metadata, spec } = this.#resource;
    this.#resource = {
      ...this.#resource,
      metadata: { ...metadata, generation: metadata.generation + 1 },
      spec: pullRequestSpec.parse({ ...(spec as PullRequestSpecInput), ...changes }),
    };
  }

  /** Runs one pass and puts the clock where the next one is due. */
  async pass(): Promise<PassResult | { kind: "crashed" }> {
    let kill: (reason: Killed) => void = () => undefined;
    const killed = new Promise<never>((_resolve, reject) => (kill = reject));
    killed.catch(() => undefined);
    const { result, abandon } = startPass(this.#manager(), {
      pass: {
        reconcileId: randomUUID(),
        project: "/project",
        manager: { name: "pull-request", digest: "", deadlineMs: 60_000 },
        resource: structuredClone(this.#resource),
        event: { cause: "spec-changed" as never },
      },
      host: this.#host((reason) => kill(reason)),
      signal: this.abort.signal,
      now: () => this.now,
    });
    const outcome = await Promise.race([result, killed]).catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
      abandon();
      return { kind: "crashed" as const };
    });
    this.outcomes.push(outcome);
    this.#settle(outcome);
    return outcome;
  }

  /** Passes until `done`, or until `most` of them were in vain. */
  async until(done: () => boolean, most = 25): Promise<void> {
    for (let count = 0; count < most; count += 1) {
      await this.pass();
      if (done()) return;
    }
    const last = this.outcomes.slice(-4).map((outcome) => JSON.stringify(outcome).slice(0, 400));
    throw new Error(`not done after ${most} passes: ${this.ready}\n${last.join("\n")}`);
  }

  /** Everything that a person or a log could come to see. */
  get everything(): string {
    return JSON.stringify([this.#resource, [...this.ledger.values()], this.logs, this.outcomes]);
  }

  #settle(outcome: PassResult | { kind: "crashed" }): void {
    if (!("conditions" in outcome) && !("resourceManagerStatus" in outcome)) {
      const isRequeued = outcome.kind === "requeueAfter";
      this.now += isRequeued ? outcome.delayMs : 1_000 * 2 ** Math.min(this.#failures, 6);
      this.#failures = isRequeued ? 0 : this.#failures + 1;
      return;
    }
    this.#failures = 0;
    const { metadata, status } = this.#resource;
    this.#resource = {
      ...this.#resource,
      status: {
        ...status,
        observedGeneration: metadata.generation,
        conditions: mergeConditions(
          status.conditions,
          outcome.conditions ?? [],
          metadata.generation,
          this.now,
        ),
        resourceManagerStatus: outcome.resourceManagerStatus ?? status.resourceManagerStatus,
      },
    };
    this.now += outcome.kind === "requeueAfter" ? outcome.delayMs : 1;
  }

  #manager() {
    const { token = "loopback", timeoutMs = 20_000, settleMs = 30_000 } = this.#options;
    const settings: Settings = {
      pollMs: Number.POSITIVE_INFINITY,
      settleMs,
      connect: (apiUrl) =>
        Promise.resolve(
          new GitHubClient({
            apiUrl,
            token,
            writeSpacingMs: 0,
            timeoutMs,
            retryMs: 1,
            now: () => this.now,
          }),
        ),
    };
    return defineResourceManager({
      name: "pull-request",
      initialStatus,
      reconcile: (ctx, resource) => reconcile(ctx as never, resource as never, settings) as never,
    });
  }

  #host(kill: (reason: Killed) => void): PassHost {
    const die = async (): Promise<never> => {
      this.crash = undefined;
      kill(new Killed("killed"));
      return new Promise<never>(() => undefined);
    };
    return {
      beginEffect: async ({ key, kind, request, provenAbsent }) => {
        const decision = this.#begin({ key, kind, request, provenAbsent });
        if (decision.next === "call" && this.crash === "pending-written") await die();
        return decision;
      },
      settleEffect: async ({ key, outcome }) => {
        if (this.crash === "answer-received") await die();
        const effect = this.ledger.get(key);
        if (!effect) throw new Error(`no effect ${key}`);
        const { park = false, ...rest } = outcome as typeof outcome & { park?: boolean };
        const settled: StoredEffect = {
          ...effect,
          ...rest,
          parked: park,
          completedAt: new Date(this.now).toISOString(),
        };
        this.ledger.set(key, settled);
        if (this.crash === "outcome-written") await die();
        return settled;
      },
      setFinalizer: (name, present) => {
        const { metadata } = this.#resource;
        const others = metadata.finalizers.filter((one) => one !== name);
        const finalizers = present ? [...others, name] : others;
        this.#resource = { ...this.#resource, metadata: { ...metadata, finalizers } };
        return Promise.resolve();
      },
      emitEvent: () => Promise.resolve(),
      ensureWorkflow: (request) => Promise.resolve(this.#ensure(request)),
      getWorkflow: (requestKey) => Promise.resolve(this.runs.get(requestKey)),
      cancelWorkflow: (requestKey) => {
        const run = this.runs.get(requestKey);
        if (run?.state === "running") run.state = "failed";
        return Promise.resolve(run);
      },
      log: (level, message, fields) => this.logs.push([level, message, fields]),
    };
  }

  #ensure(request: ChildRunRequest): ChildRun {
    const { requestKey } = request;
    const known = this.requests.get(requestKey);
    if (known && fingerprint(known) !== fingerprint(request)) {
      throw new PiWorkflowsError("RUN_CONFLICT", `run ${requestKey} has another input`);
    }
    this.requests.set(requestKey, request);
    const run = this.runs.get(requestKey) ?? {
      requestId: requestKey,
      runId: randomUUID(),
      state: "running" as const,
      attempt: 1,
    };
    this.runs.set(requestKey, run);
    return { ...run };
  }

  #begin(asked: Parameters<PassHost["beginEffect"]>[0]) {
    const requestFingerprint = fingerprint(asked.request);
    const known = this.ledger.get(asked.key);
    if (known && known.requestFingerprint !== requestFingerprint) {
      throw new PiWorkflowsError("EFFECT_CONFLICT", `effect ${asked.key} has another request`);
    }
    if (known?.state === "applied" || known?.state === "rejected") {
      return { next: "done" as const, effect: known };
    }
    if (known && !asked.provenAbsent) return { next: "observe" as const, effect: known };
    const effect: StoredEffect = {
      key: asked.key,
      kind: asked.kind,
      request: asked.request,
      requestFingerprint,
      resourceUid: this.uid,
      generation: this.#resource.metadata.generation,
      state: "pending",
      startedAt: new Date(this.now).toISOString(),
      attempts: (known?.attempts ?? 0) + 1,
      parked: false,
      sequence: (this.#sequence += 1),
    };
    this.ledger.set(asked.key, effect);
    return { next: "call" as const, effect };
  }
}
