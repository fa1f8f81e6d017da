import type { Connection, SqlValue } from "./connection.ts";
import type { Reading } from "./queue-time.ts";
import type { QuietTimes } from "./quiet.ts";

type State = { epoch: number; sequence: number; revision: number };

/** One write transaction: the statements, one reading of the clock, and the store's sequence. */
export class Transaction {
  /** Wall time: what people see. */
  readonly now: number;
  /** What `ready_at` and claim times are compared with. */
  readonly queueTime: number;
  /** Since when open effects were surely not called. */
  readonly quiet: QuietTimes;
  readonly #connection: Connection;
  readonly #begun: State;
  #epoch: number;
  #sequence: number;
  #revision: number;

  constructor(connection: Connection, reading: Reading & { quiet: QuietTimes }) {
    this.#connection = connection;
    this.now = reading.now;
    this.queueTime = reading.queueTime;
    this.quiet = reading.quiet;
    this.#begun = connection.get<State>(
      "SELECT epoch, sequence, revision FROM store_state",
    ) as State;
    this.#epoch = this.#begun.epoch;
    this.#sequence = this.#begun.sequence;
    this.#revision = this.#begun.revision;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** The version of the latest change of a resource, this transaction's so far included. */
  get revision(): number {
    return this.#revision;
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the SQL says what a row is
  get<Row>(sql: string, ...values: SqlValue[]): Row | undefined {
    return this.#connection.get<Row>(sql, ...values);
  }

  all<Row>(sql: string, ...values: SqlValue[]): Row[] {
    return this.#connection.all<Row>(sql, ...values);
  }

  run(sql: string, ...values: SqlValue[]): number {
    return this.#connection.run(sql, ...values);
  }

  insert(sql: string, ...values: SqlValue[]): number {
    return this.#connection.insert(sql, ...values);
  }

  /** The next number of the store-wide sequence; one that is rolled back is never used again. */
  next(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  /** A key of the lane is marked dirty. */
  enqueued(lane: number): void {
    this.#connection.onEnqueue?.(lane);
  }

  /** Leaves out so many numbers of the sequence. */
  skip(count: number): void {
    this.#sequence += count;
  }

  /** The version that a change of a resource gets; raises the store's revision. */
  nextVersion(): number {
    this.#revision = this.next();
    return this.#revision;
  }

  beginEpoch(): number {
    this.#epoch += 1;
    this.next();
    return this.#epoch;
  }

  /** Queue time as people see it. */
  toWall(queueTime: number): number {
    return queueTime - (this.queueTime - this.now);
  }

  toQueueTime(wall: number): number {
    return wall + (this.queueTime - this.now);
  }

  /** Runs one operation so that, if it throws, all that it wrote is undone. */
  isolated<Result>(work: () => Result): Result {
    const revision = this.#revision;
    this.run("SAVEPOINT operation");
    try {
      const result = work();
      this.run("RELEASE operation");
      return result;
    } catch (error) {
      this.#revision = revision;
      // A full disk or an I/O error may have ended the whole transaction already.
      if (this.#connection.database.inTransaction) {
        this.run("ROLLBACK TO operation");
        this.run("RELEASE operation");
      }
      throw error;
    }
  }

  /** Writes the counters; call right before COMMIT. */
  finish(): void {
    if (this.#sequence === this.#begun.sequence) return;
    this.run(
      `UPDATE store_state
       SET epoch = ?, sequence = ?, revision = ?, queue_time = ?`,
      this.#epoch,
      this.#sequence,
      this.revision,
      this.queueTime,
    );
  }
}
