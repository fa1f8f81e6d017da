// A process that works on a store and says in `acks` what was acknowledged. Bundled and started by
// power.test.ts with the library that notes what reaches the disk. Arguments: file, rounds, and
// `NORMAL` or `FULL`.
import { appendFileSync } from "node:fs";
import path from "node:path";
import { Connection } from "../../src/store/sqlite/connection.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { createStore } from "../../src/store/sqlite/store.ts";
import { countedIds, Driver, EFFECT, ManualClock, SETTLED } from "../store/words.ts";

const [file = "", rounds = "0", synchronous = "FULL"] = process.argv.slice(2);
const acks = path.join(path.dirname(file), "acks");
const TEXT = "x".repeat(5_000);
// Of the log, so that it is copied into the database, and begun anew, many times.
const CHECKPOINT_PAGES = 100;
const LANES = 3;

function acknowledged(kind: "spec" | "begun" | "applied" | "opened", key = "", number = 0): void {
  appendFileSync(acks, `${kind} ${key} ${number}\n`);
}

const clock = new ManualClock();
const connection = new Connection(openDatabase(file));
const store = createStore(connection, { clock, ids: countedIds() });
const driver = await new Driver(store, clock).begin("edited", "worked");
connection.database.pragma(`synchronous = ${synchronous}`);
connection.database.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
acknowledged("opened");

/** Specs of one key, one after another; the lanes share commits as clients do. */
async function edit(lane: number): Promise<void> {
  for (let number = 1; number <= Number(rounds); number += 1) {
    const key = `edited ${lane}`;
    await driver.put(key, { number, text: TEXT }, { manager: "edited" });
    acknowledged("spec", key, number);
  }
}

/** Effects, with the claim and the settle of their passes, which no client waits for. */
async function work(): Promise<void> {
  for (let number = 1; number <= Number(rounds); number += 1) {
    const key = `worked ${number}`;
    await driver.put(key, { number }, { manager: "worked" });
    acknowledged("spec", key, number);
    const [claimed] = await driver.claim(1, ["worked"]);
    if (!claimed) throw new Error("what was put was not ready");
    const { effect } = await store.beginEffect(claimed.claim, EFFECT);
    // From here on the provider may be called.
    acknowledged("begun", key);
    const { requestFingerprint } = effect;
    const outcome = { state: "applied" as const, externalRef: "abc" };
    await store.settleEffect(claimed.claim, { key: EFFECT.key, requestFingerprint, outcome });
    acknowledged("applied", key);
    await driver.settle(claimed, SETTLED);
  }
}

await Promise.all([...Array.from({ length: LANES }, (_, lane) => edit(lane)), work()]);
// No close: it would copy everything into the database. The power goes off under a running server.
process.kill(process.pid, "SIGKILL");
