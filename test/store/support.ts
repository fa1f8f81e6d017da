import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach } from "vitest";
import type { Ids, Probe } from "../../src/model/ports.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import { Connection } from "../../src/store/sqlite/connection.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { createStore } from "../../src/store/sqlite/store.ts";
import { countedIds, ManualClock } from "./words.ts";

export * from "./words.ts";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Runs after the test, last in first out. */
export function onTestEnd(cleanup: () => Promise<void> | void): void {
  cleanups.push(cleanup);
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "pi-workflows-store-"));
  onTestEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export type OpenedStore = {
  store: ResourceManagerStore;
  connection: Connection;
  path: string;
  clock: ManualClock;
};

/** A store on a real file; closed and deleted after the test. */
export function sqliteStore(
  options: { path?: string; clock?: ManualClock; ids?: Ids; probe?: Probe } = {},
): OpenedStore {
  const file = options.path ?? path.join(temporaryFolder(), "state.sqlite");
  const clock = options.clock ?? new ManualClock();
  const connection = new Connection(openDatabase(file));
  const ids = options.ids ?? countedIds();
  const store = createStore(connection, {
    clock,
    ids,
    ...(options.probe ? { probe: options.probe } : {}),
  });
  onTestEnd(() => store.close());
  return { store, connection, path: file, clock };
}
