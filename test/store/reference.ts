import { canonicalJson, fingerprint, type Json } from "../../src/model/canonical.ts";
import type { BatchReceipt } from "../../src/model/batch.ts";
import { mergeConditions, type Condition } from "../../src/model/condition.ts";
import type { EffectDecision, EffectOutcome, StoredEffect } from "../../src/model/effect.ts";
import { PiWorkflowsError, type ErrorCode } from "../../src/model/errors.ts";
import { isWorkflowLane, workflowLane } from "../../src/model/graph.ts";
import { LIMITS } from "../../src/model/limits.ts";
import type { PassOutcome } from "../../src/model/pass.ts";
import {
  backoffMs,
  CLASS_DELAY_MS,
  classOf,
  QUEUE_CLASSES,
  type QueueClass,
  type WakeCause,
} from "../../src/model/queue.ts";
import type { Origin, ResourceRef, StoredResource } from "../../src/model/resource.ts";
import type { StoredRun } from "../../src/model/run.ts";
import type { Claim, Claimed, ClaimRequest, SettleReceipt } from "../../src/store/store.ts";
import {
  awaitedLines,
  forgetTaken,
  hasHeard,
  isAmbiguousVisit,
  isEnded,
  isHeldBack,
  lastOf,
  ordinalFor,
  PAUSED_MOVE,
  reachedVisits,
  toModelStored,
  type ModelMove,
  type ModelRun,
} from "./reference-runs.ts";
import type { ManualClock, ModelledStore } from "./support.ts";

type Resource = {
  uid: string;
  project: string;
  manager: string;
  key: string;
  version: number;
  generation: number;
  spec: string;
  specHash: string;
  status: string;
  observed: number;
  conditions: Condition[];
  finalizers: string[];
  deletedAt?: number;
  removed: boolean;
  suspended: boolean;
  origin: Origin;
  labels: Record<string, string>;
  dependsOn: string[];
  prunable: boolean;
  createdAt: number;
  updatedAt: number;
  /** The generations for which it was given up: by a terminal error, by too many crashes. */
  terminalAt?: number;
  stalledAt?: number;
  effects: (StoredEffect & { token: string })[];
  /** Present where it is a run; and the run that it asked for last. */
  run?: ModelRun;
  current?: Resource;
};
type RunResource = Resource & { run: ModelRun };

/** What is wanted of a key: when, how urgently, why, and when that was said. */
type Wish = { at: number; class: QueueClass; cause: WakeCause; order: number };
type Running = {
  claim: Claim;
  cause: WakeCause;
  at: number;
  expiresAt: number;
  read: number;
  dirty: boolean;
};
type Entry = {
  resource: Resource;
  wish: Wish | undefined;
  running: Running | undefined;
  attempts: number;
  crashes: number;
  backoffUntil: number | undefined;
};

const fail = (code: ErrorCode): never => {
  throw new PiWorkflowsError(code, code);
};

/**
 * What the store must do, said as plainly as possible: arrays searched from end to end, every rule
 * once. It knows nothing of limits, durability, events or speed.
 */
export class ReferenceStore implements ModelledStore {
  readonly #clock: ManualClock;
  #count = 0;
  #epoch = 0;
  #lanes: { project: string; manager: string; accepted: boolean; workflow?: Workflow }[] = [];
  #resources: Resource[] = [];
  #queue: Entry[] = [];
  #settled = new Map<string, SettleReceipt>();
  #removedBy = new Map<string, Resource>();

