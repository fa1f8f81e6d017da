import { byteLength, LIMITS } from "../../model/limits.ts";
import type { JournalEntry, JournalInput } from "../../model/run.ts";
import type { RunHost } from "../run-port.ts";

/** Gives every line of a run's journal, oldest first, a page at a time. */
export async function forEachEntry(
  host: Pick<RunHost, "readJournal">,
  visit: (entry: JournalEntry) => void,
): Promise<void> {
  for (let after = 0; ;) {
    const page = await host.readJournal(after, LIMITS.journalPage);
    for (const entry of page) visit(entry);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.sequence;
  }
}

/** One batch ends here, so that a store is never given much at once. */
const BATCH_BYTES = 1024 * 1024;

/**
 * Appends to a run's journal in batches, in the order of `append`, without waiting for each: lines
 * that end pure nodes need not be durable before the next begins. Whoever acts on the outside world
 * waits for `durable` first.
 */
export class JournalWriter {
  readonly #host: Pick<RunHost, "appendJournal">;
  readonly #onLost: (thrown: unknown) => void;
  #batch: JournalInput[] = [];
  #batchBytes = 0;
  #inFlight = 0;
  #last: Promise<void> = Promise.resolve();
  #waiting: (() => void)[] = [];
  #isLost = false;

  /** `onLost` is told once, when a line can't be kept: the pass must end. */
  constructor(host: Pick<RunHost, "appendJournal">, onLost: (thrown: unknown) => void) {
    this.#host = host;
    this.#onLost = onLost;
  }

  append(entry: JournalInput): void {
    if (this.#isLost) return;
    this.#batch.push(entry);
    this.#batchBytes += sizeOf(entry);
    if (this.#batch.length >= LIMITS.journalPage || this.#batchBytes >= BATCH_BYTES) this.flush();
  }

  /** Sends what has been appended on its way. */
  flush(): void {
    if (this.#batch.length === 0 || this.#isLost) return;
    const [entries, bytes] = [this.#batch, this.#batchBytes];
    this.#batch = [];
    this.#batchBytes = 0;
    this.#inFlight += bytes;
    const sent = this.#host.appendJournal(entries).then(
      () => this.#onDurable(bytes),
      (thrown: unknown) => this.#lose(thrown),
    );
    this.#last = Promise.all([this.#last, sent]).then(() => undefined);
  }

  /** Resolves when everything appended so far is durable. False where it can't be any more. */
  async durable(): Promise<boolean> {
    this.flush();
    await this.#last;
    return !this.#isLost;
  }

  /** True while so much is on its way that no more should be made. */
  get isFull(): boolean {
    return this.#inFlight >= LIMITS.journalInFlight;
  }

  /** Resolves when that has become less. */
  room(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isFull) this.#waiting.push(resolve);
      else resolve();
    });
  }

  #onDurable(bytes: number): void {
    this.#inFlight -= bytes;
    if (!this.isFull) this.#wake();
  }

  #lose(thrown: unknown): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#inFlight = 0;
    this.#batch = [];
    this.#wake();
    this.#onLost(thrown);
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

const LINE_BYTES = 200;

function sizeOf(entry: JournalInput): number {
  const input = "input" in entry ? sizeOfValue(entry.input) : 0;
  const output = "output" in entry ? sizeOfValue(entry.output) : 0;
  return LINE_BYTES + input + output;
}

function sizeOfValue(value: unknown): number {
  return value === undefined ? 0 : byteLength(JSON.stringify(value));
}
