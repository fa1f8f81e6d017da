// A process that does one operation on files under a folder. Bundled and started by points.ts with the
// library of shim.c, which copies the folder before each change of a file, or has changes fail.
// Arguments: operation, folder, and to have changes fail: SHIM_FAULT's file, errno, step. Then the
// operation is done again and again, each time on a copy of the folder, with the first change failing
// and all after it, then with the first `step` succeeding, and so on, until it succeeds.
import { cpSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import { backup, restore } from "../../src/server/backup.ts";
import { guarded } from "../../src/store/sqlite/errors.ts";
import { Connection } from "../../src/store/sqlite/connection.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { createStore } from "../../src/store/sqlite/store.ts";
import { countedIds, Driver, ManualClock } from "../store/words.ts";

const [operation = "", folder = "", control, errno, step] = process.argv.slice(2);

/** What a caller was told of each write; see `work`. */
type Told = { key: string; code?: string }[];
type Operation = (folder: string) => Promise<void | Told>;

// Of the log, so that it is copied into the database, and begun anew, during the work.
const CHECKPOINT_PAGES = 20;
const WRITES = 30;

const operations: Record<string, Operation> = {
  restore: async (place) => void (await restore(path.join(place, "home"), backupIn(place))),
  backup: async (place) => void (await backup(path.join(place, "home"), backupIn(place))),
  migrate: async (place) =>
    guarded(() => void openDatabase(path.join(place, "state.sqlite")).close()),
  async work(place) {
    const clock = new ManualClock();
    const connection = new Connection(openDatabase(path.join(place, "state.sqlite")));
    connection.database.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    const store = createStore(connection, { clock, ids: countedIds() });
    const driver = await new Driver(store, clock).begin("m");
    const told: Told = [];
    for (let index = 0; index < WRITES; index += 1) {
      const key = `key ${index}`;
      await driver.put(key, "x".repeat(3_000)).then(
        () => told.push({ key }),
        (thrown: unknown) => told.push({ key, code: codeOf(thrown) }),
      );
    }
    return told;
  },
};

function backupIn(place: string): string {
  return path.join(place, "backup");
}

function codeOf(thrown: unknown): string {
  const { code, message } = thrown as { code?: string; message?: string };
  return `${code}: ${message}`;
}

const run = operations[operation] as Operation;
if (control === undefined) await run(folder);
else {
  const descriptor = openSync(control, "r+");
  const fail = (error: number, left: number): void => {
    const bytes = Buffer.alloc(16);
    bytes.writeBigInt64LE(BigInt(error));
    bytes.writeBigInt64LE(BigInt(left), 8);
    writeSync(descriptor, bytes, 0, 16, 0);
  };
  for (let left = 0, isOver = false; !isOver; left += Number(step)) {
    const place = `${folder}-${left}`;
    cpSync(folder, place, { recursive: true, filter: (from) => !from.endsWith(".sock") });
    fail(Number(errno), left);
    const end = await run(place).then(
      (told) => ({ told: told ?? undefined }),
      (thrown: unknown) => ({ code: codeOf(thrown) }),
    );
    fail(0, 0);
    const failed = "code" in end || end.told?.some(({ code }) => code !== undefined) === true;
    isOver = !failed;
    process.send?.({ place, left, ...end });
  }
}
process.exit(0);