  /** When the pass that may have called an effect was over, by the monotonic clock. */
  readonly #left = new WeakMap<StoredEffect, number>();

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  async beginEpoch() {
    this.#epoch += 1;
    const lost = this.#queue.filter((entry) => entry.running).sort(asClaimed);
    for (const entry of lost) this.#loseClaim(entry, "the server ended during the pass");
    return { epoch: this.#epoch, recovered: lost.length };
  }

  async acceptManager(project: string, manager: Parameters<ModelledStore["acceptManager"]>[1]) {
    if (isWorkflowLane(manager.name)) fail("BAD_REQUEST");
    const lane = this.#lane(project, manager.name);
    const found = this.#lanes[lane - 1];
    if (found) found.accepted = true;
    return { ...manager, lane, project, acceptedAt: this.#clock.now() };
  }

  async applyBatch(batch: Parameters<ModelledStore["applyBatch"]>[0]): Promise<BatchReceipt> {
    for (const change of batch.changes) {
      if (isWorkflowLane(change.manager)) fail("BAD_REQUEST");
      const found = this.#live(batch.project, change.manager, change.key);
      if (found?.deletedAt !== undefined && change.kind !== "prune") fail("DELETING");
      if ((found?.version ?? 0) !== change.expected) fail("STALE");
    }
    const items = batch.changes.map((change) => {
      const found = this.#live(batch.project, change.manager, change.key);
      const resource =
        change.kind === "prune"
          ? this.#requestDeletion(found as Resource)
          : found
            ? this.#update(found, change.write)
            : this.#create(batch.project, change.manager, change.key, change.write);
      return {
        manager: change.manager,
        key: change.key,
        uid: resource.uid,
        generation: resource.generation,
        resourceVersion: resource.version,
        removed: resource.removed,
      };
    });
    return { revision: this.#count, items };
  }

  async delete({ ref, force, expected }: Parameters<ModelledStore["delete"]>[0]) {
    const resource = this.#byRef(ref) ?? fail("NOT_FOUND");
    if (expected !== undefined && expected !== resource.version) fail("STALE");
    const finalizers = [...resource.finalizers];
    if (force === true) {
      if (resource.deletedAt === undefined) resource.generation += 1;
      resource.deletedAt ??= this.#clock.now();
      resource.finalizers = [];
      this.#remove(resource);
      this.#cancelChildren(resource);
    } else {
      this.#requestDeletion(resource);
    }
    return {
      uid: resource.uid,
      removed: resource.removed,
      finalizers,
      unsettledEffects: resource.removed ? resource.effects.filter(isOpen).map(withoutToken) : [],
    };
  }

  async suspend(ref: ResourceRef, suspended: boolean): Promise<StoredResource> {
    const resource = this.#byRef(ref) ?? fail("NOT_FOUND");
    if (suspended && resource.deletedAt !== undefined) fail("DELETING");
    if (resource.suspended !== suspended) {
      resource.suspended = suspended;
      this.#changed(resource);
      if (suspended) this.#unqueue(resource);
      else this.#wish(resource, "request", 0);
    }
    return toStored(resource);
  }

  async enqueue(requests: Parameters<ModelledStore["enqueue"]>[0]): Promise<number> {
    for (const { delayMs = 0 } of requests) if (delayMs !== 0) checkDelay(delayMs);
    let marked = 0;
    for (const { target, cause, delayMs = 0 } of requests) {
      const keys = this.#targets(target).sort((left, right) => (left.key < right.key ? -1 : 1));
      for (const resource of keys) {
        const stopped = isGivenUp(resource) && cause !== "request" && !this.#entry(resource);
        if (resource.suspended || stopped) continue;
        this.#wish(resource, cause, delayMs);
        marked += 1;
      }
    }
    return marked;
  }

  async claim(request: ClaimRequest): Promise<Claimed[]> {
    if (request.epoch !== this.#epoch) fail("LEASE_LOST");
    const isOver = ({ running }: Entry) => running && running.expiresAt <= this.#clock.now();
    for (const entry of this.#queue.filter(isOver).sort(asClaimed)) {
      this.#loseClaim(entry, "the claim expired without an answer");
    }
    const claimed: Claimed[] = [];
    for (const { lane, max } of request.lanes) {
      if (this.#lanes[lane - 1]?.accepted !== true) continue;
      const room = Math.min(max, request.limit - claimed.length);
      const ready = this.#queue
        .filter(({ resource }) => this.#lane(resource.project, resource.manager) === lane)
        .filter(({ running, wish }) => !running && wish && wish.at <= this.#clock.now())
        .sort((left, right) => rank(left) - rank(right) || order(left) - order(right));
      const taken: Entry[] = [];
      for (const entry of ready) {
        if (taken.length >= room) break;
        if (this.#prepare(entry)) taken.push(entry);
      }
      for (const entry of taken) claimed.push(this.#claimOne(entry, lane, request.leaseMs));
    }
    return claimed;
  }

  async renew(claim: Claim, expiresAt: number): Promise<void> {
    const { running } = this.#holder(claim);
    running.expiresAt = expiresAt;
  }

  async settle(request: Parameters<ModelledStore["settle"]>[0]): Promise<SettleReceipt> {
    const { claim } = request;
    const before = this.#settled.get(claim.token);
    if (before) return before;
    const removed = this.#removedBy.get(claim.token);
    const receipt = removed
      ? { record: this.#record(removed, "delete", request) }
      : this.#endPass(this.#holder(claim), request);
    this.#settled.set(claim.token, { ...receipt, claimed: [] });
    return { ...receipt, claimed: request.next ? await this.claim(request.next) : [] };
  }

  async setFinalizer(claim: Claim, name: string, present: boolean) {
    const { resource } = this.#holder(claim);
    if (name === CHILD_RUNS) fail("BAD_REQUEST");
    if (resource.finalizers.includes(name) === present) return toStored(resource).resource.metadata;
    if (present && resource.deletedAt !== undefined) fail("DELETING");
    resource.finalizers = present
      ? [...resource.finalizers, name]
      : resource.finalizers.filter((one) => one !== name);
    if (resource.deletedAt !== undefined && resource.finalizers.length === 0) {
      this.#removedBy.set(claim.token, resource);
      this.#remove(resource);
      return undefined;
    }
    this.#changed(resource);
    return toStored(resource).resource.metadata;
  }

  async beginEffect(claim: Claim, request: Parameters<ModelledStore["beginEffect"]>[1]) {
    const { resource } = this.#holder(claim);
    if (request.key === "" || request.kind === "") fail("BAD_REQUEST");
    const print = fingerprint(request.request);
    const found = resource.effects.find((effect) => effect.key === request.key);
    if (!found) {
      const effect = {
        key: request.key,
        kind: request.kind,
        request: request.request,
        resourceUid: resource.uid,
        generation: resource.generation,
        requestFingerprint: print,
        state: "pending" as const,
        startedAt: new Date(this.#clock.now()).toISOString(),
        attempts: 1,
        parked: false,
        sequence: (this.#count += 1),
        token: claim.token,
      };
      resource.effects.push(effect);
      return { next: "call" as const, effect: withoutToken(effect) };
    }
    if (found.requestFingerprint !== print) fail("EFFECT_CONFLICT");
    if (found.state === "pending" && found.token === claim.token) fail("EFFECT_CONFLICT");
    if (!isOpen(found)) return { next: "done" as const, effect: withoutToken(found) };
    const proven = found.state === "indeterminate" && request.provenAbsent;
    if (!proven) {
      if (found.state === "pending") this.#leave(found);
      return this.#toObserve(found);
    }
    if (found.attempts >= LIMITS.effectAttempts) {
      found.parked = true;
      return this.#toObserve(found);
    }
    Object.assign(found, {
      state: "pending",
      attempts: found.attempts + 1,
      parked: false,
      token: claim.token,
      startedAt: new Date(this.#clock.now()).toISOString(),
    });
    delete found.reason;
    return { next: "call" as const, effect: withoutToken(found) };
  }

  async settleEffect(claim: Claim, settlement: Parameters<ModelledStore["settleEffect"]>[1]) {
    const holds = this.#queue.some(({ running }) => running && sameClaim(running.claim, claim));
    const resource = this.#resources.find(({ uid }) => uid === claim.uid) ?? fail("LEASE_LOST");
    const effect = resource.effects.find(({ key }) => key === settlement.key);
    const { outcome } = settlement;
    const late = effect?.token === claim.token && outcome.state !== "indeterminate";
    if (!holds && !late) fail("LEASE_LOST");
    if (!effect) return fail("NOT_FOUND");
    if (effect.requestFingerprint !== settlement.requestFingerprint) fail("EFFECT_CONFLICT");
    const moved = this.#moveEffect(effect, outcome);
    if (!holds && moved) this.#wakeForEffect(resource);
    return withoutToken(effect);
  }

  async resolveEffect(
    uid: string,
    key: string,
    outcome: EffectOutcome & { state: "applied" | "rejected" },
  ) {
    const resource = this.#resources.find((one) => one.uid === uid) ?? fail("NOT_FOUND");
    const effect = resource.effects.find((one) => one.key === key) ?? fail("NOT_FOUND");
    if (!isOpen(effect)) fail("EFFECT_NOT_OPEN");
    this.#moveEffect(effect, outcome);
    this.#wakeForEffect(resource);
    return withoutToken(effect);
  }

  async repair({ dryRun = false }: { dryRun?: boolean } = {}) {
    const missing = this.#resources.filter(
      (resource) =>
        !resource.removed && !resource.suspended && !isGivenUp(resource) && !this.#entry(resource),
    );
    const waits = ({ run }: Resource) =>
      run && (run.state === "waiting" || run.state === "interrupted") && !hasHeard(run);
    const now = missing.filter((resource) => !waits(resource));
    const later = missing.filter(
      (resource) => waits(resource) && resource.run?.reason === "Checkpoint",
    );
    if (!dryRun) {
      for (const resource of now) this.#wish(resource, "repair", 0);
      for (const resource of later) {
        const delay = (resource.run as ModelRun).deadlineAt - this.#clock.now();
        this.#wish(resource, "schedule", Math.max(0, delay));
      }
    }
    return { enqueued: now.length + later.length };
  }

  async get(ref: ResourceRef): Promise<StoredResource | undefined> {
    const resource = this.#byRef(ref);
    return resource && toStored(resource);
  }

  async queue({ uid }: { uid?: string } = {}) {
    return this.#queue
      .filter(({ resource }) => uid === undefined || resource.uid === uid)
      .map(({ resource, wish, running, attempts, crashes }) => ({
        uid: resource.uid,
        project: resource.project,
        resourceManager: resource.manager,
        key: resource.key,
        class: wish?.class ?? "low",
        cause: running?.cause ?? (wish as Wish).cause,
        readyAt: running?.expiresAt ?? (wish as Wish).at,
        attempts,
        crashAttempts: crashes,
        claimed: running !== undefined,
        dirty: running?.dirty ?? false,
      }))
      .sort((left, right) => Number(right.claimed) - Number(left.claimed));
  }

  async effects({ uid, open }: { uid?: string; open?: boolean } = {}) {
    return this.#resources
      .filter((resource) => uid === undefined || resource.uid === uid)
      .flatMap((resource) =>
        resource.effects
          .filter((effect) => open !== true || isOpen(effect))
          .map((effect) => ({
            ...withoutToken(effect),
            project: resource.project,
            resourceManager: resource.manager,
            resourceKey: resource.key,
          })),
      );
  }

  async lanes() {
    const now = this.#clock.now();
    return this.#lanes.flatMap(({ project, manager, accepted }, index) => {
      if (!accepted) return [];
      const own = this.#queue.filter(
        ({ resource }) => resource.project === project && resource.manager === manager,
      );
      const waiting = own.filter(({ running }) => !running).map(({ wish }) => (wish as Wish).at);
      const later = waiting.filter((at) => at > now);
      return [
        {
          lane: index + 1,
          project,
          manager,
          ready: waiting.length - later.length,
          running: own.length - waiting.length,
          ...(later.length > 0 ? { nextReadyAt: Math.min(...later) } : {}),
        },
      ];
    });
  }

  async close(): Promise<void> {}

  async acceptWorkflow(project: string, workflow: Workflow) {
    const lane = this.#lane(project, workflowLane(workflow.name));
    Object.assign(this.#lanes[lane - 1] as object, { accepted: true, workflow });
    return { ...workflow, lane, project, acceptedAt: this.#clock.now() };
  }

  async startRun(request: Parameters<ModelledStore["startRun"]>[0]): Promise<StoredRun> {
    const { project, workflow, requestKey } = request;
    this.#workflow(project, workflow);
    const found = this.#runs()
      .filter(({ run }) => !run.parent && run.workflow === workflow)
      .findLast(({ run }) => run.requestKey === requestKey);
    return this.#shown(
      found ? sameRun(found, request) : this.#insertRun({ ...request, attempt: 1 }),
    );
  }

  async ensureChildRun(claim: Claim, request: Parameters<ModelledStore["ensureChildRun"]>[1]) {
    const { resource: parent } = this.#holder(claim);
    const found = this.#child(parent.uid, request.requestKey);
    if (found) {
      sameRun(found, request);
      this.#pointTo(parent, found);
      return this.#shown(found);
    }
    this.#workflow(parent.project, request.workflow);
    if (parent.deletedAt !== undefined) fail("DELETING");
    const resource = this.#insertRun({
      ...request,
      project: parent.project,
      attempt: 1,
      startedBy: `${parent.manager} ${parent.key}`,
      parent: { uid: parent.uid, resourceManager: parent.manager, key: parent.key },
    });
    this.#adopt(parent, resource);
    return this.#shown(resource);
  }

  async childRun(claim: Claim, requestKey: string) {
    const found = this.#child(this.#holder(claim).resource.uid, requestKey);
    return found && this.#shown(found);
  }

  async cancelChildRun(claim: Claim, requestKey: string) {
    const found = this.#child(this.#holder(claim).resource.uid, requestKey);
    if (found) this.#cancel(found, found.run.startedBy);
    return found && this.#shown(found);
  }

  async appendJournal(claim: Claim, entries: Parameters<ModelledStore["appendJournal"]>[1]) {
    const entry = this.#holder(claim);
    const run = entry.resource.run ?? fail("LEASE_LOST");
    const lines = entries.map((line, index) => ({
      ...line,
      sequence: run.journal.length + index + 1,
      epoch: run.epochs,
    }));
    run.journal.push(...lines);
    forgetTaken(run, lines);
    if (lines.some(({ event }) => event === "succeeded" || event === "failed")) entry.crashes = 0;
  }

  async runOrders(claim: Claim) {
    const run = this.#holder(claim).resource.run ?? fail("LEASE_LOST");
    const taken = run.journal.some(({ event }) => event === "cancel");
    const byPlace = (left: { node: string; ordinal: number }, right: typeof left) =>
      left.node === right.node ? left.ordinal - right.ordinal : left.node < right.node ? -1 : 1;
    return {
      ...(run.cancelBy === undefined || taken ? {} : { cancel: { by: run.cancelBy } }),
      answers: [...run.answers].sort(byPlace),
      resolutions: [...run.resolutions].sort((left, right) => left.visit - right.visit),
    };
  }

  async pauseRun(runId: string) {
    const resource = this.#openRun(runId);
    const { run } = resource;
    if (run.cancelBy !== undefined) fail("RUN_ENDED");
    if (resource.suspended) return this.#shown(resource);
    resource.suspended = true;
    this.#unqueue(resource);
    const idle = run.state === "pending" || run.state === "running";
    if (idle && !this.#entry(resource)) this.#moveRun(resource, PAUSED_MOVE);
    return this.#shown(resource);
  }

  async resumeRun(runId: string) {
    const resource = this.#openRun(runId);
    const { run } = resource;
    if (!resource.suspended && !isHeldBack(run)) return this.#shown(resource);
    resource.suspended = false;
    if (run.reason === "DefinitionChanged") run.keepsCode = true;
    if (isHeldBack(run) || run.reason === "Paused") {
      this.#moveRun(resource, { state: run.epochs === 0 ? "pending" : "running" });
    }
    this.#wish(resource, "request", 0);
    return this.#shown(resource);
  }

  async cancelRun(runId: string, by: string) {
    const resource = this.#openRun(runId);
    this.#cancel(resource, by);
    return this.#shown(resource);
  }

  async answerRun(runId: string, answer: Parameters<ModelledStore["answerRun"]>[1]) {
    const resource = this.#openRun(runId);
    const { run } = resource;
    const asked = reachedVisits(run, answer.node).indexOf(answer.visit ?? 0) + 1;
    if (answer.visit !== undefined && asked === 0) fail("NO_QUESTION");
    const ordinal = answer.ordinal ?? (asked || ordinalFor(run, answer.node));
    const visit = reachedVisits(run, answer.node)[ordinal - 1];
    const closed = visit !== undefined && lastOf(run, visit) !== "begun";
    const given = run.answers.some((one) => one.node === answer.node && one.ordinal === ordinal);
    if (closed || given) fail("ALREADY_ANSWERED");
    run.answers.push({ node: answer.node, ordinal, value: answer.value, by: answer.by });
    return this.#heard(resource);
  }

  async resolveRun(
    runId: string,
    visit: number,
    order: Parameters<ModelledStore["resolveRun"]>[2],
  ) {
    const resource = this.#openRun(runId);
    const { run } = resource;
    if (!isAmbiguousVisit(run, visit)) fail("NOT_AMBIGUOUS");
    if (run.resolutions.some((one) => one.visit === visit)) fail("ALREADY_ANSWERED");
    run.resolutions.push({ visit, ...order });
    return this.#heard(resource);
  }

  async retryRun(runId: string, by: string) {
    const resource = this.#runs().find(({ uid }) => uid === runId) ?? fail("NOT_FOUND");
    const { run } = resource;
    if (run.state !== "failed" && !isHeldBack(run)) fail("RUN_NOT_FAILED");
    const same = this.#runs().filter((other) => isSameRequest(other.run, run));
    if (same.some((other) => other.run.attempt > run.attempt)) fail("RUN_NOT_FAILED");
    const visits = new Set(run.journal.map((line) => ("visit" in line ? line.visit : 0)));
    const unsure = [...visits].some((visit) => isAmbiguousVisit(run, visit));
    if (!isEnded(run) && unsure) fail("RUN_NOT_FAILED");
    const parent = this.#resources.find(({ uid }) => uid === run.parent?.uid);
    if (run.parent && (!parent || parent.removed || parent.deletedAt !== undefined)) {
      fail("DELETING");
    }
    if (!isEnded(run)) {
      this.#moveRun(resource, { state: "failed", reason: "Cancelled", message: "" });
    }
    const { workflow, input, requestKey, session } = run;
    const next = this.#insertRun({
      project: resource.project,
      workflow,
      input,
      requestKey,
      attempt: run.attempt + 1,
      startedBy: by,
      ...(session === undefined ? {} : { session }),
      ...(run.parent ? { parent: run.parent } : {}),
    });
    if (parent) this.#adopt(parent, next, resource);
    return this.#shown(next);
  }

  async run(runId: string) {
    const found = this.#runs().find(({ uid }) => uid === runId);
    return found && this.#shown(found);
  }

  async runs() {
    const items = this.#runs().map((resource) => {
      const { input: _, output: __, ...summary } = this.#shown(resource);
      return summary;
    });
    return { items: items.reverse() };
  }

  async journal(runId: string) {
    return this.#runs().find(({ uid }) => uid === runId)?.run.journal ?? [];
  }

  async awaited(runId: string) {
    const found = this.#runs().find(({ uid }) => uid === runId);
    return found ? awaitedLines(found.run) : [];
  }

  #runs(): RunResource[] {
    return this.#resources.filter((one): one is RunResource => one.run !== undefined);
  }

  #workflow(project: string, name: string): Workflow {
    const found = this.#lanes.find(
      (lane) => lane.project === project && lane.manager === workflowLane(name),
    );
    return found?.workflow ?? fail("UNKNOWN_WORKFLOW");
  }

  #child(parentUid: string, requestKey: string): RunResource | undefined {
    return this.#runs()
      .filter(({ run }) => run.parent?.uid === parentUid)
      .findLast(({ run }) => run.requestKey === requestKey);
  }

  #openRun(runId: string): RunResource {
    const found = this.#runs().find(({ uid }) => uid === runId) ?? fail("NOT_FOUND");
    if (isEnded(found.run)) fail("RUN_ENDED");
    return found;
  }

