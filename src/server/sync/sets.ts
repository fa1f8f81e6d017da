import { PiWorkflowsError } from "../../model/errors.ts";
import type { StoredResource, ResourceRef } from "../../model/resource.ts";
import { EMPTY_REPORT, type StoredSyncSet, type SyncSet } from "../../model/sync.ts";
import type { SyncEnable, SyncStatus } from "../protocol.ts";
import { CommittedSource } from "./committed-source.ts";
import { setToEnable } from "./enable.ts";
import { SyncLoop, type LoopServices } from "./loop.ts";
import type { Source, SourceServices } from "./source.ts";
import type { SyncFeed } from "./stream.ts";
import { undelete } from "./undelete.ts";
import { WorkingTreeSource } from "./working-tree-source.ts";

/**
 * Every sync of a server: one loop for each set that is enabled. Enabling, disabling and changing
 * them take turns.
 */
export class Syncs implements SyncFeed {
  readonly #services: Omit<LoopServices, "onChange">;
  readonly #loops = new Map<string, SyncLoop>();
  readonly #listeners = new Set<(project: string) => void>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(services: Omit<LoopServices, "onChange">) {
    this.#services = services;
  }

  /** Takes up what was enabled before. */
  start(): Promise<void> {
    return this.#inTurn(async () => {
      for (const stored of await this.#services.store.syncSets()) this.#open(stored);
    });
  }

  stop(): Promise<void> {
    return this.#inTurn(async () => {
      await Promise.all([...this.#loops.values()].map((loop) => loop.stop()));
      this.#loops.clear();
    });
  }

  /** True where a set is enabled: the server must stay. */
  any(): boolean {
    return this.#loops.size > 0;
  }

  status(project?: string): SyncStatus[] {
    return [...this.#loops]
      .filter(([name]) => (project ?? name) === name)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, loop]) => loop.status());
  }

  subscribe(listener: (project: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A client changed resources of a project: a sync may have to set it right. */
  wrote(project: string): void {
    this.#loops.get(project)?.recheck();
  }

  enable(request: SyncEnable): Promise<SyncStatus> {
    const { store, clock } = this.#services;
    return this.#inTurn(async () => {
      const others = this.status().map(({ set }) => set);
      const set = await setToEnable(request, others, clock.now());
      await store.putSyncSet(set);
      const before = this.#loops.get(set.project);
      await before?.stop();
      const report = before?.status().report ?? EMPTY_REPORT;
      return this.#open({ set, report }, { isAwaited: true }).status();
    });
  }

  disable(project: string): Promise<boolean> {
    return this.#inTurn(async () => {
      await this.#loops.get(project)?.stop();
      const disabled = await this.#services.store.removeSyncSet(project);
      if (this.#loops.delete(project)) this.#tell(project);
      return disabled;
    });
  }

  now(project: string, allowEmpty: boolean): Promise<SyncStatus> {
    return this.#loopOf(project).now(allowEmpty ? { allowEmpty } : {});
  }

  async suspend(project: string, suspended: boolean): Promise<SyncStatus> {
    const loop = await this.#inTurn(async () => {
      const found = this.#loopOf(project);
      const set: SyncSet = { ...found.status().set, suspended };
      await this.#services.store.putSyncSet(set);
      found.configure(set);
      return found;
    });
    return loop.now();
  }

  /**
   * Prunes exactly the set that was shown: where another one waits by now, that one is held again.
   * @throws PRUNE_HELD, NOT_FOUND
   */
  async confirmPrune(project: string, hash: string): Promise<SyncStatus> {
    const loop = this.#loopOf(project);
    const waiting = loop.status().report.pendingPrune?.hash;
    if (waiting === undefined) throw nothingWaits(project);
    if (!waiting.startsWith(hash)) throw otherSet(hash, waiting);
    const status = await loop.now({ confirm: waiting, allowEmpty: true });
    const after = status.report.pendingPrune?.hash;
    if (after !== undefined) throw otherSet(hash, after);
    return status;
  }

  undelete(ref: ResourceRef): Promise<StoredResource> {
    return undelete(this.#services, ref, this.#loops.get(ref.project)?.reading() ?? {});
  }

  #open(stored: StoredSyncSet, how: { isAwaited?: boolean } = {}): SyncLoop {
    const { project } = stored.set;
    const onChange = (): void => this.#tell(project);
    const loop = new SyncLoop({ ...this.#services, onChange }, stored, openSource);
    this.#loops.set(project, loop);
    loop.start(how);
    this.#tell(project);
    return loop;
  }

  #tell(project: string): void {
    for (const listener of this.#listeners) listener(project);
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(step);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** @throws NOT_FOUND */
  #loopOf(project: string): SyncLoop {
    const loop = this.#loops.get(project);
    if (loop) return loop;
    throw new PiWorkflowsError("NOT_FOUND", `sync is not enabled for ${project}`, {
      hint: "Enable it with `pi-workflows sync enable`.",
    });
  }
}

function openSource(set: SyncSet, services: SourceServices): Source {
  const { source } = set;
  return source.kind === "committed"
    ? new CommittedSource(set, source.branch, services.onHint)
    : new WorkingTreeSource(set, services);
}

function nothingWaits(project: string): PiWorkflowsError {
  return new PiWorkflowsError("NOT_FOUND", `no prune waits for a confirmation in ${project}`, {
    hint: "See `pi-workflows sync status`.",
  });
}

function otherSet(given: string, waiting: string): PiWorkflowsError {
  return new PiWorkflowsError(
    "PRUNE_HELD",
    `${given.slice(0, 12)} is not the prune that waits; by now that is ${waiting.slice(0, 12)}`,
    {
      hint: "Review it with `pi-workflows sync status`, then confirm that one.",
      details: { hash: waiting },
    },
  );
}
