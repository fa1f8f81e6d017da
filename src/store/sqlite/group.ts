import { PiWorkflowsError } from "../../model/errors.ts";
import type { Probe } from "../../model/ports.ts";
import type { Connection } from "./connection.ts";
import { toStoreError } from "./errors.ts";
import type { QueueTime } from "./queue-time.ts";
import { Transaction } from "./transaction.ts";

/** A group is bounded so that the event loop turns (goal M5) and answers are not late. */
const GROUP_OPERATIONS = 100;
const GROUP_MS = 10;

/**
 * `synced` writes are on the disk when they are answered. `deferred` ones are there when a later
 * synced write is: for what means nothing before that. The log is recovered up to a point, so a
 * power cut can't take an earlier write and leave a later one.
 */
type Durability = "synced" | "deferred";

type Operation = {
  name: string;
  durability: Durability;
  work: (tx: Transaction) => unknown;
  resolve: (value: never) => void;
  reject: (error: PiWorkflowsError) => void;
};
type Done = { operation: Operation; result?: unknown; error?: PiWorkflowsError };

type GroupOptions = {
  probe?: Probe | undefined;
  /** Sees every error before it is told. */
  onError?: (error: PiWorkflowsError) => void;
};

/**
 * Group commit: the writes that arrive in one turn of the event loop are one transaction, so that
 * they share its fsync. Each runs in its own savepoint, and none is answered before the commit.
 *
 * Probe points, in order: `store.NAME.written` after an operation, `store.commit` before and
 * `store.committed` after the commit, `store.NAME.committed` before its answer.
 */
export class GroupCommit {
  readonly #connection: Connection;
  readonly #time: QueueTime;
  readonly #probe: Probe;
  readonly #onError: (error: PiWorkflowsError) => void;
  #waiting: Operation[] = [];
  #scheduled = false;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(connection: Connection, time: QueueTime, { probe, onError }: GroupOptions = {}) {
    this.#connection = connection;
    this.#time = time;
    this.#probe = probe ?? (() => undefined);
    this.#onError = onError ?? (() => undefined);
  }

  /** Runs `work` in the next group. Resolves when it is durable, as asked for. */
  write<Result>(
    name: string,
    work: (tx: Transaction) => Result,
    durability: Durability = "synced",
  ): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (this.#closed) {
        reject(new PiWorkflowsError("SERVER_STOPPING", "the store is closed"));
        return;
      }
      this.#waiting.push({ name, durability, work, resolve, reject });
      this.#schedule();
    });
  }

  /** Commits what is waiting; later writes are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#commitGroup();
      this.#schedule();
      if (this.#waiting.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
    });
  }

  #commitGroup(): void {
    const group = this.#waiting.splice(0, GROUP_OPERATIONS);
    const done: Done[] = [];
    try {
      this.#unsynced(group, () => this.#transact(group, done));
    } catch (thrown) {
      this.#rollBack();
      const error = this.#errorOf(thrown);
      for (const [index, operation] of group.entries())
        operation.reject(done[index]?.error ?? error);
      return;
    }
    this.#waiting.unshift(...group.slice(done.length));
    for (const one of done) this.#answer(one);
  }

  #transact(group: Operation[], done: Done[]): void {
    const { database } = this.#connection;
    this.#connection.run("BEGIN IMMEDIATE");
    const tx = new Transaction(this.#connection, this.#time.read());
    const begun = performance.now();
    for (const operation of group) {
      const one = this.#attempt(tx, operation);
      done.push(one);
      if (!database.inTransaction) throw one.error ?? new Error("the transaction ended early");
      if (performance.now() - begun > GROUP_MS) break;
    }
    tx.finish();
    void this.#probe("store.commit", { operations: done.length });
    this.#connection.run("COMMIT");
    void this.#probe("store.committed", { operations: done.length });
  }

  /** Runs `work` without syncing what it commits, where every operation allows it. */
  #unsynced(group: Operation[], work: () => void): void {
    if (group.some(({ durability }) => durability === "synced")) {
      work();
      return;
    }
    const { database } = this.#connection;
    database.pragma("synchronous = NORMAL");
    try {
      work();
    } finally {
      // Refused inside a transaction, so one that failed must be over.
      this.#rollBack();
      database.pragma("synchronous = FULL");
    }
  }

  #attempt(tx: Transaction, operation: Operation): Done {
    try {
      const result = tx.isolated(() => {
        const value = operation.work(tx);
        void this.#probe(`store.${operation.name}.written`);
        return value;
      });
      return { operation, result };
    } catch (error) {
      return { operation, error: this.#errorOf(error) };
    }
  }

  #answer({ operation, result, error }: Done): void {
    if (error) {
      operation.reject(error);
      return;
    }
    try {
      void this.#probe(`store.${operation.name}.committed`);
      operation.resolve(result as never);
    } catch (thrown) {
      operation.reject(toStoreError(thrown));
    }
  }

  #errorOf(thrown: unknown): PiWorkflowsError {
    const error = toStoreError(thrown);
    this.#onError(error);
    return error;
  }

  #rollBack(): void {
    if (!this.#connection.database.inTransaction) return;
    try {
      this.#connection.run("ROLLBACK");
    } catch {
      // The transaction is over either way; the first error is the one worth telling.
    }
  }
}