  #shown(resource: RunResource): StoredRun {
    return toModelStored(resource.run, resource, this.#entry(resource)?.running?.at);
  }

  #insertRun(asked: NewRun): RunResource {
    const { project, workflow: name } = asked;
    const workflow = this.#workflow(project, name);
    const uid = `reference-${(this.#count += 1)}`;
    const resource: RunResource = {
      uid,
      project,
      manager: workflowLane(name),
      key: uid,
      version: (this.#count += 1),
      generation: 1,
      spec: JSON.stringify(asked.input),
      specHash: "",
      status: "{}",
      observed: 0,
      conditions: [],
      finalizers: [],
      removed: false,
      suspended: false,
      origin: { owner: { kind: "person", name: asked.startedBy } },
      labels: {},
      dependsOn: [],
      prunable: false,
      createdAt: this.#clock.now(),
      updatedAt: this.#clock.now(),
      effects: [],
      run: {
        workflow: name,
        digest: workflow.digest,
        keepsCode: false,
        input: asked.input,
        state: "pending",
        ...(asked.parent ? { parent: asked.parent } : {}),
        requestKey: asked.requestKey ?? uid,
        attempt: asked.attempt,
        ...(asked.session === undefined ? {} : { session: asked.session }),
        startedBy: asked.startedBy,
        epochs: 0,
        journal: [],
        answers: [],
        resolutions: [],
        deadlineAt: this.#clock.now() + workflow.deadlineMs,
      },
    };
    this.#resources.push(resource);
    this.#wish(resource, "request", 0);
    return resource;
  }

