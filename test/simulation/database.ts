import Database from "better-sqlite3";
import { Connection, type SqlValue } from "../../src/store/sqlite/connection.ts";
import type { World } from "./world.ts";

/** What wants to know of statements as they are made. */
export type StatementListener = {
  begun(): void;
  operationBegun(): void;
  operationUndone(): void;
};

/** The tables that invariants are about. */
const TABLES = ["resource", "queue", "effect", "run", "journal", "question"];

/** A connection whose writes fail now and then, as on a full disk or a busy file. */
export class FaultyConnection extends Connection {
  readonly #world: World;
  readonly #listener: StatementListener;
  /** Tables that may have been written to since they were taken. */
  #changed = new Set(TABLES);

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
    this.#note(sql);
    return changes;
  }

  override insert(sql: string, ...values: SqlValue[]): number {
    this.#mayFail(sql);
    this.#note(sql);
    return super.insert(sql, ...values);
  }

  /** Tables that may have been written to since this was asked last. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  #note(sql: string): void {
    const table = /^\s*(?:INSERT(?: OR \w+)? INTO|UPDATE(?: OR \w+)?) (\w+)/.exec(sql)?.[1];
    if (table !== undefined) this.#changed.add(table);
    // Deleting reaches other tables, and a rollback takes back what was written to any.
    else if (/^\s*(?:DELETE|ROLLBACK)/.test(sql)) for (const any of TABLES) this.#changed.add(any);
    else if (!/^(?:BEGIN|COMMIT|SAVEPOINT|RELEASE)/.test(sql)) throw new Error(`what is ${sql}?`);
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
    this.#world.note(TOLD[code]);
    // A full disk or a failed write may end the whole transaction before it says so.
    if (code !== "SQLITE_BUSY" && this.database.inTransaction && random.chance(0.5)) {
      this.database.exec("ROLLBACK");
      this.#note("ROLLBACK");
    }
    throw new Database.SqliteError("simulated", code);
  }
}

const FULL = ["SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC"] as const;
const TOLD = {
  SQLITE_BUSY: "database busy",
  SQLITE_FULL: "disk full",
  SQLITE_IOERR_WRITE: "disk failed",
  SQLITE_IOERR_FSYNC: "disk failed",
} as const;
