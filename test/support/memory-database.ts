import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type Database from "better-sqlite3";
import { openDatabase } from "../../src/store/sqlite/database.ts";

// Where there is such a folder: a disk that is waited for after each commit makes them ten times slower.
const MEMORY = "/dev/shm";
let shared: Database.Database | undefined;

/**
 * The one database of this process, emptied: for tests that want thousands, one after another. Making
 * its tables and preparing its statements takes longer than most of what is done with one.
 */
export function emptyDatabase(): Database.Database {
  const database = (shared ??= make());
  if (database.inTransaction) throw new Error("whoever had the database is in a transaction");
  const found = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  database.pragma("foreign_keys = OFF");
  database.transaction(() => {
    for (const { name } of found as { name: string }[]) {
      database.prepare(`DELETE FROM ${name}`).run();
    }
  })();
  database.pragma("foreign_keys = ON");
  return database;
}

/** Of no rows; its statements are prepared once, whichever connection asks for them. */
function make(): Database.Database {
  const folder = mkdtempSync(path.join(existsSync(MEMORY) ? MEMORY : tmpdir(), "pi-workflows-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const database = openDatabase(path.join(folder, "state.sqlite"));
  const prepare = database.prepare.bind(database);
  const prepared = new Map<string, Database.Statement>();
  database.prepare = (sql: string) => {
    const statement = prepared.get(sql) ?? prepare(sql);
    prepared.set(sql, statement);
    return statement as never;
  };
  return database;
}
