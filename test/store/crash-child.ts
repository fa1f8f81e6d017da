// A process that works on a store and kills itself at a given probe point. Bundled and started by
// crash.test.ts. Arguments: file, story, number of the probe point at which to die (0: never).
import { appendFileSync } from "node:fs";
import Database from "better-sqlite3";
import type { ApplyChange } from "../../src/model/batch.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { dumpOf } from "./dump.ts";
import {
  ASKS,
  BROKEN,
  Driver,
  EFFECT,
  line,
  ManualClock,
  ORIGIN,
  PROJECT,
  SETTLED,
  countedIds,
  specWrite,
} from "./words.ts";

const [file = "", story = "", dieAt = "0"] = process.argv.slice(2);
// None is counted of what only sets the stage, until the story says that it begins.
let points = ["batch", "repair", "pruneHistory"].includes(story) ? Number.NEGATIVE_INFINITY : 0;

function say(line: object): void {
  appendFileSync(`${file}.log`, `${JSON.stringify(line)}\n`);
}

const clock = new ManualClock();
const store = await openStore({
  path: file,
  clock,
  ids: countedIds(),
  probe: (name) => {
    points += 1;
    if (points !== Number(dieAt)) return;
    say({ died: name });
    process.kill(process.pid, "SIGKILL");
    // The signal may take a moment; nothing may happen meanwhile.
    for (;;);
  },
});
const driver = new Driver(store, clock);

/** Says that a step was acknowledged and, in a run that is not to die, what is on the disk then. */
function acknowledged(step: string): void {
  clock.advance(1_000);
  say({ step, ...(dieAt === "0" ? { dump: dumpOf(file), points } : {}) });
}

const stories: Record<string, () => Promise<void>> = {
  async life() {
    await driver.begin("m");
    acknowledged("begin");
    await driver.put("a", { x: 1 });
    acknowledged("create");
    const first = await driver.claimOne();
    acknowledged("claim");
    await store.setFinalizer(first.claim, "worktree", true);
    acknowledged("add the finalizer");
    const { effect } = await store.beginEffect(first.claim, EFFECT);
    acknowledged("begin the effect");
    const { requestFingerprint } = effect;
    const outcome = { state: "applied" as const, externalRef: "abc" };
    await store.settleEffect(first.claim, { key: EFFECT.key, requestFingerprint, outcome });
    acknowledged("settle the effect");
    await store.enqueue([{ target: driver.ref("a"), cause: "source" }]);
    acknowledged("enqueue during the pass");
    const conditions = [{ type: "Ready", status: true as const, reason: "Done" }];
    await driver.settle(first, { kind: "settled", conditions });
    acknowledged("settle");
    await driver.put("a", { x: 2 });
    acknowledged("update");
    await store.delete({ ref: driver.ref("a"), origin: ORIGIN });
    acknowledged("delete");
    const last = await driver.claimOne();
    acknowledged("claim again");
    await store.setFinalizer(last.claim, "worktree", false);
    acknowledged("remove the finalizer");
    await driver.settle(last, SETTLED);
    acknowledged("settle again");
  },
  async runs() {
    await driver.begin("m");
    await driver.accept();
    await driver.put("a", { x: 1 });
    acknowledged("begin");
    const parent = await driver.claimOne();
    acknowledged("claim the parent");
    const request = { requestKey: "repair", workflow: "w", input: { head: "abc" } };
    const { runId } = await store.ensureChildRun(parent.claim, request);
    acknowledged("begin the child run");
    await driver.settle(parent, SETTLED);
    acknowledged("settle the parent");
    const first = await driver.claimRun();
    acknowledged("claim the run");
    await store.appendJournal(first.claim, [line("begun", 1)]);
    acknowledged("reach the checkpoint");
    await driver.settleRun(first, ASKS);
    acknowledged("wait");
    await store.answerRun(runId, { node: "ask", value: "yes", by: "ann" });
    acknowledged("answer");
    const second = await driver.claimRun();
    acknowledged("claim the run again");
    await store.appendJournal(second.claim, [{ at: 1, event: "recovered" }, line("succeeded", 1)]);
    acknowledged("take the answer");
    await store.delete({ ref: driver.ref("a"), origin: ORIGIN });
    acknowledged("delete the parent");
    await driver.settleRun(second, BROKEN);
    acknowledged("end the run, and the parent with it");
  },
  async batch() {
    await driver.begin("m");
    points = 0;
    await store.applyBatch({ project: PROJECT, changes: creations(1_000, "x".repeat(4_000)) });
    acknowledged("apply");
  },
  // More than one page, in whose midst others work.
  async repair() {
    await driver.begin("m");
    await store.applyBatch({ project: PROJECT, changes: creations(600) });
    loseQueue();
    points = 0;
    await store.repair();
    acknowledged("repair");
  },
  // More rows than go at once.
  async pruneHistory() {
    await driver.begin("m");
    await driver.put("kept", 1);
    await store.applyBatch({ project: PROJECT, changes: creations(150) });
    const refs = Array.from({ length: 150 }, (_, index) => driver.ref(`key ${index}`));
    await Promise.all(refs.map((ref) => store.delete({ ref, origin: ORIGIN })));
    clock.advance(1_000);
    points = 0;
    await store.pruneHistory({ olderThanMs: 0 });
    acknowledged("prune");
  },
};

function creations(count: number, body = ""): ApplyChange[] {
  return Array.from({ length: count }, (_, index): ApplyChange => {
    const write = specWrite({ index, body });
    return { kind: "create", manager: "m", key: `key ${index}`, write, expected: 0 };
  });
}

function loseQueue(): void {
  const database = new Database(file);
  database.exec("DELETE FROM queue");
  database.close();
}

say({ step: "open", ...(dieAt === "0" ? { dump: dumpOf(file), points } : {}) });
await stories[story]?.();