  #adopt(parent: Resource, run: RunResource, instead?: Resource): void {
    if (!parent.finalizers.includes(CHILD_RUNS)) {
      parent.finalizers = [...parent.finalizers, CHILD_RUNS];
      this.#changed(parent);
    }
    if (instead === undefined || parent.current === instead) this.#pointTo(parent, run);
  }

  #pointTo(parent: Resource, run: RunResource): void {
    if (parent.current === run) return;
    parent.current = run;
    this.#changed(parent);
  }

  #heard(resource: RunResource): StoredRun {
    if (!resource.suspended && !isHeldBack(resource.run)) this.#wish(resource, "request", 0);
    return this.#shown(resource);
  }

  #cancelChildren(parent: Resource): void {
    for (const run of this.#runs()) {
      if (run.run.parent?.uid === parent.uid) this.#cancel(run, "the deletion of its resource");
    }
  }

  #cancel(resource: RunResource, by: string): void {
    const { run } = resource;
    if (isEnded(run) || run.cancelBy !== undefined) return;
    Object.assign(run, { cancelBy: by, keepsCode: true });
    if (run.journal.length === 0 && !this.#entry(resource)?.running) {
      this.#moveRun(resource, { state: "failed", reason: "Cancelled", message: "" });
      return;
    }
    resource.suspended = false;
    delete resource.stalledAt;
    this.#wish(resource, "request", 0);
  }

  #moveRun(resource: RunResource, move: ModelMove): void {
    const { run } = resource;
    if (isEnded(run)) fail("RUN_ENDED");
    const before = `${run.state} ${run.reason}`;
    for (const name of ["reason", "message", "node", "exit", "output"] as const) delete run[name];
    Object.assign(run, move);
    const ended = move.state === "succeeded" || move.state === "failed";
    delete resource.stalledAt;
    if (isHeldBack(run)) resource.stalledAt = resource.generation;
    if (ended) {
      Object.assign(run, { endedAt: this.#clock.now(), answers: [], resolutions: [] });
      resource.suspended = false;
      this.#remove(resource);
    }
    if (before !== `${run.state} ${run.reason}`) this.#tellParent(resource, ended);
  }

  #tellParent(resource: RunResource, ended: boolean): void {
    const { run } = resource;
    const parent = this.#resources.find(({ uid }) => uid === run.parent?.uid);
    if (!parent || parent.removed) return;
    if (parent.current === resource) this.#changed(parent);
    if (run.state === "pending" || run.state === "running") return;
    const stopped = isGivenUp(parent) && !this.#entry(parent);
    if (!parent.suspended && !stopped) this.#wish(parent, "child", 0);
    const open = this.#runs().some(
      (one) => one.run.parent?.uid === parent.uid && !isEnded(one.run),
    );
    if (!ended || open || !parent.finalizers.includes(CHILD_RUNS)) return;
    parent.finalizers = parent.finalizers.filter((name) => name !== CHILD_RUNS);
    if (parent.deletedAt !== undefined && parent.finalizers.length === 0) {
      const token = this.#entry(parent)?.running?.claim.token;
      if (token !== undefined) this.#removedBy.set(token, parent);
      this.#remove(parent);
    } else {
      this.#changed(parent);
    }
  }

  /** Whether a key may be handed out: a run that has begun runs no other code than its own. */
  #prepare(entry: Entry): boolean {
    const { resource } = entry;
    const { run } = resource;
    if (!run) return true;
    const { digest } = this.#workflow(resource.project, run.workflow);
    if (run.digest === digest || run.keepsCode) return true;
    if (run.epochs === 0) {
      run.digest = digest;
      return true;
    }
    this.#queue = this.#queue.filter((one) => one !== entry);
    const message = "other code";
    const move = { state: "interrupted", reason: "DefinitionChanged", message } as const;
    this.#moveRun(resource as RunResource, move);
    return false;
  }

  /** What became of a run when its pass ended; when it is looked at again, if that says so. */
  #leaveRun(
    resource: RunResource,
    { outcome, run: ending }: SettleFields,
    givenUp: boolean,
  ): { at: number; cause: WakeCause } | undefined {
    const now = this.#clock.now();
    const message = "message" in outcome ? outcome.message : "";
    const cut: ModelMove = givenUp
      ? { state: "interrupted", reason: "Stalled", message }
      : resource.suspended
        ? PAUSED_MOVE
        : { state: "running", ...(outcome.kind === "failed" ? { message } : {}) };
    const move = ending ?? cut;
    this.#moveRun(resource, move);
    if (move.state !== "waiting") return undefined;
    return move.reason === "Paused"
      ? { at: now, cause: "request" }
      : { at: Math.max(now, resource.run.deadlineAt), cause: "schedule" };
  }

  #lane(project: string, manager: string): number {
    const found = this.#lanes.findIndex(
      (lane) => lane.project === project && lane.manager === manager,
    );
    if (found >= 0) return found + 1;
    return this.#lanes.push({ project, manager, accepted: false });
  }

  #live(project: string, manager: string, key: string): Resource | undefined {
    return this.#resources.find(
      (one) =>
        !one.removed && one.project === project && one.manager === manager && one.key === key,
    );
  }

  #byRef(ref: ResourceRef): Resource | undefined {
    if (isWorkflowLane(ref.resourceManager)) return undefined;
    return this.#live(ref.project, ref.resourceManager, ref.key);
  }

  #targets(target: { uid: string } | ResourceRef | { lane: number }): Resource[] {
    return this.#resources.filter((one) => {
      if (one.removed) return false;
      if ("uid" in target) return one.uid === target.uid;
      if ("lane" in target) return this.#lane(one.project, one.manager) === target.lane;
      return one === this.#byRef(target);
    });
  }

  #entry(resource: Resource): Entry | undefined {
    return this.#queue.find((entry) => entry.resource === resource);
  }

  #holder(claim: Claim): Entry & { running: Running } {
    const entry = this.#queue.find(
      ({ running, resource }) =>
        running && sameClaim(running.claim, claim) && resource.uid === claim.uid,
    );
    return (entry ?? fail("LEASE_LOST")) as Entry & { running: Running };
  }

  #changed(resource: Resource): void {
    resource.version = this.#count += 1;
    resource.updatedAt = this.#clock.now();
  }

  #create(project: string, manager: string, key: string, write: Write): Resource {
    this.#lane(project, manager);
    const resource: Resource = {
      uid: `reference-${(this.#count += 1)}`,
      project,
      manager,
      key,
      version: (this.#count += 1),
      generation: 1,
      spec: write.spec,
      specHash: write.specHash,
      status: write.initialStatus,
      observed: 0,
      conditions: [],
      finalizers: [],
      removed: false,
      suspended: write.suspended,
      origin: write.origin,
      labels: write.labels,
      dependsOn: write.dependsOn,
      prunable: write.prunable,
      createdAt: this.#clock.now(),
      updatedAt: this.#clock.now(),
      effects: [],
    };
    this.#resources.push(resource);
    if (!write.suspended) this.#wish(resource, "spec", 0);
    return resource;
  }

  #update(resource: Resource, write: Write): Resource {
    const { labels, dependsOn, prunable, suspended, origin } = resource;
    const before = JSON.stringify([
      resource.specHash,
      labels,
      dependsOn,
      prunable,
      suspended,
      origin,
    ]);
    const after = JSON.stringify([
      write.specHash,
      write.labels,
      write.dependsOn,
      write.prunable,
      write.suspended,
      write.origin,
    ]);
    if (before === after) return resource;
    const changed = write.specHash !== resource.specHash;
    if (changed) resource.generation += 1;
    const { initialStatus: _, ...kept } = write;
    Object.assign(resource, kept);
    this.#changed(resource);
    if (write.suspended) this.#unqueue(resource);
    else if (changed || suspended) this.#wish(resource, "spec", 0);
    return resource;
  }

  #requestDeletion(resource: Resource): Resource {
    if (resource.deletedAt !== undefined) return resource;
    resource.deletedAt = this.#clock.now();
    resource.generation += 1;
    resource.suspended = false;
    this.#changed(resource);
    if (resource.finalizers.length === 0) this.#remove(resource);
    else this.#wish(resource, "delete", 0);
    this.#cancelChildren(resource);
    return resource;
  }

  #remove(resource: Resource): void {
    resource.removed = true;
    for (const effect of resource.effects) if (effect.state === "pending") this.#leave(effect);
    this.#changed(resource);
    this.#queue = this.#queue.filter((entry) => entry.resource !== resource);
  }

  #unqueue(resource: Resource): void {
    this.#queue = this.#queue.filter((entry) => entry.resource !== resource || entry.running);
  }

  #wish(resource: Resource, cause: WakeCause, delayMs: number): void {
    let entry = this.#entry(resource);
    if (!entry) {
      entry = {
        resource,
        wish: undefined,
        running: undefined,
        attempts: 0,
        crashes: 0,
        backoffUntil: undefined,
      };
      this.#queue.push(entry);
    }
    const at = this.#clock.now() + delayMs;
    entry.wish = merged(entry.wish, {
      at,
      class: classOf(cause),
      cause,
      order: (this.#count += 1),
    });
    if (entry.running && delayMs === 0) entry.running.dirty = true;
  }

  #wakeForEffect(resource: Resource): void {
    if (resource.run && isHeldBack(resource.run)) return;
    if (!resource.removed && !resource.suspended) this.#wish(resource, "effect", 0);
  }

  #claimOne(entry: Entry, lane: number, leaseMs: number): Claimed {
    const { resource } = entry;
    const generation = (this.#count += 1);
    const claim = { uid: resource.uid, lane, token: `reference-token-${generation}`, generation };
    const { cause } = entry.wish as Wish;
    entry.running = {
      claim,
      cause,
      at: this.#clock.now(),
      expiresAt: this.#clock.now() + leaseMs,
      read: resource.generation,
      dirty: false,
    };
    entry.wish = undefined;
    const { run } = resource;
    if (run) {
      run.epochs += 1;
      run.startedAt ??= this.#clock.now();
      this.#moveRun(resource as RunResource, { state: "running" });
    }
    return {
      ...(run ? { run: this.#shown(resource as RunResource) } : {}),
      claim,
      reconcileId: `reference-pass-${generation}`,
      project: resource.project,
      manager: resource.manager,
      resource: toStored(resource).resource,
      cause,
      attempts: entry.attempts,
      crashAttempts: entry.crashes,
      expiresAt: entry.running.expiresAt,
    };
  }

  #loseClaim(entry: Entry, message: string): void {
    const running = entry.running as Running;
    this.#endPass(entry as Entry & { running: Running }, {
      claim: running.claim,
      reconcileId: "",
      observedGeneration: running.read,
      outcome: { kind: "crashed", fault: "lease-lost", message },
      startedAt: running.at,
      durationMs: 0,
      random: 0.5,
    });
  }

  #endPass(entry: Entry & { running: Running }, request: SettleFields) {
    const { resource, running } = entry;
    const { outcome } = request;
    if (request.observedGeneration !== running.read) fail("BAD_REQUEST");
    if (resource.run) {
      const cut = outcome.kind === "failed" || outcome.kind === "crashed";
      if (cut === (request.run !== undefined)) fail("BAD_REQUEST");
      if (!cut && outcome.kind !== "settled") fail("BAD_REQUEST");
    } else if (request.run) fail("BAD_REQUEST");
    if (outcome.kind === "requeueAfter") checkDelay(outcome.delayMs);
    for (const effect of resource.effects) {
      if (effect.state === "pending") this.#leave(effect);
    }
    const now = this.#clock.now();
    let own: { at: number; cause: WakeCause } | undefined;
    let givenUp = false;
    let stalled = false;
    const { attempts, crashes, backoffUntil } = entry;
    Object.assign(entry, { attempts: 0, crashes: 0, backoffUntil: undefined });
    if (outcome.kind === "requeue") own = { at: now, cause: "requeue" };
    if (outcome.kind === "requeueAfter") own = { at: now + outcome.delayMs, cause: "requeue" };
    if (outcome.kind === "failed" && outcome.terminal) givenUp = true;
    if (outcome.kind === "failed" && !outcome.terminal) {
      const early = backoffUntil !== undefined && running.at < backoffUntil;
      entry.attempts = early ? attempts : attempts + 1;
      const until = early ? backoffUntil : now + backoffMs(entry.attempts, request.random);
      entry.backoffUntil = until;
      own = { at: until, cause: "retry" };
    }
    if (outcome.kind === "crashed") {
      const blameless = outcome.fault === "shutdown";
      const count = blameless ? crashes : crashes + 1;
      stalled = !blameless && count >= LIMITS.crashAttempts;
      if (stalled) {
        givenUp = true;
      } else {
        Object.assign(entry, { attempts, crashes: count, backoffUntil });
        own = { at: now, cause: "recovery" };
        if (outcome.fault !== "shutdown" && outcome.fault !== "lease-lost") {
          entry.backoffUntil = now + backoffMs(count, request.random);
          own = { at: entry.backoffUntil, cause: "retry" };
        }
      }
    }
    if (resource.run) {
      own = this.#leaveRun(resource as RunResource, request, givenUp) ?? own;
      if (resource.removed) return { record: this.#record(resource, running.cause, request) };
    } else this.#writeStatus(resource, outcome, { read: running.read, stalled });
    if (givenUp && !running.dirty) entry.wish = undefined;
    if (own) {
      const wish = { ...own, class: classOf(own.cause), order: (this.#count += 1) };
      entry.wish = entry.wish ? merged(entry.wish, wish, true) : wish;
    }
    (entry as Entry).running = undefined;
    if (!entry.wish || resource.suspended) {
      this.#queue = this.#queue.filter((one) => one !== entry);
      entry.wish = undefined;
    }
    return {
      record: this.#record(resource, running.cause, request),
      resourceVersion: resource.version,
      ...(entry.wish ? { readyAt: entry.wish.at } : {}),
    };
  }

  #writeStatus(
    resource: Resource,
    outcome: PassOutcome,
    { read, stalled }: { read: number; stalled: boolean },
  ): void {
    const before = JSON.stringify([resource.status, resource.observed, resource.conditions]);
    const set = (type: string, status: boolean, reason: string, message?: string) => {
      const input = { type, status, reason, ...(message === undefined ? {} : { message }) };
      const { conditions } = resource;
      resource.conditions = mergeConditions(conditions, [input], read, this.#clock.now());
    };
    const holds = (type: string) =>
      resource.conditions.some((one) => one.type === type && one.status === true);
    const open = resource.effects.filter(isOpen);
    switch (outcome.kind) {
      case "settled":
      case "requeue":
      case "requeueAfter":
        resource.conditions = mergeConditions(
          resource.conditions,
          outcome.conditions ?? [],
          read,
          this.#clock.now(),
        );
        if (outcome.resourceManagerStatus !== undefined) {
          resource.status = JSON.stringify(outcome.resourceManagerStatus);
        }
        resource.observed = Math.max(resource.observed, read);
        set("Reconciled", true, "Succeeded");
        if (holds("Stalled")) set("Stalled", false, "Succeeded");
        if (open.length > 0) {
          const reason = open.some(({ parked }) => parked) ? "EffectParked" : "EffectUnsettled";
          const keys = open.map(({ key }) => key).join(", ");
          set("EffectIndeterminate", true, reason, `not known to have happened or not: ${keys}`);
        } else if (holds("EffectIndeterminate")) {
          set("EffectIndeterminate", false, "Succeeded");
        }
        delete resource.terminalAt;
        delete resource.stalledAt;
        break;
      case "failed":
        if (outcome.terminal) resource.terminalAt = read;
        else delete resource.terminalAt;
        set(
          "Reconciled",
          false,
          outcome.terminal ? "TerminalError" : "ReconcileFailed",
          outcome.message,
        );
        break;
      case "parked":
        set(
          "EffectIndeterminate",
          true,
          "EffectParked",
          `${outcome.effectKey}: ${outcome.message}`,
        );
        break;
      case "crashed": {
        const message = `${outcome.fault}: ${outcome.message}`;
        const blameless = outcome.fault === "shutdown" || outcome.fault === "lease-lost";
        if (!blameless) {
          delete resource.terminalAt;
          set("Reconciled", false, "RunnerFailed", message);
        }
        if (stalled) resource.stalledAt = read;
        if (stalled) set("Stalled", true, "RunnerFailed", message);
      }
    }
    const after = JSON.stringify([resource.status, resource.observed, resource.conditions]);
    if (after !== before) this.#changed(resource);
  }

  #record(resource: Resource, cause: WakeCause, request: SettleFields) {
    return {
      reconcileId: request.reconcileId,
      uid: resource.uid,
      project: resource.project,
      resourceManager: resource.manager,
      key: resource.key,
      generation: request.observedGeneration,
      cause,
      outcome: request.outcome.kind,
      startedAt: request.startedAt,
      durationMs: request.durationMs,
    };
  }

  /** The pass that may have called is over. */
  #leave(effect: StoredEffect): void {
    effect.state = "indeterminate";
    this.#left.set(effect, this.#clock.monotonic());
  }

  #toObserve(found: StoredEffect & { token: string }): EffectDecision {
    const quietMs = this.#clock.monotonic() - (this.#left.get(found) as number);
    return { next: "observe", effect: withoutToken(found), quietMs };
  }

  #moveEffect(effect: StoredEffect, outcome: EffectOutcome): boolean {
    if (!isOpen(effect)) {
      if (effect.state !== outcome.state) fail("EFFECT_NOT_OPEN");
      return false;
    }
    if (effect.state === "pending" && outcome.state === "indeterminate") this.#leave(effect);
    effect.state = outcome.state;
    effect.parked = outcome.state === "indeterminate" && outcome.park;
    delete effect.reason;
    if (!isOpen(effect)) effect.completedAt = new Date(this.#clock.now()).toISOString();
    if (outcome.state === "applied") {
      if (outcome.externalRef !== undefined) effect.externalRef = outcome.externalRef;
      if (outcome.result !== undefined) effect.result = outcome.result;
    } else {
      effect.reason = outcome.reason;
    }
    return true;
  }
}

