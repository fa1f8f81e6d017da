import { describe, expect, it } from "vitest";
import type { Json } from "../../src/model/canonical.ts";
import { byteLength, LIMITS } from "../../src/model/limits.ts";
import type { JournalInput, RunLogInput } from "../../src/model/run.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import { openReader } from "../../src/store/sqlite/reader.ts";
import {
  ASKS,
  BROKEN,
  CRASHED,
  DONE,
  Driver,
  EFFECT,
  keysOf,
  line,
  onTestEnd,
  ORIGIN,
  PROJECT,
  resolvedWorkflow,
  SETTLED,
  sqliteStore,
  TERMINAL,
  UNSURE,
} from "./support.ts";

async function start() {
  const opened = sqliteStore();
  const driver: Driver<ResourceManagerStore> = new Driver(opened.store, opened.clock);
  await driver.begin("m");
  await driver.accept();
  const count = (table: string) =>
    opened.connection.get<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)?.count;
  return { ...opened, driver, count };
}

const TOO_LARGE = { code: "TOO_LARGE" };

/** A string that has `bytes` bytes as JSON. */
function text(bytes: number): string {
  return "x".repeat(bytes - 2);
}

function pure(visit: number, output: Json = { visit }): JournalInput {
  const ref = { at: 1, visit, node: "a", attempt: 1 };
  return { ...ref, event: "succeeded", kind: "compute", startedAt: 1, output };
}

describe("what is said of resources", () => {
  it("leaves runs out, live and ended, and counts none", async () => {
    const { driver, store } = await start();
    await driver.put("a", 1);
    await driver.start();
    const claimed = await driver.claimRun();
    await driver.settleRun(claimed, DONE);
    await driver.start();
    expect((await store.list({})).items.map(({ metadata }) => metadata.key)).toEqual(["a"]);
    expect((await store.list({ manager: "workflow/w" })).items).toEqual([]);
    expect((await store.snapshot(PROJECT)).resources.map(({ key }) => key)).toEqual(["a"]);
    expect((await store.managers()).map(({ name }) => name)).toEqual(["m"]);
    expect((await store.workflows()).map(({ name }) => name)).toEqual(["w"]);
    expect(await store.workflows("/elsewhere")).toEqual([]);
    expect(await store.changedSince(driver.lane("workflow/w"), 0)).toEqual([]);
    const ref = { project: PROJECT, resourceManager: "workflow/w", key: claimed.run.runId };
    expect(await store.removed(ref)).toBeUndefined();
    expect(await store.history(ref)).toEqual([]);
    expect(await store.enqueue([{ target: ref, cause: "request" }])).toBe(0);
    expect((await store.info()).resources).toBe(1);
  });

  it("has events and passes of a run under its id", async () => {
    const { driver, store } = await start();
    const claimed = await driver.started();
    await driver.settleRun(claimed, BROKEN);
    const uid = claimed.run.runId;
    expect((await store.events({ uid })).map(({ reason }) => reason)).toEqual([
      "RunCreated",
      "RunFailed",
    ]);
    expect(await store.passes(uid)).toMatchObject([
      { resourceManager: "workflow/w", outcome: "settled", detail: "failed: no answer" },
    ]);
  });

  it("tells a resource's events of its child runs", async () => {
    const { driver, store } = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    const child = await store.ensureChildRun(claim, { requestKey: "k", workflow: "w", input: 1 });
    await driver.settleRun(await driver.claimRun(), BROKEN);
    const told = (await store.events({ uid: claim.uid })).filter(
      ({ reason }) => reason === "ChildRun",
    );
    expect(told.map(({ type, message }) => [type, message])).toEqual([
      ["Normal", `k: w ${child.runId} pending`],
      ["Warning", `k: w ${child.runId} failed: NodeFailed: no answer`],
    ]);
  });
});

