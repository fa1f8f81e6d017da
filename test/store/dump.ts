import { createHash } from "node:crypto";
import Database from "better-sqlite3";

/** A fingerprint of every row of a database file. */
export function dumpOf(file: string): string {
  const database = new Database(file, { readonly: true });
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all() as string[];
  const hash = createHash("sha256");
  for (const table of tables) {
    hash.update(
      JSON.stringify([table, database.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).raw().all()]),
    );
  }
  database.close();
  return hash.digest("hex");
}
