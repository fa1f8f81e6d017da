import type { StoredEffect } from "../../model/effect.ts";
import type { PiWorkflowsError } from "../../model/errors.ts";
import { isWorkflowLane } from "../../model/graph.ts";
import type { Clock } from "../../model/ports.ts";
import type { JournalInput } from "../../model/run.ts";
import type {
  BeginEffect,
  Claim,
  Claimed,
  ResourceManagerStore,
  SettleReceipt,
  SettleRequest,
} from "../../store/store.ts";
import type { Observer, SeenClaim } from "./observer.ts";

/** A claim that is held, with the effects that were begun under it. */
type Held = { token: string; seen: SeenClaim; effects: Map<string, Begun> };
type Begun = Pick<BeginEffect, "kind"> & { at: number };

/**
 * The store, and what passes through its door told to those who measure: every claim, pass, effect,
 * node and sync does, so that nothing else needs to know of them.
 */
export function observedStore(
  store: ResourceManagerStore,
  observer: Required<Observer>,
  clock: Clock,
): ResourceManagerStore {
  const watch = new ClaimWatch(observer, clock);
  return {
    ...store,
    async claim(request) {
      const claimed = await store.claim(request);
      watch.take(claimed);
      return claimed;
    },
    async settle(request) {
      const receipt = await store.settle(request).catch((thrown: unknown) => {
        if ((thrown as Partial<PiWorkflowsError>).code === "LEASE_LOST") watch.drop(request.claim);
        throw thrown;
      });
      watch.settled(request, receipt);
      return receipt;
    },
    async beginEffect(claim, request) {
      const decision = await store.beginEffect(claim, request);
      if (decision.next !== "done") watch.begun(claim, request);
      return decision;
    },
    async settleEffect(claim, settlement) {
      const effect = await store.settleEffect(claim, settlement);
      watch.effect(claim, effect);
      return effect;
    },
    async appendJournal(claim, entries) {
      await store.appendJournal(claim, entries);
      watch.journal(claim, entries);
    },
    recordSync: recordSync(store, observer),
  };
}

function recordSync(
  store: Pick<ResourceManagerStore, "recordSync">,
  observer: Required<Observer>,
): ResourceManagerStore["recordSync"] {
  const latest = new Map<string, number>();
  return async (project, record) => {
    const marked = await store.recordSync(project, record);
    const { attempted: attempt } = record.report;
    // A report is recorded again where only its conditions change.
    if (attempt && latest.get(project) !== attempt.at) {
      latest.set(project, attempt.at);
      const times = { startedAt: attempt.at, endedAt: attempt.at + attempt.durationMs };
      observer.sync({ project, attempt, ...times });
    }
    return marked;
  };
}

/** Knows what each claim that is held is for. */
class ClaimWatch {
  readonly #observer: Required<Observer>;
  readonly #clock: Clock;
  /** By uid: one for each key that is claimed, so as many as run at once. */
  readonly #held = new Map<string, Held>();

  constructor(observer: Required<Observer>, clock: Clock) {
    this.#observer = observer;
    this.#clock = clock;
  }

  take(claimed: readonly Claimed[]): void {
    for (const one of claimed) {
      const seen = seenOf(one, this.#clock.now());
      this.#held.set(one.claim.uid, { token: one.claim.token, seen, effects: new Map() });
      this.#observer.claimed(seen);
    }
  }

  settled(request: SettleRequest, receipt: SettleReceipt): void {
    const found = this.#find(request.claim);
    if (found) {
      this.#held.delete(request.claim.uid);
      this.#observer.pass(passOf(found.seen, request, receipt));
    }
    this.take(receipt.claimed);
  }

  drop(claim: Claim): void {
    const found = this.#find(claim);
    if (!found) return;
    this.#held.delete(claim.uid);
    this.#observer.lost(found.seen);
  }

  begun(claim: Claim, { key, kind }: BeginEffect): void {
    this.#find(claim)?.effects.set(key, { kind, at: this.#clock.now() });
  }

  effect(claim: Claim, { key, kind, state, parked, attempts }: StoredEffect): void {
    const found = this.#find(claim);
    const begun = found?.effects.get(key);
    if (!found || !begun) return;
    found.effects.delete(key);
    const times = { startedAt: begun.at, endedAt: this.#clock.now() };
    this.#observer.effect({ claim: found.seen, key, kind, state, parked, attempts, ...times });
  }

  journal(claim: Claim, entries: readonly JournalInput[]): void {
    const found = this.#find(claim);
    if (!found) return;
    for (const entry of entries) tellNode(this.#observer, found.seen, entry);
  }

  #find({ uid, token }: Claim): Held | undefined {
    const found = this.#held.get(uid);
    return found?.token === token ? found : undefined;
  }
}

function seenOf(claimed: Claimed, now: number): SeenClaim {
  const { claim, project, manager, resource, reconcileId, cause, attempts, readyAt } = claimed;
  return {
    lane: claim.lane,
    project,
    manager,
    key: resource.metadata.key,
    uid: claim.uid,
    reconcileId,
    cause,
    attempts,
    queuedMs: Math.max(0, now - (readyAt ?? now)),
    isRun: isWorkflowLane(manager),
  };
}

function passOf(seen: SeenClaim, request: SettleRequest, receipt: SettleReceipt) {
  const { outcome, startedAt, durationMs, run } = request;
  return {
    ...seen,
    startedAt,
    endedAt: startedAt + durationMs,
    outcome: outcome.kind,
    ...("message" in outcome ? { message: outcome.message } : {}),
    terminal: outcome.kind === "failed" && outcome.terminal,
    requeued: receipt.readyAt !== undefined,
    ...(run ? { runState: run.state } : {}),
  };
}

function tellNode(observer: Required<Observer>, claim: SeenClaim, entry: JournalInput): void {
  if (entry.event !== "succeeded" && entry.event !== "failed" && entry.event !== "aborted") return;
  const { node, visit, attempt, kind, event, startedAt, at: endedAt } = entry;
  const error = entry.event === "failed" ? { message: entry.error.message } : {};
  observer.node({ claim, node, visit, attempt, kind, event, startedAt, endedAt, ...error });
}

/** Several observers as one. */
export function observers(all: readonly Observer[]): Required<Observer> {
  return {
    enqueued: (lane) => all.forEach((one) => one.enqueued?.(lane)),
    claimed: (claim) => all.forEach((one) => one.claimed?.(claim)),
    lost: (claim) => all.forEach((one) => one.lost?.(claim)),
    pass: (pass) => all.forEach((one) => one.pass?.(pass)),
    effect: (effect) => all.forEach((one) => one.effect?.(effect)),
    node: (node) => all.forEach((one) => one.node?.(node)),
    sync: (sync) => all.forEach((one) => one.sync?.(sync)),
  };
}
