import type Database from "better-sqlite3";

/** What a statement can be given. */
export type SqlValue = string | number | null;

/** One open database with its statements, each prepared once: that makes them 1.5 times as fast. */
export class Connection {
  readonly database: Database.Database;
  /** Told the lane of every key that is marked dirty, for those who count. */
  onEnqueue: ((lane: number) => void) | undefined;
  readonly #prepared = new Map<string, Database.Statement<SqlValue[], unknown>>();

  constructor(database: Database.Database) {
    this.database = database;
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the SQL says what a row is
  get<Row>(sql: string, ...values: SqlValue[]): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  all<Row>(sql: string, ...values: SqlValue[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  /** Rows as arrays of their columns: twice as fast as objects where there are thousands. */
  rows<Row extends unknown[]>(sql: string, ...values: SqlValue[]): Row[] {
    const statement = this.#statement(sql).raw(true);
    try {
      return statement.all(...values) as Row[];
    } finally {
      statement.raw(false);
    }
  }

  /** Returns how many rows changed. */
  run(sql: string, ...values: SqlValue[]): number {
    return this.#statement(sql).run(...values).changes;
  }

  /** Returns the row id of the row inserted. */
  insert(sql: string, ...values: SqlValue[]): number {
    return Number(this.#statement(sql).run(...values).lastInsertRowid);
  }

  #statement(sql: string): Database.Statement<SqlValue[], unknown> {
    let statement = this.#prepared.get(sql);
    if (!statement) {
      statement = this.database.prepare<SqlValue[], unknown>(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}
