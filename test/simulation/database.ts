import Database from "better-sqlite3";
import { Connection, type SqlValue } from "../../src/store/sqlite/connection.ts";
import type { World } from "./world.ts";

/** What wants to know of statements as they are made. */
export type StatementListener = {
  begun(): void;
  operationBegun(): void;
  operationUndone(): void;
};

/** A connection whose writes fail now and then, as on a full disk or a busy file. */
export class FaultyConnection extends Connection {
  readonly #world: World;
  readonly #listener: StatementListener;
  /** Raised by every row that changes. */
  changes = 0;

  constructor(database: Database.Database, world: World, listener: StatementListener) {
    super(database);
    this.#world = world;
    this.#listener = listener;
  }

  override run(sql: string, ...values: SqlValue[]): number {
    this.#announce(sql);
    if (!/^(ROLLBACK|RELEASE)/.test(sql)) this.#mayFail(sql);
    const changes = super.run(sql, ...values);
    if (sql.startsWith("ROLLBACK TO")) this.#listener.operationUndone();
    this.changes += changes;
    return changes;
  }

  override insert(sql: string, ...values: SqlValue[]): number {
    this.#mayFail(sql);
    this.changes += 1;
    return super.insert(sql, ...values);
  }

  #announce(sql: string): void {
    if (sql.startsWith("BEGIN")) this.#listener.begun();
    else if (sql.startsWith("SAVEPOINT")) this.#listener.operationBegun();
  }

  #mayFail(sql: string): void {
    const { random, faults } = this.#world;
    if (faults.statement === 0 || !random.chance(faults.statement)) return;
    const isBegin = sql.startsWith("BEGIN");
    const code = isBegin || random.chance(0.3) ? "SQLITE_BUSY" : random.pick(FULL);
    this.#world.note(code);
    // A full disk or a failed write may end the whole transaction before it says so.
    if (code !== "SQLITE_BUSY" && this.database.inTransaction && random.chance(0.5)) {
      this.database.exec("ROLLBACK");
    }
    throw new Database.SqliteError("simulated", code);
  }
}

const FULL = ["SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC"] as const;
