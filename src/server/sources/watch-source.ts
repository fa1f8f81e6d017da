import type { ManagerRecord } from "../../model/batch.ts";
import { toPiWorkflowsError } from "../../model/errors.ts";
import { LIMITS } from "../../model/limits.ts";
import type { ManagedResource, ResourceRef } from "../../model/resource.ts";
import type { SourceOf } from "../../model/source.ts";
import type { MapInput } from "../../runner/port.ts";
import type { Touched } from "../changes.ts";
import { nextTurn } from "../turn.ts";
import { createLoops } from "./loops.ts";
import { createRetry } from "./retry.ts";
import { ALL_KEYS, askForKeys, wakeKeys, type SourceServices } from "./waker.ts";

/** What was last seen of a watched resource. */
type Seen = { version: number; generation: number };
type Change = { input: MapInput & { kind: "watch" }; seen: Seen | undefined };

// How far this source has looked is written down this long after it has come to rest.
const MARK_AFTER_MS = 1_000;

/** Changes looked at together: what they wake shares commits of the store. */
const AT_ONCE = 100;

const NO_LOOP = { delayMs: 0, isNew: false };

/** A new resource or another spec: somebody's doing, and not two managers answering each other. */
function isProgress({ seen, input }: Change): boolean {
  return seen?.generation !== input.resource.metadata.generation;
}

/**
 * One `watch(manager, map)` of an accepted definition. Changes arrive as names only; what changed is
 * read from the store, so a name that comes twice costs nothing, and a mark in the store says up to
 * which version everything was looked at, so that a crash loses none.
 */
export class WatchSource {
  readonly watched: string;
  readonly #services: SourceServices;
  readonly #record: ManagerRecord;
  readonly #index: number;
  readonly #source: SourceOf<"watch">;
  readonly #seen = new Map<string, Seen>();
  readonly #loops;
  readonly #retry;
  #dirty = new Map<string, Touched>();
  #failed: Touched[] = [];
  #looking: Promise<void> | undefined;
  #cancelMark: (() => void) | undefined;
  #stopped = false;

  constructor(
    services: SourceServices,
    record: ManagerRecord,
    index: number,
    source: SourceOf<"watch">,
  ) {
    this.#services = services;
    this.#record = record;
    this.#index = index;
    this.#source = source;
    this.watched = source.manager;
    this.#loops = createLoops(services.clock);
    this.#retry = createRetry(services.clock, () => this.touch(this.#failed.splice(0)));
  }

  /** Takes up what changed since the mark. `lane` is the watched manager's, where there is one. */
  async start(lane: number | undefined): Promise<void> {
    const { store } = this.#services;
    const { revision } = await store.info();
    const mark = await store.sourceMark(this.#record.lane, this.#name);
    // A source that is new has missed nothing: its definition's acceptance looks at every resource.
    if (mark === undefined)
      return store.putSourceMark(this.#record.lane, this.#name, `${revision}`);
    if (lane === undefined || Number(mark) >= revision) return;
    const { project } = this.#record;
    const changed = await store.changedSince(lane, Number(mark));
    this.touch(changed.map((one) => ({ ...one, project, resourceManager: this.watched })));
  }

  /** Resources of the watched manager may have changed. */
  touch(touched: readonly Touched[]): void {
    for (const one of touched) this.#dirty.set(one.uid, one);
    if (this.#dirty.size === 0 || this.#stopped) return;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#dirty.size > 0) this.touch([]);
    });
  }

  /** Resolves when nothing is under way; what is left is taken up after the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retry.stop();
    await this.#looking;
    if (this.#cancelMark) await this.#mark().catch(() => undefined);
  }

  get #name(): string {
    return `watch:${this.#index}:${this.#source.manager}`;
  }

  async #look(): Promise<void> {
    while (this.#dirty.size > 0 && !this.#stopped) {
      const some = [...this.#dirty.values()].slice(0, AT_ONCE);
      for (const { uid } of some) this.#dirty.delete(uid);
      await Promise.all(some.map((touched) => this.#lookAt(touched)));
    }
    this.#markSoon();
  }

  async #lookAt(touched: Touched): Promise<void> {
    try {
      const change = await this.#changeOf(touched);
      if (change === undefined) return;
      await this.#wakeFor(touched, change);
      this.#remember(touched.uid, change);
      this.#retry.reset();
    } catch (thrown) {
      const { log } = this.#services;
      const { project, name } = this.#record;
      const error = toPiWorkflowsError(thrown);
      const fields = { project, manager: name, watched: this.watched, key: touched.key, error };
      if (!this.#stopped) log.warn("A watched change could not be passed on; tried again", fields);
      this.#failed.push(touched);
      this.#retry.later();
    }
  }

  #remember(uid: string, { input }: Change): void {
    const { resourceVersion: version, generation } = input.resource.metadata;
    if (input.removed) this.#seen.delete(uid);
    else this.#seen.set(uid, { version, generation });
  }

  /** What is to be told of a resource; undefined where it is as it was seen last. */
  async #changeOf(touched: Touched): Promise<Change | undefined> {
    const { store } = this.#services;
    const seen = this.#seen.get(touched.uid);
    const isIt = (found: { resource: ManagedResource } | undefined): boolean =>
      found?.resource.metadata.uid === touched.uid;
    const live = await store.get(touched);
    const stored = isIt(live) ? live : await store.removed(touched);
    if (stored === undefined || !isIt(stored)) return undefined;
    const { resource } = stored;
    const removed = stored !== live;
    if (!removed && seen?.version === resource.metadata.resourceVersion) return undefined;
    return { input: { kind: "watch", resource, removed }, seen };
  }

