import path from "node:path";
import type { Clock } from "../../model/ports.ts";
import { type GitOperation, OPERATION_MARKS, operationUnderWay } from "../git/operation.ts";
import { DEFINITIONS_FOLDER, WORKFLOWS_FOLDER } from "../project.ts";
import { type FolderHints, folderHints, type WatchFolder } from "./folder-hints.ts";
import { changedFiles, type Scan, type ScanRequest, scanWorkingTree } from "./scan.ts";
import {
  dueAt,
  firstTempo,
  hinted,
  pass,
  scanBegins,
  scanEnds,
  TEMPO,
  type Tempo,
} from "./tempo.ts";

/** What to watch, and how. */
export type WorkTreeOptions = Omit<ScanRequest, "imports"> & {
  /** The work tree's own git folder; undefined where there is no git. */
  gitDir: string | undefined;
  clock: Clock;
  /** Called where a state may follow soon, before it settled. */
  onHint?: () => void;
  watchFolder?: WatchFolder;
};

/** What keeps a work tree from being looked at. */
export type Hold = GitOperation & {
  /** On the monotonic clock. */
  since: number;
};

/** The files of a work tree as they settle. */
export type WorkTree = {
  /**
   * The latest state that settled, after whatever is under way; `wait` (milliseconds) bounds that.
   * Undefined where nothing settled within that time.
   */
  settled(wait: number): Promise<Scan | undefined>;
  /** Looks again without waiting for a hint. */
  lookAgain(): void;
  /**
   * Files that are looked at besides specs and definitions: what those import, as places name it,
   * with the hash of what was loaded.
   */
  include(imports: ReadonlyMap<string, string>): void;
  /** Files that changed since the state of that id settled; undefined where that is too long ago. */
  changedSince(id: string): ReadonlySet<string> | undefined;
  /** The operation of git that is waited for, if any. */
  readonly hold: Hold | undefined;
  /** Why events do not arrive, so that only sweeps notice; undefined while they do. */
  readonly deaf: string | undefined;
  close(): Promise<void>;
};

/**
 * Watches a work tree: hint → quiet period → no operation of git → one scan, again where something
 * moved meanwhile → `onChange`, once for each state that settled and differs from the one before.
 */
export function openWorkTree(options: WorkTreeOptions, onChange: (scan: Scan) => void): WorkTree {
  return new Engine(options, onChange);
}

// A sync that loads for long is called off by what is newer, so it asks for states that are recent.
const STATES_KEPT = 20;

