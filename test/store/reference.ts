import { fingerprint } from "../../src/model/canonical.ts";
import type { BatchReceipt } from "../../src/model/batch.ts";
import { mergeConditions, type Condition } from "../../src/model/condition.ts";
import type { EffectOutcome, StoredEffect } from "../../src/model/effect.ts";
import { PiWorkflowsError, type ErrorCode } from "../../src/model/errors.ts";
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
import type { Claim, Claimed, ClaimRequest, SettleReceipt } from "../../src/store/store.ts";
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
};

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
  #lanes: { project: string; manager: string; accepted: boolean }[] = [];
  #resources: Resource[] = [];
  #queue: Entry[] = [];
  #settled = new Map<string, SettleReceipt>();
  #removedBy = new Map<string, Resource>();

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  async beginEpoch() {
    this.#epoch += 1;
    const lost = this.#queue.filter((entry) => entry.running).sort(asClaimed);
    for (const entry of lost) this.#loseClaim(entry);
    return { epoch: this.#epoch, recovered: lost.length };
  }

  async acceptManager(project: string, manager: Parameters<ModelledStore["acceptManager"]>[1]) {
    const lane = this.#lane(project, manager.name);
    const found = this.#lanes[lane - 1];
    if (found) found.accepted = true;
    return { ...manager, lane, project, acceptedAt: this.#clock.now() };
  }

  async applyBatch(batch: Parameters<ModelledStore["applyBatch"]>[0]): Promise<BatchReceipt> {
    for (const change of batch.changes) {
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
    for (const entry of this.#queue.filter(isOver).sort(asClaimed)) this.#loseClaim(entry);
    const claimed: Claimed[] = [];
    for (const { lane, max } of request.lanes) {
      if (this.#lanes[lane - 1]?.accepted !== true) continue;
      const room = Math.min(max, request.limit - claimed.length);
      const ready = this.#queue
        .filter(({ resource }) => this.#lane(resource.project, resource.manager) === lane)
        .filter(({ running, wish }) => !running && wish && wish.at <= this.#clock.now())
        .sort((left, right) => rank(left) - rank(right) || order(left) - order(right));
      for (const entry of ready.slice(0, Math.max(0, room))) {
        claimed.push(this.#claimOne(entry, lane, request.leaseMs));
      }
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
      if (found.state === "pending") found.state = "indeterminate";
      return { next: "observe" as const, effect: withoutToken(found) };
    }
    if (found.attempts >= LIMITS.effectAttempts) {
      found.parked = true;
      return { next: "observe" as const, effect: withoutToken(found) };
    }
    Object.assign(found, {
      state: "pending",
      attempts: found.attempts + 1,
      parked: false,
      token: claim.token,
      startedAt: new Date(this.#clock.now()).toISOString(),
    });
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
    if (!dryRun) for (const resource of missing) this.#wish(resource, "repair", 0);
    return { enqueued: missing.length };
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
    return resource;
  }

  #remove(resource: Resource): void {
    resource.removed = true;
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
    return {
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

  #loseClaim(entry: Entry): void {
    const running = entry.running as Running;
    this.#endPass(entry as Entry & { running: Running }, {
      claim: running.claim,
      reconcileId: "",
      observedGeneration: running.read,
      outcome: { kind: "crashed", fault: "lease-lost", message: "" },
      startedAt: running.at,
      durationMs: 0,
      random: 0.5,
    });
  }

  #endPass(entry: Entry & { running: Running }, request: SettleFields) {
    const { resource, running } = entry;
    const { outcome } = request;
    if (request.observedGeneration !== running.read) fail("BAD_REQUEST");
    if (outcome.kind === "requeueAfter") checkDelay(outcome.delayMs);
    for (const effect of resource.effects) {
      if (effect.state === "pending") effect.state = "indeterminate";
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
    this.#writeStatus(resource, outcome, { read: running.read, stalled });
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

  #moveEffect(effect: StoredEffect, outcome: EffectOutcome): boolean {
    if (!isOpen(effect)) {
      if (effect.state !== outcome.state) fail("EFFECT_NOT_OPEN");
      return false;
    }
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