  /** Wakes what the change is about. @throws where map fails */
  async #wakeFor(touched: Touched, change: Change): Promise<void> {
    const isOwn = this.watched === this.#record.name;
    const keys = (await this.#keysOf(touched, change)).filter(
      // Nothing is woken by its own status (G-9).
      (key) => !isOwn || key !== touched.key,
    );
    for (const key of keys) await this.#wake(key, touched.uid, isProgress(change));
  }

  async #wake(key: string, uid: string, isExpected: boolean): Promise<void> {
    const cause = `watch:${this.watched}` as const;
    const loop = isExpected ? NO_LOOP : this.#loops.count(`${uid} ${key}`);
    await wakeKeys(this.#services, this.#record, [key], { cause, delayMs: loop.delayMs });
    if (loop.isNew) await this.#warnOfLoop(key);
  }

  async #warnOfLoop(key: string): Promise<void> {
    const { store, log, changes } = this.#services;
    const { project, name } = this.#record;
    const found = await store.get({ project, resourceManager: name, key });
    const message =
      `changes of resources of ${this.watched} woke it more than ${LIMITS.hotLoopPasses} times in ` +
      "a minute; slowed down";
    log.warn("Managers that watch each other loop", { project, manager: name, key });
    if (!found) return;
    const { uid } = found.resource.metadata;
    await store.appendEvent(uid, { type: "Warning", reason: "HotLoop", message });
    changes.touch([{ uid, project, resourceManager: name, key }]);
  }

  async #keysOf(touched: ResourceRef, { input, seen }: Change): Promise<string[]> {
    if (!this.#source.mapped) return [touched.key];
    const keys = new Set<string>();
    for (const spec of await this.#specsOf(touched, input.resource, seen)) {
      const resource = { ...input.resource, spec };
      const asked = { ...input, resource };
      const outcome = await askForKeys(this.#services, this.#record, this.#index, asked);
      if (outcome.kind !== "keys") throw new Error(`map ${outcome.kind}: ${outcome.message}`);
      for (const key of outcome.keys) keys.add(key);
    }
    return keys.size > LIMITS.mappedKeys ? [...ALL_KEYS] : [...keys];
  }

  /**
   * The spec, and each that it had since it was last looked at: what an old one pointed to must be
   * woken too. Where that is not known, the one before.
   */
  async #specsOf(
    touched: ResourceRef,
    { metadata, spec }: ManagedResource,
    seen: Seen | undefined,
  ): Promise<unknown[]> {
    const from = seen?.generation ?? metadata.generation - 1;
    if (metadata.generation === 1 || from === metadata.generation) return [spec];
    const history = await this.#services.store.history(touched);
    const earlier = history.filter(
      ({ generation }) => generation >= from && generation < metadata.generation,
    );
    return [...earlier.map((record) => record.spec), spec];
  }

  #markSoon(): void {
    if (this.#stopped) return;
    this.#cancelMark ??= this.#services.clock.schedule(() => {
      this.#mark().catch((error: unknown) =>
        this.#services.log.warn("What a source has seen could not be written down", { error }),
      );
    }, MARK_AFTER_MS);
  }

  /** Writes down up to where everything was looked at. */
  async #mark(): Promise<void> {
    this.#cancelMark?.();
    this.#cancelMark = undefined;
    const { store } = this.#services;
    const { revision } = await store.info();
    // What was committed by now is named by then.
    await nextTurn();
    const isDone = this.#dirty.size === 0 && this.#failed.length === 0 && !this.#looking;
    if (isDone) await store.putSourceMark(this.#record.lane, this.#name, `${revision}`);
  }
}