const CHILD_RUNS = "pi-workflows/child-runs";
type Workflow = Parameters<ModelledStore["acceptWorkflow"]>[1];
type NewRun = Pick<StoredRun, "project" | "workflow" | "input" | "attempt" | "startedBy"> & {
  requestKey?: string;
  session?: string;
  parent?: { uid: string; resourceManager: string; key: string };
};

function sameRun(found: RunResource, asked: { workflow: string; input: Json }): RunResource {
  const isSame =
    found.run.workflow === asked.workflow &&
    canonicalJson(found.run.input) === canonicalJson(asked.input);
  return isSame ? found : fail("RUN_CONFLICT");
}

function isSameRequest(left: ModelRun, right: ModelRun): boolean {
  if (left.requestKey !== right.requestKey || left.parent?.uid !== right.parent?.uid) return false;
  return left.parent !== undefined || left.workflow === right.workflow;
}

type SettleFields = Omit<Parameters<ModelledStore["settle"]>[0], "next">;
type Write = Extract<
  Parameters<ModelledStore["applyBatch"]>[0]["changes"][number],
  { kind: "create" }
>["write"];

function merged(old: Wish | undefined, wish: Wish, ownResult = false): Wish {
  if (!old) return wish;
  const earlier = wish.at < old.at;
  const better = QUEUE_CLASSES.indexOf(wish.class) < QUEUE_CLASSES.indexOf(old.class);
  return {
    at: Math.min(old.at, wish.at),
    class: better ? wish.class : old.class,
    // A person's wake explains a key better than the pass's own wish, whatever their classes.
    cause: earlier || (better && !ownResult) ? wish.cause : old.cause,
    order: earlier ? wish.order : old.order,
  };
}

