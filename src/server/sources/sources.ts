import type { ManagerRecord } from "../../model/batch.ts";
import { toPiWorkflowsError } from "../../model/errors.ts";
import type { Touched } from "../changes.ts";
import type { Registry } from "../registry.ts";
import { FilesSource } from "./files-source.ts";
import type { SourceServices } from "./waker.ts";
import { WatchSource } from "./watch-source.ts";

type Options = SourceServices & { registry: Registry };
type Held = { digest: string; files: FilesSource[]; watches: WatchSource[] };

/**
 * The sources of all accepted definitions that something outside must be watched for: files and
 * other resources. Those that go by time are queue rows (settle.ts); webhooks come by themselves.
 */
export class Sources {
  readonly #options: Options;
  readonly #held = new Map<number, Held>();
  /** By project and watched manager. */
  readonly #watches = new Map<string, Set<WatchSource>>();
  #unsubscribe: (() => void) | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Begins to watch for the definitions registered so far. */
  start(): void {
    this.#unsubscribe = this.#options.changes.subscribe((touched) => this.#touch(touched));
  }

  /** Watches for what a definition says now, and no longer for what it said before. */
  register(record: ManagerRecord): void {
    const before = this.#held.get(record.lane);
    if (before?.digest === record.digest) return;
    const held: Held = { digest: record.digest, files: [], watches: [] };
    for (const [index, source] of record.sources.entries()) {
      if (source.kind === "files") {
        held.files.push(new FilesSource(this.#options, record, index, source));
      } else if (source.kind === "watch") {
        held.watches.push(new WatchSource(this.#options, record, index, source));
      }
    }
    this.#held.set(record.lane, held);
    for (const watch of before?.watches ?? []) this.#watchesOf(record.project, watch).delete(watch);
    for (const watch of held.watches) this.#watchesOf(record.project, watch).add(watch);
    // One after another: what ends writes its mark before what follows reads it.
    this.#turn = this.#turn.then(() => this.#replace(record, before, held));
  }

  /** True while something is watched that only a running server sees. */
  any(): boolean {
    return [...this.#held.values()].some(({ files }) => files.length > 0);
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#turn;
    await Promise.all([...this.#held.values()].map(end));
    this.#held.clear();
  }

  async #replace({ project, name }: ManagerRecord, before: Held | undefined, held: Held) {
    const { registry, log, stopping } = this.#options;
    try {
      if (before) await end(before);
      if (stopping.aborted) return;
      const lane = (manager: string) => registry.find(project, manager)?.lane;
      await Promise.all([
        ...held.watches.map((watch) => watch.start(lane(watch.watched))),
        ...held.files.map((files) => files.start()),
      ]);
    } catch (thrown) {
      const error = toPiWorkflowsError(thrown);
      log.error("The sources of a manager could not be started", { project, manager: name, error });
    }
  }

  #touch(touched: readonly Touched[]): void {
    if (this.#watches.size === 0) return;
    for (const one of touched) {
      const watches = this.#watches.get(idOf(one.project, one.resourceManager));
      if (watches) for (const watch of watches) watch.touch([one]);
    }
  }

  #watchesOf(project: string, { watched }: WatchSource): Set<WatchSource> {
    const id = idOf(project, watched);
    const found = this.#watches.get(id) ?? new Set();
    this.#watches.set(id, found);
    return found;
  }
}

async function end({ files, watches }: Held): Promise<void> {
  await Promise.all([...files, ...watches].map((source) => source.stop()));
}

function idOf(project: string, manager: string): string {
  return `${manager}\0${project}`;
}
