import { existsSync } from "node:fs";
import type { ManagerRecord } from "../../model/batch.ts";
import { toPiWorkflowsError } from "../../model/errors.ts";
import { LIMITS } from "../../model/limits.ts";
import type { SourceCause } from "../../model/queue.ts";
import type { SourceOf } from "../../model/source.ts";
import {
  changedFiles,
  findFiles,
  fingerprintFiles,
  type FoundFiles,
} from "../../sources/watched-files.ts";
import { folderHints, type FolderHints } from "../../sources/working-tree/folder-hints.ts";
import { createRetry } from "./retry.ts";
import { ALL_KEYS, askForKeys, wakeKeys, type SourceServices } from "./waker.ts";

/** One save is several events: a look begins when none came for so long, or after the longest. */
const QUIET_MS = 100;
const LONGEST_MS = 1_000;
/** Looks without a hint, for events that were lost, and where none arrive. */
const SWEEP_MS = 60_000;
const DEAF_SWEEP_MS = 5_000;
/** A look may take this part of the time between two. */
const SWEEP_SHARE = 0.005;

/**
 * One `files(globs, map)` of an accepted definition. Events are hints that lead to a look at all
 * matching files; what differs from the look before is what changed. A mark in the store tells
 * whether something changed while no server ran.
 */
export class FilesSource {
  readonly #services: SourceServices;
  readonly #record: ManagerRecord;
  readonly #index: number;
  readonly #source: SourceOf<"files">;
  readonly #hints: FolderHints;
  readonly #retry;
  /** What was told of last. */
  #known: ReadonlyMap<string, string> | undefined;
  #timer: { at: number; cancel: () => void } | undefined;
  #hintedSince: number | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;
  #warned = false;

  constructor(
    services: SourceServices,
    record: ManagerRecord,
    index: number,
    source: SourceOf<"files">,
  ) {
    this.#services = services;
    this.#record = record;
    this.#index = index;
    this.#source = source;
    this.#hints = folderHints(() => this.#hint());
    this.#retry = createRetry(services.clock, () => this.#lookIn(0));
  }

  /** Begins to watch; what changed since the mark wakes every resource. */
  start(): Promise<void> {
    this.#looking = this.#look();
    return this.#looking;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#hints.close();
    this.#retry.stop();
    this.#timer?.cancel();
    await this.#looking;
  }

  #hint(): void {
    const now = this.#services.clock.monotonic();
    this.#hintedSince ??= now;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#lookIn(Math.max(0, Math.min(QUIET_MS, this.#hintedSince + LONGEST_MS - now)));
  }

  #lookIn(delayMs: number): void {
    const { clock } = this.#services;
    const at = clock.monotonic() + delayMs;
    if (this.#stopped || (this.#timer && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    const cancel = clock.schedule(() => {
      this.#timer = undefined;
      // A look under way ends with a look at what was hinted at meanwhile.
      if (!this.#looking) this.#looking = this.#look();
    }, delayMs);
    this.#timer = { at, cancel };
  }

  async #look(): Promise<void> {
    const { clock, log } = this.#services;
    const began = clock.monotonic();
    this.#hintedSince = undefined;
    try {
      await this.#lookOnce();
      this.#retry.reset();
    } catch (thrown) {
      const error = toPiWorkflowsError(thrown);
      if (!this.#stopped)
        log.warn("Watched files could not be passed on; tried again", this.#fields({ error }));
      this.#retry.later();
    }
    this.#looking = undefined;
    if (this.#stopped) return;
    if (this.#hintedSince !== undefined) return this.#lookIn(QUIET_MS);
    const sweep = this.#hints.problem === undefined ? SWEEP_MS : DEAF_SWEEP_MS;
    this.#lookIn(Math.max(sweep, (clock.monotonic() - began) / SWEEP_SHARE));
  }

  async #lookOnce(): Promise<void> {
    const { project } = this.#record;
    // A project that is gone for now, an unmounted disk, is no change of every file.
    if (!existsSync(project)) return;
    let found = await findFiles(project, this.#source.globs, LIMITS.watchedFiles);
    // What changed between the look and the first event of a new folder would be missed.
    if (!this.#stopped && this.#hints.watch(found.folders)) {
      found = await findFiles(project, this.#source.globs, LIMITS.watchedFiles);
    }
    if (found.isCut && !this.#warned) {
      this.#warned = true;
      const most = LIMITS.watchedFiles;
      this.#services.log.warn("More files match than are watched", this.#fields({ most }));
    }
    if (!this.#stopped) await this.#tell(found);
  }

  async #tell({ files, newestAt }: FoundFiles): Promise<void> {
    const { store } = this.#services;
    const mark = fingerprintFiles(files);
    const name = `files:${this.#index}`;
    if (this.#known === undefined) {
      const before = await store.sourceMark(this.#record.lane, name);
      // A source that is new has missed nothing but what a first pass may have been too early for.
      const isLate = before === undefined ? newestAt >= this.#record.acceptedAt : before !== mark;
      if (isLate) await this.#wake(ALL_KEYS);
      if (before !== mark) await store.putSourceMark(this.#record.lane, name, mark);
    } else {
      const changed = changedFiles(this.#known, files);
      if (changed.length === 0) return;
      await this.#wake(await this.#keysOf(changed));
      await store.putSourceMark(this.#record.lane, name, mark);
    }
    this.#known = files;
  }

  #wake(keys: readonly string[]): Promise<number> {
    const cause: SourceCause = `files:${this.#source.globs.join(", ")}`;
    return wakeKeys(this.#services, this.#record, keys, {
      cause: cause.slice(0, 256) as SourceCause,
    });
  }

  /** @throws where map fails */
  async #keysOf(paths: string[]): Promise<readonly string[]> {
    if (!this.#source.mapped || paths.length > LIMITS.mappedPaths) return ALL_KEYS;
    const input = { kind: "files", paths } as const;
    const outcome = await askForKeys(this.#services, this.#record, this.#index, input);
    if (outcome.kind === "keys") return outcome.keys;
    throw new Error(`map ${outcome.kind}: ${outcome.message}`);
  }

  #fields(more: Record<string, unknown>): Record<string, unknown> {
    const { project, name } = this.#record;
    return { project, manager: name, globs: this.#source.globs, ...more };
  }
}