function rank(entry: Entry): number {
  const wish = entry.wish as Wish;
  return wish.at + CLASS_DELAY_MS[wish.class];
}

function order(entry: Entry): number {
  return (entry.wish as Wish).order;
}

function checkDelay(delayMs: number): void {
  if (!(delayMs > 0 && delayMs <= LIMITS.maxRequeueMs)) fail("BAD_REQUEST");
}

function sameClaim(left: Claim, right: Claim): boolean {
  return left.token === right.token && left.generation === right.generation;
}

function isGivenUp({ generation, terminalAt, stalledAt }: Resource): boolean {
  return terminalAt === generation || stalledAt === generation;
}

function isOpen(effect: StoredEffect): boolean {
  return effect.state === "pending" || effect.state === "indeterminate";
}

function withoutToken(effect: StoredEffect & { token?: string }): StoredEffect {
  const shown = { ...effect };
  delete shown.token;
  return shown;
}

function toStored(one: Resource): StoredResource {
  return {
    project: one.project,
    resource: {
      metadata: {
        uid: one.uid,
        resourceManager: one.manager,
        key: one.key,
        resourceVersion: one.version,
        generation: one.generation,
        ...(one.deletedAt === undefined
          ? {}
          : { deletionTimestamp: new Date(one.deletedAt).toISOString() }),
        finalizers: [...one.finalizers],
      },
      spec: JSON.parse(one.spec) as unknown,
      status: {
        observedGeneration: one.observed,
        conditions: structuredClone(one.conditions),
        ...(one.current?.run
          ? {
              workflowRun: {
                requestId: one.current.run.requestKey,
                runId: one.current.uid,
                state: one.current.run.state,
                attempt: one.current.run.attempt,
              },
            }
          : {}),
        resourceManagerStatus: JSON.parse(one.status) as unknown,
      },
    },
    specHash: one.specHash,
    labels: one.labels,
    dependsOn: one.dependsOn,
    owner: one.origin.owner,
    origin: one.origin,
    prunable: one.prunable,
    suspended: one.suspended,
    createdAt: one.createdAt,
    updatedAt: one.updatedAt,
  };
}

/** The order in which keys were claimed. */
function asClaimed(left: Entry, right: Entry): number {
  return (left.running?.claim.generation ?? 0) - (right.running?.claim.generation ?? 0);
}
