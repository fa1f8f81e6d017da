import type { ApplyBatch, BatchReceipt } from "../../src/model/batch.ts";
import { canonicalJson, fingerprint, fingerprintText } from "../../src/model/canonical.ts";
import type { PiWorkflowsError } from "../../src/model/errors.ts";
import type { Desired, Problem } from "../../src/model/manifest.ts";
import { EMPTY_REPORT, type SyncRevision, type SyncSet } from "../../src/model/sync.ts";
import { nothingResolved, type Resolution } from "../../src/runner/resolver.ts";
import type { ResolveRequest } from "../../src/runner/resolver.ts";
import { createChanges } from "../../src/server/changes.ts";
import type { SyncStatus } from "../../src/server/protocol.ts";
import { SyncLoop } from "../../src/server/sync/loop.ts";
import type { Consent } from "../../src/server/sync/plan-revision.ts";
import type { Look, Source } from "../../src/server/sync/source.ts";
import { VirtualClock } from "../server/virtual-clock.ts";
import { PROJECT, resolvedManager, sqliteStore } from "../store/support.ts";

export { PROJECT };

export const SET: SyncSet = {
  project: PROJECT,
  source: { kind: "committed", branch: "main" },
  roots: ["specs"],
  prune: true,
  suspended: false,
  enabledAt: 0,
  enabledBy: "ada",
};
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** What one spec file says: widgets by key, or what is wrong with it. */
type File = Record<string, Widget> | string;
type Widget = { size: number } & Partial<Pick<Desired, "dependsOn" | "labels" | "prune">>;
type Files = Record<string, File>;

/** Where the only widget of `key` is declared, unless a test says otherwise. */
export const fileOf = (key: string): string => `specs/${key}.resource.json`;

/** A file for each widget. */
export function widgets(sizes: Record<string, number | Widget>): Files {
  const files = Object.entries(sizes).map(([key, given]): [string, File] => [
    fileOf(key),
    { [key]: typeof given === "number" ? { size: given } : given },
  ]);
  return Object.fromEntries(files);
}

/**
 * A sync whose source is a list of commits in memory and whose resolver reads them; the store is a
 * real one. Nothing is a process, so that the clock alone drives it.
 */
export class World {
  readonly clock = new VirtualClock();
  readonly store = sqliteStore().store;
  /** Each load: the commit, and the files of it that were read. */
  readonly loads: { commit: string; files: string[] }[] = [];
  loading = 0;
  atOnce = 0;
  trouble: Look | undefined;
  fault: PiWorkflowsError | undefined;
  hold: Promise<void> | undefined;
  hint = (): void => {};
  /** Files that the resolver passes over without a word. */
  readonly unread = new Set<string>();
  /** The digest of the definition, as it is loaded. */
  digest = resolvedManager("widget").digest;
  readonly set: SyncSet;
  readonly loop: SyncLoop;
  /** Commits what apply sends, as the store does unless a test says otherwise. */
  commitBatch = (batch: ApplyBatch): Promise<BatchReceipt> => this.store.applyBatch(batch);
  readonly #commits: Files[] = [];