describe("lists of runs", () => {
  it("are newest first, page by page, by whatever is asked for", async () => {
    const { driver, store } = await start();
    await driver.accept("v");
    const first = await driver.started();
    await driver.settleRun(first, DONE);
    const second = await driver.start({}, { session: "s1" });
    const third = await driver.start({}, { workflow: "v" });
    const ids = async (query: Parameters<typeof store.runs>[0]) =>
      (await store.runs(query)).items.map(({ runId }) => runId);
    const [a, b, c] = [first.run.runId, second.runId, third.runId];
    expect(await ids({})).toEqual([c, b, a]);
    expect(await ids({ workflow: "w" })).toEqual([b, a]);
    expect(await ids({ open: true })).toEqual([c, b]);
    expect(await ids({ state: "succeeded" })).toEqual([a]);
    expect(await ids({ session: "s1" })).toEqual([b]);
    expect(await ids({ project: "/elsewhere" })).toEqual([]);
    expect(await ids({ prefix: b })).toEqual([b]);
    expect(await ids({ prefix: "id-" })).toEqual([c, b, a]);
    const page = await store.runs({ limit: 2 });
    expect(page.items[0]).not.toHaveProperty("input");
    expect(await ids({ limit: 2, after: page.next ?? "" })).toEqual([a]);
    expect((await store.runs({ limit: 3 })).next).toBeUndefined();
    await expect(store.runs({ after: "x" })).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  it("show the runs of a parent", async () => {
    const { driver, store } = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    await driver.start();
    const child = await store.ensureChildRun(claim, { requestKey: "k", workflow: "w", input: 1 });
    const { items } = await store.runs({ parentUid: claim.uid });
    expect(items.map(({ runId }) => runId)).toEqual([child.runId]);
    const link = { runId: child.runId, state: "pending" };
    expect((await store.list({})).items).toMatchObject([{ workflowRun: link }]);
  });
});

describe("a query-only reader", () => {
  it("reads runs as the store does", async () => {
    const { driver, store, path } = await start();
    const claimed = await driver.started({ x: 1 });
    const { runId } = claimed.run;
    await store.appendJournal(claimed.claim, [line("begun", 1), pure(2)]);
    await store.appendRunLog(claimed.claim, [piece("hello")]);
    await driver.settleRun(claimed, DONE);
    const reader = openReader(path);
    onTestEnd(() => {
      reader.close();
    });
    expect(await reader.run(runId)).toEqual(await store.run(runId));
    expect(await reader.runs({})).toEqual(await store.runs({}));
    expect(await reader.journal(runId, {})).toHaveLength(2);
    expect(await reader.runLog(runId, {})).toMatchObject([{ sequence: 1, text: "hello" }]);
    expect(await reader.workflows()).toEqual(await store.workflows());
    expect(await reader.run("none")).toBeUndefined();
    expect(await reader.journal("none", {})).toEqual([]);
  });
});

describe("a journal", () => {
  it("keeps every member of every line", async () => {
    const { driver, store } = await start();
    const { claim, run } = await driver.started();
    const ref = { at: 5, visit: 1, node: "good", attempt: 2 };
    const error = { message: "no", reason: "Error", stack: "at a" };
    const lines: JournalInput[] = [
      { ...ref, event: "begun", kind: "action", input: { a: [1, null] }, compensation: true },
      { ...ref, event: "succeeded", kind: "decision", startedAt: 4, choice: "yes", by: "ann" },
      { ...ref, event: "succeeded", kind: "compute", startedAt: 4, output: null, input: false },
      { ...ref, event: "failed", kind: "shell", startedAt: 4, error, retryable: false },
      { ...ref, event: "aborted", kind: "agent", startedAt: 4 },
      { ...ref, event: "released", by: "ann" },
      { ...ref, event: "ambiguous", kind: "action" },
      { at: 6, event: "recovered" },
      { at: 6, event: "cancel", by: "ann" },
      { at: 6, event: "deadline" },
    ];
    await store.appendJournal(claim, lines);
    const expected = lines.map((entry, index) => ({ ...entry, sequence: index + 1, epoch: 1 }));
    expect(await store.journal(run.runId, {})).toEqual(expected);
    expect(await store.journal(run.runId, { after: 8, limit: 1 })).toEqual([expected[8]]);
    const bare = await store.journal(run.runId, { bodies: false });
    expect(bare).toHaveLength(lines.length);
    expect(bare[0]).not.toHaveProperty("input");
    expect(bare[2]).not.toHaveProperty("output");
    expect(bare[3]).toMatchObject({ error });
  });

  it("is read in pages that can be sent, whatever is in it", async () => {
    const { driver, store } = await start();
    const { claim, run } = await driver.started();
    const output = text(LIMITS.nodeOutput);
    for (let visit = 1; visit <= 6; visit += 1) {
      await store.appendJournal(claim, [pure(visit, output)]);
    }
    const read: number[] = [];
    for (let after = 0; ;) {
      const page = await store.journal(run.runId, { after });
      if (page.length === 0) break;
      expect(byteLength(JSON.stringify(page))).toBeLessThan(LIMITS.runnerMessage);
      read.push(...page.map(({ sequence }) => sequence));
      after = read.at(-1) ?? 0;
    }
    expect(read).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await store.journal(run.runId, { bodies: false })).toHaveLength(6);
  });

  it("is appended whole or not at all", async () => {
    const { driver, store } = await start();
    const { claim, run } = await driver.started();
    const lines = [pure(1), pure(2, text(LIMITS.nodeOutput + 1))];
    await expect(store.appendJournal(claim, lines)).rejects.toMatchObject(TOO_LARGE);
    expect(await store.journal(run.runId, {})).toEqual([]);
    await store.appendJournal(claim, [pure(1), pure(2, text(LIMITS.nodeOutput))]);
    expect(await store.run(run.runId)).toMatchObject({ entries: 2 });
  });

  it("writes as many rows for a line at its end as for one at its beginning", async () => {
    const { driver, store, connection } = await start();
    const { claim } = await driver.started();
    const changes = () =>
      connection.get<{ count: number }>("SELECT total_changes() AS count")?.count ?? 0;
    const rowsFor = async (visit: number) => {
      const before = changes();
      await store.appendJournal(claim, [pure(visit)]);
      return changes() - before;
    };
    const first = await rowsFor(1);
    const lines = Array.from({ length: 1_000 }, (_, index) => pure(index + 2));
    for (let batch = 0; batch < 5; batch += 1) await store.appendJournal(claim, lines);
    expect(await rowsFor(9_000)).toBe(first);
  });
});

function piece(content: string): RunLogInput {
  return { at: 1, visit: 1, node: "a", stream: "stdout", text: content };
}

describe("a run's log", () => {
  it("LIMITS.runLog: holds so much, and then drops the oldest but for its head", async () => {
    const { driver, store, connection } = await start();
    const { claim, run } = await driver.started();
    const content = "x".repeat(64 * 1024);
    const pieces = LIMITS.runLog / byteLength(content);
    for (let count = 0; count < pieces; count += 1) {
      await store.appendRunLog(claim, [piece(content)]);
    }
    const read = async () => (await store.runLog(run.runId, {})).map(({ sequence }) => sequence);
    expect(await read()).toHaveLength(pieces);
    await store.appendRunLog(claim, [piece("the last")]);
    const kept = await read();
    expect(kept[0]).toBe(1);
    expect(kept.at(-1)).toBe(pieces + 1);
    const gap = kept.findIndex((sequence, index) => sequence !== index + 1);
    expect(gap).toBe(pieces / 8);
    const size = connection.get<{ bytes: number }>(
      "SELECT sum(octet_length(text)) AS bytes FROM run_log",
    );
    expect(size?.bytes).toBeLessThanOrEqual(LIMITS.runLog);
    expect(connection.get("SELECT log_bytes AS bytes FROM run")).toEqual(size);
  });

  it("is read from where a reader was, and outlives passes", async () => {
    const { driver, store, clock } = await start();
    const first = await driver.started();
    await store.appendRunLog(first.claim, [piece("one"), piece("two")]);
    await driver.settle(first, CRASHED);
    clock.advance(LIMITS.backoffCapMs);
    await store.appendRunLog((await driver.claimRun()).claim, [piece("three")]);
    const { runId } = first.run;
    const texts = async (after: number) =>
      (await store.runLog(runId, { after })).map((entry) => entry.text);
    expect(await texts(0)).toEqual(["one", "two", "three"]);
    expect(await texts(2)).toEqual(["three"]);
  });

  it("holds no credentials", async () => {
    const { driver, store } = await start();
    const { claim, run } = await driver.started();
    const token = `ghp_${"a1B2".repeat(9)}`;
    await store.appendRunLog(claim, [piece(`using ${token} now`)]);
    expect(JSON.stringify(await store.runLog(run.runId, {}))).not.toContain(token);
  });

  it("F-1: takes nothing of a pass that lost its claim", async () => {
    const { driver, store } = await start();
    const claimed = await driver.started();
    await driver.settle(claimed, CRASHED);
    const late = store.appendRunLog(claimed.claim, [piece("late")]);
    await expect(late).rejects.toMatchObject({ code: "LEASE_LOST" });
  });
});

describe("values of runs: taken at the limit, refused past it", () => {
  it("an input", async () => {
    const { driver } = await start();
    await driver.start(text(LIMITS.spec));
    await expect(driver.start(text(LIMITS.spec + 1))).rejects.toMatchObject(TOO_LARGE);
  });

  it("an output, whose refusal keeps the claim", async () => {
    const { driver } = await start();
    const claimed = await driver.started();
    const result = (bytes: number) =>
      ({ state: "succeeded", exit: "done", output: text(bytes) }) as const;
    await expect(driver.settleRun(claimed, result(LIMITS.nodeOutput + 1))).rejects.toMatchObject(
      TOO_LARGE,
    );
    await driver.settleRun(claimed, result(LIMITS.nodeOutput));
  });

  it("an answer and a resolution", async () => {
    const { driver, store } = await start();
    const { claim, run } = await driver.started();
    const answer = (bytes: number) =>
      store.answerRun(run.runId, { node: "ask", value: text(bytes), by: "ann" });
    await expect(answer(LIMITS.nodeOutput + 1)).rejects.toMatchObject(TOO_LARGE);
    await answer(LIMITS.nodeOutput);
    await store.appendJournal(claim, [line("ambiguous", 3, { node: "push" })]);
    const resolve = (bytes: number) =>
      store.resolveRun(run.runId, 3, { outcome: "succeeded", output: text(bytes), by: "ann" });
    await expect(resolve(LIMITS.nodeOutput + 1)).rejects.toMatchObject(TOO_LARGE);
    await resolve(LIMITS.nodeOutput);
  });

  it("a request key, and a workflow's name, which is a lane's with more before it", async () => {
    const { driver, store } = await start();
    const bad = { code: "BAD_REQUEST" };
    await driver.start({}, { requestKey: "k".repeat(LIMITS.key) });
    const past = driver.start({}, { requestKey: "k".repeat(LIMITS.key + 1) });
    await expect(past).rejects.toMatchObject(bad);
    await expect(driver.start({}, { requestKey: "" })).rejects.toMatchObject(bad);
    const longest = LIMITS.name - "workflow/".length;
    const accept = (length: number) =>
      store.acceptWorkflow(PROJECT, resolvedWorkflow("w".repeat(length), "d"));
    await accept(longest);
    await expect(accept(longest + 1)).rejects.toMatchObject(bad);
  });

  it("the finalizers of a parent, of which one is the runtime's", async () => {
    const { driver, store } = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    for (let index = 0; index < LIMITS.finalizers; index += 1) {
      await store.setFinalizer(claim, `f${index}`, true);
    }
    const request = { requestKey: "k", workflow: "w", input: 1 };
    await expect(store.ensureChildRun(claim, request)).rejects.toMatchObject(TOO_LARGE);
    expect((await store.runs({})).items).toEqual([]);
  });
});

describe("repair of runs", () => {
  it("R-6: brings back what a lost queue held of runs, and no more", async () => {
    const { driver, store, connection } = await start();
    const named = ["running", "asks", "answered", "unsure", "ended", "cancelled", "given up"];
    const begun = await Promise.all(
      named.map(async (name) => [name, await driver.start()] as const),
    );
    const kinds = Object.fromEntries(begun);
    await settleAll(driver, kinds);
    const pending = await driver.start();
    await store.pauseRun((await driver.start()).runId);
    const answered = kinds["answered"]?.runId ?? "";
    await store.answerRun(answered, { node: "ask", value: 1, by: "ann" });
    for (const name of ["cancelled", "given up"]) {
      await store.cancelRun(kinds[name]?.runId ?? "", "ann");
    }
    const before = await dueTimes(driver);
    connection.run("DELETE FROM queue");
    await store.repair();
    expect(await dueTimes(driver)).toEqual(before);
    expect(await store.repair()).toEqual({ enqueued: 0 });
    const kept = ["running", "asks", "answered", "cancelled", "given up"].map(
      (name) => kinds[name],
    );
    expect(new Set(Object.keys(before))).toEqual(
      new Set([pending, ...kept].map((run) => run?.runId)),
    );
  });

  /** Claims them all and ends the pass of each as its name says. */
  async function settleAll(
    driver: Driver,
    kinds: Record<string, { runId: string }>,
  ): Promise<void> {
    for (const claimed of await driver.claim(10, ["workflow/w"])) {
      const uid = claimed.claim.uid;
      const kind = Object.keys(kinds).find((name) => kinds[name]?.runId === uid);
      await driver.store.appendJournal(claimed.claim, [pure(1)]);
      if (kind === "given up") await driver.settle(claimed, TERMINAL);
      else if (kind === "asks" || kind === "answered" || kind === "cancelled")
        await driver.settleRun(claimed, ASKS);
      else if (kind === "unsure") await driver.settleRun(claimed, UNSURE);
      else if (kind === "ended") await driver.settleRun(claimed, DONE);
      else await driver.settle(claimed, { kind: "crashed", fault: "shutdown", message: "" });
    }
  }

  async function dueTimes(driver: Driver): Promise<Record<string, number>> {
    const entries = await driver.store.queue({ project: PROJECT });
    return Object.fromEntries(entries.map(({ uid, readyAt }) => [uid, readyAt]));
  }
});

describe("retention of runs", () => {
  /** Runs that ended, newest last. */
  async function ended(driver: Driver, number: number): Promise<string[]> {
    const numbers = Array.from({ length: number }, (_, index) => index);
    await Promise.all(numbers.map((index) => driver.start({ index })));
    const claimed = await driver.claim(number, ["workflow/w"]);
    await Promise.all(
      claimed.flatMap((one) => [
        driver.store.appendJournal(one.claim, [pure(1)]),
        driver.settleRun(one, DONE),
      ]),
    );
    const ids = claimed.map(({ claim }) => claim.uid);
    expect(ids).toHaveLength(number);
    return ids;
  }

  async function retainAll(driver: Driver<ResourceManagerStore>, limit = 100): Promise<void> {
    while ((await driver.store.retain(limit)) > 0);
  }

  it("LIMITS.runsKept: keeps so many per workflow, and lets older ones go with all that is theirs", async () => {
    const { driver, store, count, connection } = await start();
    const ids = await ended(driver, LIMITS.runsKept + 2);
    await retainAll(driver);
    expect(count("run")).toBe(LIMITS.runsKept + 2);
    driver.clock.advance(LIMITS.removedKeptMs);
    await retainAll(driver);
    expect(await store.run(ids[1] ?? "")).toBeUndefined();
    expect(await store.run(ids[2] ?? "")).toMatchObject({ state: "succeeded" });
    for (const table of ["run", "resource", "spec_body", "journal"]) {
      expect([table, count(table)]).toEqual([table, LIMITS.runsKept]);
    }
    expect(connection.database.pragma("foreign_key_check")).toEqual([]);
  });

  it("D-7: keeps a run with an open effect, one that has not ended, and one that a resource shows", async () => {
    const { driver, store } = await start();
    const withEffect = await driver.started();
    const { effect } = await store.beginEffect(withEffect.claim, EFFECT);
    await driver.settleRun(withEffect, DONE);
    const asking = await driver.started();
    await driver.settleRun(asking, ASKS);
    await driver.put("a", 1);
    const [parent] = await driver.claim(1, ["m"]);
    if (!parent) throw new Error("nothing was ready");
    const child = await store.ensureChildRun(parent.claim, {
      requestKey: "k",
      workflow: "w",
      input: 1,
    });
    await driver.settle(parent, SETTLED);
    await driver.settleRun(await driver.claimRun(), DONE);
    await ended(driver, LIMITS.runsKept);
    driver.clock.advance(LIMITS.removedKeptMs);
    await retainAll(driver);
    for (const runId of [withEffect.run.runId, asking.run.runId, child.runId]) {
      expect(await store.run(runId)).toMatchObject({ runId });
    }
    await store.resolveEffect(effect.resourceUid, EFFECT.key, { state: "applied" }, "ann");
    await store.delete({ ref: driver.ref("a"), origin: ORIGIN, force: true });
    await retainAll(driver);
    expect(await store.run(withEffect.run.runId)).toBeUndefined();
    expect(await store.run(child.runId)).toBeUndefined();
    expect(await store.run(asking.run.runId)).toMatchObject({ state: "waiting" });
    expect(await store.effects({ uid: withEffect.run.runId })).toEqual([]);
  });

  it("R-1: a live resource that asks again, long after, finds the end of its run; only its history goes", async () => {
    const { driver, store, count } = await start();
    await driver.put("a", 1);
    const [parent] = await driver.claim(1, ["m"]);
    if (!parent) throw new Error("nothing was ready");
    const ask = (requestKey: string) =>
      store.ensureChildRun(parent.claim, { requestKey, workflow: "w", input: 1 });
    const first = await ask("first");
    const claimed = await driver.claimRun();
    await store.appendJournal(claimed.claim, [pure(1), pure(2)]);
    await driver.settleRun(claimed, DONE);
    await ask("second");
    await driver.settleRun(await driver.claimRun(), DONE);
    await ended(driver, LIMITS.runsKept);
    const lines = count("journal");
    driver.clock.advance(LIMITS.removedKeptMs);
    await store.renew(parent.claim, driver.clock.now() + 60_000);
    await retainAll(driver);
    expect(await store.journal(first.runId, {})).toEqual([]);
    expect(count("journal")).toBeLessThan(lines ?? 0);
    expect(await ask("first")).toMatchObject({
      runId: first.runId,
      ...DONE,
    });
  });

  it("is bounded in each step, also for one long journal", async () => {
    const { driver, store, count } = await start();
    const long = await driver.started();
    const lines = Array.from({ length: 1_000 }, (_, index) => pure(index + 1));
    await store.appendJournal(long.claim, lines);
    await driver.settleRun(long, DONE);
    await ended(driver, LIMITS.runsKept);
    driver.clock.advance(LIMITS.removedKeptMs);
    for (let steps = 0; ; steps += 1) {
      const deleted = await store.retain(100);
      expect(deleted).toBeLessThan(130);
      if (deleted > 0) continue;
      expect(steps).toBeGreaterThan(9);
      break;
    }
    expect(count("journal")).toBe(LIMITS.runsKept);
  });
});

describe("claims of many runs", () => {
  it("hands them out in the order in which they were asked for (Q-11)", async () => {
    const { driver } = await start();
    const ids = [];
    for (let count = 0; count < 5; count += 1) ids.push((await driver.start({ count })).runId);
    expect(keysOf(await driver.claim(3, ["workflow/w"]))).toEqual(ids.slice(0, 3));
  });
});
