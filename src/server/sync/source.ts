import type { Origin } from "../../model/resource.ts";
import type { Problem } from "../../model/manifest.ts";
import type { SyncRevision } from "../../model/sync.ts";
import type { Clock } from "../../model/ports.ts";
import type { ResolveRequest } from "../../runner/resolver.ts";

/** What sources need of the server. */
export type SourceServices = {
  clock: Clock;
  /** The user's folder of definitions. */
  globalFolder: string;
  /** To be called whenever a look may be worth while. */
  onHint: () => void;
};

/** What a source is at: a revision, or why none can be told. */
export type Look = { revision: SyncRevision } | { trouble: Trouble };

/** Why a source can't be read: nothing is applied and nothing pruned while it lasts. */
export type Trouble = {
  /** CamelCase, for programs. */
  reason: string;
  /** A sentence that says what is wrong and what to do. */
  message: string;
};

/** The spec files of one revision. Paths are relative to the project. */
export type Listing = {
  /** What each file holds, as a hash of its content. */
  specs: Map<string, string>;
  /** What lies where spec files should, and can't be read as one. */
  problems: Problem[];
  /** Whether the project has workflows of its own. */
  hasWorkflows: boolean;
  /** Roots that are missing or unreadable, so that absence proves nothing. */
  absentRoots: string[];
  /** Files that differ from the revision compared with; undefined where that can't be told. */
  changed: ReadonlySet<string> | undefined;
  /** True where `specs` has the SHA-256 of files on disk, which may change while they are loaded. */
  isOfDisk: boolean;
};

/** What generations keep of where they came from. */
export type FileOrigin = Pick<Origin, "blob" | "commit" | "author" | "committedAt" | "dirty">;

/** A revision that is about to be applied; `since` is the one that was applied before. */
export type Applied = {
  revision: SyncRevision;
  listing: Listing;
  since: SyncRevision | undefined;
};

/**
 * Where a sync set's specs come from. Its hints carry nothing: they say that a look is worth while,
 * and a sweep looks now and then without one.
 */
export type Source = {
  /**
   * Says what it is at now; cheap where nothing changed. `isFresh` looks again without waiting for
   * a hint. Throws nothing but mistakes of ours.
   */
  look(isFresh: boolean): Promise<Look>;
  /** @throws PiWorkflowsError where the revision can't be read */
  list(revision: SyncRevision, since: SyncRevision | undefined): Promise<Listing>;
  /** What a resolver must know to read the files of this revision; call after a look. */
  reading(revision: SyncRevision): Pick<ResolveRequest, "revision">;
  /** What specs and definitions import, with the hash of what was loaded: changes of it count too. */
  include(modules: ReadonlyMap<string, string>): void;
  /** Where some files that are about to be applied came from. */
  originsOf(
    files: readonly string[],
    applied: Applied,
  ): Promise<(file: string | undefined) => FileOrigin>;
  /** Which commit removed which of some files that `revision` does not have, where it can be told. */
  removals(files: readonly string[], revision: SyncRevision): Promise<Map<string, SyncRevision>>;
  /** Why hints do not arrive, so that only sweeps notice; undefined where they do. */
  readonly deaf: string | undefined;
  close(): Promise<void>;
};