  constructor(set: Partial<SyncSet> = {}) {
    const { store, clock } = this;
    this.set = { ...SET, ...set };
    this.loop = new SyncLoop(
      {
        store,
        clock,
        log: SILENT,
        changes: createChanges(),
        resolver: { prepare: () => undefined, resolve: this.#resolve },
        globalFolder: "/none",
        random: () => 0,
        onChange: () => undefined,
        target: {
          snapshot: (project) => store.snapshot(project),
          specs: (uids) => store.specs(uids),
          acceptManagers: () => Promise.resolve([]),
          acceptWorkflows: () => Promise.resolve([]),
          commit: (batch) => this.commitBatch(batch),
        },
      },
      { set: this.set, report: EMPTY_REPORT },
      (_set, { onHint }) => {
        this.hint = onHint;
        return this.#source;
      },
    );
  }

  /** Makes `files` the newest commit, without a hint. Commits are `r1`, `r2` and so on. */
  commit(files: Files): void {
    this.#commits.push(files);
  }

  /** Begins with a first commit; what the test does from here on is driven by the clock. */
  async start(files: Files = widgets({ a: 1 })): Promise<void> {
    this.commit(files);
    await this.store.acceptManager(PROJECT, resolvedManager("widget"));
    await this.store.putSyncSet(this.set);
    this.loop.start();
    await this.clock.advance(0);
  }

  /** Commits, and syncs what that is. */
  async sync(files: Files, consent: Consent = {}): Promise<SyncStatus> {
    this.commit(files);
    return this.now(consent);
  }

  /** Syncs, and gives the status once it rests. */
  async now(consent: Consent = {}): Promise<SyncStatus> {
    const answer = this.loop.now(consent);
    await this.clock.advance(0);
    await answer;
    return this.loop.status();
  }

  revision(): string | undefined {
    return this.loop.status().report.attempted?.revision.id;
  }

  /** Sizes of the widgets in the store, by key. */
  async sizes(): Promise<Record<string, number>> {
    const { resources } = await this.store.snapshot(PROJECT);
    const specs = await this.store.specs(resources.map(({ uid }) => uid));
    const sizes = resources.map(({ key, uid }): [string, number] => {
      const { size } = JSON.parse(specs.get(uid) ?? "{}") as { size: number };
      return [key, size];
    });
    return Object.fromEntries(sizes.sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  readonly #source: Source = {
    look: () => Promise.resolve(this.trouble ?? { revision: revisionOf(this.#commits.length) }),
    list: (revision, since) => {
      const specs = contents(this.#filesOf(revision.id));
      const before = since && contents(this.#filesOf(since.id));
      return Promise.resolve({
        specs,
        problems: [],
        hasWorkflows: false,
        absentRoots: [],
        changed: before && differences(before, specs),
        isOfDisk: false,
      });
    },
    reading: (revision) => ({ revision: { gitDir: "/none", commit: revision.id } }),
    originsOf: (_files, { revision }) => Promise.resolve(() => ({ commit: revision.id })),
    include: () => undefined,
    removals: (files, revision) =>
      Promise.resolve(
        new Map(
          files.map((file) => [file, { ...revision, author: "Ada <ada@x>", subject: "tidy" }]),
        ),
      ),
    deaf: undefined,
    close: () => Promise.resolve(),
  };

  #filesOf(id: string): Files {
    return this.#commits[Number(id.slice(1)) - 1] ?? {};
  }

  readonly #resolve = async ({ revision, files, signal }: ResolveRequest): Promise<Resolution> => {
    const commit = revision?.commit ?? "";
    const names = files.map((file) => file.slice(PROJECT.length + 1));
    this.loads.push({ commit, files: names });
    this.loading += 1;
    this.atOnce = Math.max(this.atOnce, this.loading);
    try {
      const aborted = new Promise<void>((done) => signal?.addEventListener("abort", () => done()));
      await Promise.race([this.hold, aborted]);
      signal?.throwIfAborted();
      if (this.fault) throw this.fault;
      return this.#read(names, this.#filesOf(commit));
    } finally {
      this.loading -= 1;
    }
  };

  #read(names: readonly string[], files: Files): Resolution {
    const read = names.filter((name) => !this.unread.has(name));
    const managers = [{ ...resolvedManager("widget"), digest: this.digest, bundle: "" }];
    const desired = read.flatMap((name) => declarations(name, files[name] ?? {}));
    const problems = read.flatMap((name) => problemsOf(name, files[name] ?? {}));
    const hashes = read.map((file) => ({ file, sha256: fingerprint(files[file]) }));
    return { ...nothingResolved(), desired, problems, managers, files: hashes };
  }
}

function revisionOf(number: number): SyncRevision {
  return { id: `r${number}`, kind: "commit", tree: `t${number}` };
}

function contents(files: Files): Map<string, string> {
  return new Map(Object.entries(files).map(([name, file]) => [name, fingerprint(file)]));
}

function differences(before: Map<string, string>, now: Map<string, string>): Set<string> {
  const names = [...before.keys(), ...now.keys()];
  return new Set(names.filter((name) => before.get(name) !== now.get(name)));
}

function declarations(file: string, content: File): Desired[] {
  if (typeof content === "string") return [];
  return Object.entries(content).map(([key, { size, ...more }], index) => {
    const spec = canonicalJson({ size });
    return {
      resourceManager: "widget",
      key,
      spec,
      specHash: fingerprintText(spec),
      initialStatus: "{}",
      labels: {},
      dependsOn: [],
      place: { file, line: index + 1, column: 1 },
      ...more,
    };
  });
}

function problemsOf(file: string, content: File): Problem[] {
  return typeof content === "string"
    ? [{ file, line: 1, column: 1, path: "", message: content }]
    : [];
}