class Engine implements WorkTree {
  readonly #options: WorkTreeOptions;
  readonly #onChange: (scan: Scan) => void;
  readonly #hints: FolderHints;
  #imports: ReadonlyMap<string, string> = new Map();
  /** By id of a state that settled, oldest first: what changed since. */
  readonly #changes = new Map<string, Set<string>>();
  #tempo: Tempo;
  /** The latest scan, taken or not: what the next one compares with. */
  #latest: Scan | undefined;
  #settled: Scan | undefined;
  #hold: Hold | undefined;
  #deafness: string | undefined;
  #probing: Promise<void> | undefined;
  #cancel = (): void => {};
  #scanning: Promise<void> | undefined;
  #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(options: WorkTreeOptions, onChange: (scan: Scan) => void) {
    this.#options = options;
    this.#onChange = onChange;
    this.#hints = folderHints((folder, name) => this.#hint(folder, name), options.watchFolder);
    this.#tempo = firstTempo(this.#now());
    this.#arm();
  }

  get hold(): Hold | undefined {
    return this.#hold;
  }

  get deaf(): string | undefined {
    return this.#hints.problem ?? this.#deafness;
  }

  async settled(wait: number): Promise<Scan | undefined> {
    const until = this.#now() + wait;
    while (this.#isUnsettled() && !this.#isClosed) {
      const left = until - this.#now();
      if (left <= 0) return this.#hold ? undefined : this.#settled;
      await this.#nextEnd(left);
    }
    return this.#settled;
  }

  lookAgain(): void {
    this.#tempo = hinted(this.#tempo, this.#now());
    this.#arm();
  }

  include(imports: ReadonlyMap<string, string>): void {
    this.#imports = imports;
  }

  changedSince(id: string): ReadonlySet<string> | undefined {
    return this.#changes.get(id);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    this.#hints.close();
    this.#wakeAll();
    await Promise.all([this.#scanning, this.#probing]);
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }

  #isUnsettled(): boolean {
    const { hints, recheckAt, isScanning, refusedSince } = this.#tempo;
    const isDoubted = recheckAt !== undefined || refusedSince !== undefined;
    return this.#settled === undefined || hints !== undefined || isScanning || isDoubted;
  }

  /** Resolves at the end of the next scan, or after `ms`. */
  #nextEnd(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.schedule(resolve, ms);
      this.#waiting.push(() => {
        cancel();
        resolve();
      });
    });
  }

  #wakeAll(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #hint(folder: string, name: string | null): void {
    // Git writes many other things into its folder, with each command.
    if (folder === this.#options.gitDir && !OPERATION_MARKS.has(name ?? "index.lock")) return;
    this.#options.onHint?.();
    this.lookAgain();
  }

  #arm(notBefore = 0): void {
    this.#cancel();
    if (this.#isClosed) return;
    const due = Math.max(dueAt(this.#tempo), notBefore);
    if (due === Infinity) return;
    this.#cancel = this.#options.clock.schedule(() => this.#due(), Math.max(0, due - this.#now()));
  }

  #due(): void {
    const now = this.#now();
    // The timer may have been set for something that a later hint put off.
    if (dueAt(this.#tempo) > now) return this.#arm();
    const { tempo, isOpen, lookAgainAt } = pass(this.#tempo, now, this.#operation());
    this.#tempo = tempo;
    if (!isOpen) return this.#arm(lookAgainAt);
    this.#scanning = this.#scan().finally(() => {
      this.#scanning = undefined;
      this.#wakeAll();
      this.#arm();
    });
  }

  #operation(): GitOperation | undefined {
    const { gitDir } = this.#options;
    const operation = gitDir === undefined ? undefined : operationUnderWay(gitDir);
    const since = this.#hold?.kind === operation?.kind ? this.#hold?.since : undefined;
    this.#hold = operation && { ...operation, since: since ?? this.#now() };
    return operation;
  }

  async #scan(): Promise<void> {
    const count = this.#tempo.hints?.count ?? 0;
    this.#tempo = scanBegins(this.#tempo);
    const request = { ...this.#options, imports: this.#imports };
    const scan = await scanWorkingTree(request, this.#latest, this.#now());
    this.#latest = scan;
    this.#watch(scan);
    const [folder] = scan.folders;
    if (folder !== undefined) this.#probing ??= this.#learnWhetherEventsArrive(folder);
    const { tempo, isTaken } = scanEnds(this.#tempo, this.#now(), {
      costMs: scan.costMs,
      doubtUntil: scan.doubtUntil,
      isDeaf: this.deaf !== undefined,
      isUnsure: scan.isRacy || count > TEMPO.burst,
      isHeld: this.#holdsNow(),
    });
    this.#tempo = tempo;
    if (!isTaken || this.#isClosed) return;
    const before = this.#settled;
    this.#settled = scan;
    if (before?.id === scan.id) return;
    if (before !== undefined) this.#note(changedFiles(before, scan, request));
    this.#changes.delete(scan.id);
    this.#changes.set(scan.id, new Set());
    this.#onChange(scan);
  }

  #note(changed: readonly string[]): void {
    const [oldest] = this.#changes.keys();
    if (oldest !== undefined && this.#changes.size >= STATES_KEPT) this.#changes.delete(oldest);
    for (const since of this.#changes.values()) for (const file of changed) since.add(file);
  }

  /** A lock that outlived its bound holds nothing any more. */
  #holdsNow(): boolean {
    const { tempo, isOpen } = pass(this.#tempo, this.#now(), this.#operation());
    this.#tempo = tempo;
    return !isOpen;
  }

  #watch({ folders, absentRoots }: Scan): void {
    if (this.#isClosed) return;
    const { project, gitDir } = this.#options;
    const wanted = new Set(folders);
    // A root that is missing appears in the nearest folder that is there.
    const absent = wanted.has(path.join(project, DEFINITIONS_FOLDER)) ? [] : [DEFINITIONS_FOLDER];
    for (const root of [...absentRoots, ...absent]) {
      for (let folder = root; folder !== "."; folder = path.dirname(folder)) {
        wanted.add(path.join(project, path.dirname(folder)));
      }
    }
    // Where the folder of definitions is there, so is the one that both lie in.
    if (!wanted.has(path.join(project, WORKFLOWS_FOLDER))) {
      wanted.add(path.join(project, path.dirname(WORKFLOWS_FOLDER)));
    }
    if (gitDir !== undefined) wanted.add(gitDir);
    // What was put into a new folder before it was watched has sent no event.
    if (this.#hints.watch(wanted)) this.#tempo = hinted(this.#tempo, this.#now());
  }

  async #learnWhetherEventsArrive(folder: string): Promise<void> {
    if (this.#isClosed || (await this.#hints.probe(folder))) return;
    this.#deafness = `no event arrives from ${folder}; its file system may send none`;
  }
}
