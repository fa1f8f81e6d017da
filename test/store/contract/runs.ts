import { expect, it } from "vitest";
import { LIMITS } from "../../../src/model/limits.ts";
import {
  ASKS,
  BROKEN,
  CRASHED,
  DONE,
  EFFECT,
  keysOf,
  line,
  ORIGIN,
  PROJECT,
  resolvedManager,
  SETTLED,
  specWrite,
  STOPPED,
  UNSURE,
  FAILED,
  TERMINAL,
  type Driver,
  type Start,
} from "../words.ts";

const LOST = { code: "LEASE_LOST" };
const RUN_LANE = "workflow/w";

export function runSuite(make: Start): void {
  const begin = async (): Promise<Driver> => {
    const driver = await make();
    await driver.accept();
    return driver;
  };
  startSuite(begin);
  passSuite(begin);
  orderSuite(begin);
  pauseSuite(begin);
  definitionSuite(begin);
  fenceSuite(begin);
}

function startSuite(begin: Start): void {
  it("starts a run: pending, ready at once, and handed out as running in its first epoch", async () => {
    const driver = await begin();
    const started = await driver.start({ url: "x" });
    expect(started).toMatchObject({
      workflow: "w",
      project: PROJECT,
      input: { url: "x" },
      digest: "digest-of-w",
      state: "pending",
      attempt: 1,
      epochs: 0,
      entries: 0,
      startedBy: "ann",
      deadlineAt: driver.clock.now() + 3_600_000,
    });
    driver.clock.advance(1_000);
    const claimed = await driver.claimRun();
    expect(claimed.run).toMatchObject({
      runId: started.runId,
      state: "running",
      epochs: 1,
      startedAt: driver.clock.now(),
      claimedAt: driver.clock.now(),
    });
    expect(claimed.claim.uid).toBe(started.runId);
    expect(await driver.store.run(started.runId)).toEqual(claimed.run);
  });

  it("finds the run that a request key began, and refuses another input under it", async () => {
    const driver = await begin();
    const first = await driver.start({ a: 1, b: 2 }, { requestKey: "once" });
    expect(await driver.start({ b: 2, a: 1 }, { requestKey: "once" })).toEqual(first);
    await expect(driver.start({ a: 2 }, { requestKey: "once" })).rejects.toMatchObject({
      code: "RUN_CONFLICT",
    });
    expect((await driver.store.runs({})).items).toHaveLength(1);
  });

  it("refuses a workflow that was not accepted", async () => {
    const driver = await begin();
    const unknown = { code: "UNKNOWN_WORKFLOW" };
    await expect(driver.start({}, { workflow: "other" })).rejects.toMatchObject(unknown);
    await expect(driver.start({}, { project: "/elsewhere" })).rejects.toMatchObject(unknown);
  });

  it("keeps runs out of what is said of resources, and out of reach of what changes them", async () => {
    const driver = await begin();
    const { runId } = await driver.start();
    const ref = { project: PROJECT, resourceManager: RUN_LANE, key: runId };
    expect(await driver.store.get(ref)).toBeUndefined();
    const missing = { code: "NOT_FOUND" };
    await expect(driver.store.suspend(ref, true)).rejects.toMatchObject(missing);
    await expect(driver.store.delete({ ref, origin: ORIGIN })).rejects.toMatchObject(missing);
    const write = specWrite({});
    const batch = {
      project: PROJECT,
      changes: [
        { kind: "create" as const, manager: RUN_LANE, key: runId, write, expected: 0 as const },
      ],
    };
    await expect(driver.store.applyBatch(batch)).rejects.toMatchObject({ code: "BAD_REQUEST" });
    const manager = driver.store.acceptManager(PROJECT, resolvedManager(RUN_LANE));
    await expect(manager).rejects.toMatchObject({ code: "BAD_REQUEST" });
    expect(await driver.store.run(runId)).toMatchObject({ state: "pending" });
  });
}

function passSuite(begin: Start): void {
  it("ends a run with its result; settling again answers the same (F-6)", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    driver.clock.advance(500);
    const receipt = await driver.settleRun(claimed, DONE);
    expect(receipt).not.toHaveProperty("readyAt");
    expect(await driver.store.run(claimed.claim.uid)).toMatchObject({
      state: "succeeded",
      exit: "done",
      output: { ok: true },
      endedAt: driver.clock.now(),
    });
    expect((await driver.settleRun(claimed, DONE)).record).toEqual(receipt.record);
    expect(await driver.store.queue({ project: PROJECT })).toEqual([]);
  });

  it("keeps why a run failed, and at which node", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    await driver.settleRun(claimed, BROKEN);
    const run = await driver.store.run(claimed.claim.uid);
    expect(run).toMatchObject({
      state: "failed",
      reason: "NodeFailed",
      message: "no answer",
      node: "a",
    });
  });

  it("takes no end of a run but its own, and no run's end for a resource", async () => {
    const driver = await begin();
    const bad = { code: "BAD_REQUEST" };
    const claimed = await driver.started();
    await expect(driver.settle(claimed, SETTLED)).rejects.toMatchObject(bad);
    await expect(driver.settle(claimed, { kind: "requeue" })).rejects.toMatchObject(bad);
    await driver.put("a", 1);
    const [resource] = await driver.claim(1, ["m"]);
    if (!resource) throw new Error("nothing was ready");
    await expect(driver.settleRun(resource, DONE)).rejects.toMatchObject(bad);
    await driver.settleRun(claimed, DONE);
    await driver.settle(resource, SETTLED);
  });

  it("begins a new epoch of a run whose runner crashed, and leaves it running", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    await driver.settle(claimed, CRASHED);
    expect(await driver.store.run(claimed.claim.uid)).toMatchObject({ state: "running" });
    driver.clock.advance(LIMITS.backoffCapMs);
    expect((await driver.claimRun()).run).toMatchObject({ state: "running", epochs: 2 });
  });

  it("F-7: a new server takes up every run of the one before", async () => {
    const driver = await begin();
    const { runId } = (await driver.started()).run;
    driver.epoch = (await driver.store.beginEpoch()).epoch;
    expect((await driver.claimRun()).run).toMatchObject({ runId, epochs: 2, state: "running" });
  });

  it("B-6: gives up a run whose runners crash without progress, and resume revives it", async () => {
    const driver = await begin();
    const { runId } = await driver.start();
    await crash(driver, LIMITS.crashAttempts);
    const stalled = await driver.store.run(runId);
    expect(stalled).toMatchObject({ state: "interrupted", reason: "Stalled" });
    expect(await driver.store.queue({ project: PROJECT })).toEqual([]);
    const hint = { target: { uid: runId }, cause: "status" as const };
    expect(await driver.store.enqueue([hint])).toBe(0);
    expect(await driver.store.repair()).toEqual({ enqueued: 0 });
    expect(await driver.store.resumeRun(runId)).toMatchObject({ state: "running" });
    await crash(driver, LIMITS.crashAttempts - 1);
    expect(await driver.store.run(runId)).toMatchObject({ state: "running" });
    expect((await driver.claimRun()).run.runId).toBe(runId);
  });

  it("B-6: progress, which a recovery is not, makes the crashes before it count no longer", async () => {
    const driver = await begin();
    const { runId } = await driver.start();
    await crash(driver, LIMITS.crashAttempts - 1);
    const claimed = await driver.claimRun();
    await driver.store.appendJournal(claimed.claim, [line("succeeded", 1, { node: "a" })]);
    await driver.settle(claimed, CRASHED);
    await crash(driver, LIMITS.crashAttempts - 2);
    expect(await driver.store.run(runId)).toMatchObject({ state: "running" });
    const last = await driver.claimRun();
    const again = [{ at: 1, event: "recovered" as const }, line("begun", 2, { node: "push" })];
    await driver.store.appendJournal(last.claim, again);
    await driver.settle(last, CRASHED);
    expect(await driver.store.run(runId)).toMatchObject({ reason: "Stalled" });
  });

  it("tries again after a failure of the engine, and waits for a person where that is no use", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    await driver.settle(claimed, FAILED);
    expect(await driver.store.run(claimed.claim.uid)).toMatchObject({
      state: "running",
      message: "no answer",
    });
    driver.clock.advance(LIMITS.backoffCapMs);
    await driver.settle(await driver.claimRun(), TERMINAL);
    expect(await driver.store.run(claimed.claim.uid)).toMatchObject({
      state: "interrupted",
      reason: "Stalled",
      message: "bad input",
    });
  });

  it("numbers the lines of a journal over all epochs, and keeps them after the end", async () => {
    const driver = await begin();
    const first = await driver.started();
    const { runId } = first.run;
    await driver.store.appendJournal(first.claim, [line("begun", 1), line("succeeded", 1)]);
    await driver.settle(first, CRASHED);
    driver.clock.advance(LIMITS.backoffCapMs);
    const second = await driver.claimRun();
    await driver.store.appendJournal(second.claim, [{ at: 7, event: "recovered" }]);
    await driver.settleRun(second, DONE);
    expect(await driver.store.journal(runId, {})).toEqual([
      { ...line("begun", 1), sequence: 1, epoch: 1 },
      { ...line("succeeded", 1), sequence: 2, epoch: 1 },
      { at: 7, event: "recovered", sequence: 3, epoch: 2 },
    ]);
    expect(await driver.store.run(runId)).toMatchObject({ entries: 3, epochs: 2 });
  });

  it("tells since which lines it waits for a person, with what was asked", async () => {
    const driver = await begin();
    const { claim, run } = await driver.started();
    const push = { node: "push", kind: "action" } as const;
    const other = { node: "other" } as const;
    await driver.store.appendJournal(claim, [
      line("begun", 1),
      line("begun", 2, push),
      line("aborted", 1),
      { ...line("begun", 1), input: { message: "Sure?" } } as ReturnType<typeof line>,
      line("begun", 3, other),
      line("ambiguous", 2, push),
      line("succeeded", 3, other),
    ]);
    expect(await driver.store.awaited(run.runId)).toMatchObject([
      { sequence: 4, event: "begun", visit: 1, node: "ask", input: { message: "Sure?" } },
      { sequence: 6, event: "ambiguous", visit: 2, node: "push" },
    ]);
    await driver.store.appendJournal(claim, [line("succeeded", 1), line("released", 2, push)]);
    expect(await driver.store.awaited(run.runId)).toEqual([]);
    expect(await driver.store.awaited("none")).toEqual([]);
  });

  it("has effects like any resource, by its uid", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    await driver.store.beginEffect(claimed.claim, EFFECT);
    await driver.settle(claimed, CRASHED);
    const uid = claimed.claim.uid;
    expect(await driver.store.effects({ uid })).toMatchObject([{ state: "indeterminate" }]);
    await driver.store.resolveEffect(uid, EFFECT.key, { state: "applied" }, "ann");
    expect((await driver.claimRun()).cause).toBe("effect");
  });

  it("B-6: a word about an effect does not revive a run that was given up; its resume does", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    const uid = claimed.claim.uid;
    await driver.store.beginEffect(claimed.claim, EFFECT);
    await driver.settle(claimed, TERMINAL);
    await driver.store.resolveEffect(uid, EFFECT.key, { state: "applied" }, "ann");
    expect(await driver.claim()).toEqual([]);
    await driver.store.resumeRun(uid);
    expect((await driver.claimRun()).run.runId).toBe(uid);
  });
}

/** Runners of the one run crash so many times in a row. */
async function crash(driver: Driver, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    driver.clock.advance(LIMITS.backoffCapMs);
    await driver.settle(await driver.claimRun(), CRASHED);
  }
  driver.clock.advance(LIMITS.backoffCapMs);
}

function orderSuite(begin: Start): void {
  it("R-3: an answer given before its checkpoint is reached is there when it is; the first wins", async () => {
    const driver = await begin();
    const { runId } = await driver.start();
    await driver.store.answerRun(runId, { node: "ask", value: "early", by: "ann" });
    const late = { node: "ask", value: "late", by: "bob" };
    const before = { code: "ALREADY_ANSWERED" };
    await expect(driver.store.answerRun(runId, late)).rejects.toMatchObject(before);
    const claimed = await driver.claimRun();
    await driver.store.appendJournal(claimed.claim, [line("begun", 1)]);
    await expect(driver.store.answerRun(runId, late)).rejects.toMatchObject(before);
    expect(await driver.store.runOrders(claimed.claim)).toEqual({
      answers: [{ node: "ask", ordinal: 1, value: "early", by: "ann" }],
      resolutions: [],
    });
    await driver.store.appendJournal(claimed.claim, [line("succeeded", 1)]);
    expect(await driver.store.runOrders(claimed.claim)).toEqual({ answers: [], resolutions: [] });
    const again = driver.store.answerRun(runId, { ...late, ordinal: 1 });
    await expect(again).rejects.toMatchObject(before);
    // Who read the question before is late too, and answers no later one.
    const read = driver.store.answerRun(runId, { ...late, visit: 1 });
    await expect(read).rejects.toMatchObject(before);
    const unasked = driver.store.answerRun(runId, { ...late, visit: 7 });
    await expect(unasked).rejects.toMatchObject({ code: "NO_QUESTION" });
  });

  it("R-3: an answer that arrives while the run stops to wait for it makes it go on at once", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    await driver.store.appendJournal(claimed.claim, [line("begun", 1)]);
    expect(await driver.store.runOrders(claimed.claim)).toMatchObject({ answers: [] });
    await driver.store.answerRun(claimed.claim.uid, { node: "ask", value: 1, by: "ann" });
    await driver.settleRun(claimed, ASKS);
    expect(await driver.store.runOrders((await driver.claimRun()).claim)).toMatchObject({
      answers: [{ value: 1 }],
    });
  });

  it("an answer is for the question that is open, or else for the next time it is asked", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    const { runId } = claimed.run;
    const answer = (value: number) =>
      driver.store.answerRun(runId, { node: "ask", value, by: "ann" });
    const ordinals = async () =>
      (await driver.store.runOrders(claimed.claim)).answers.map(({ ordinal, value }) => [
        ordinal,
        value,
      ]);
    await driver.store.appendJournal(claimed.claim, [line("begun", 1)]);
    await answer(10);
    await driver.store.appendJournal(claimed.claim, [line("succeeded", 1)]);
    await answer(20);
    expect(await ordinals()).toEqual([[2, 20]]);
    // A new attempt of one visit asks the same question.
    await driver.store.appendJournal(claimed.claim, [line("begun", 5), line("begun", 5)]);
    expect(await ordinals()).toEqual([[2, 20]]);
    await driver.store.appendJournal(claimed.claim, [line("succeeded", 5), line("begun", 9)]);
    await answer(30);
    expect(await ordinals()).toEqual([[3, 30]]);
  });

  it("R-4: a run that waits for an answer is looked at when it comes, and at its deadline", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    const { runId, deadlineAt } = claimed.run;
    await driver.settleRun(claimed, ASKS);
    expect(await driver.store.run(runId)).toMatchObject({ state: "waiting", reason: "Checkpoint" });
    expect(await driver.queued(runId, RUN_LANE)).toMatchObject({ readyAt: deadlineAt });
    expect(await driver.claim()).toEqual([]);
    await driver.store.answerRun(runId, { node: "ask", value: 1, by: "ann" });
    await driver.settleRun(await driver.claimRun(), ASKS);
    driver.clock.advance(deadlineAt - driver.clock.now());
    expect((await driver.claimRun()).run).toMatchObject({ runId, state: "running" });
  });

  it("an ambiguous attempt waits for a person, whose word is taken once", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    const { runId } = claimed.run;
    const push = { node: "push" };
    const retry = { outcome: "retry" as const, by: "ann" };
    await expect(driver.store.resolveRun(runId, 3, retry)).rejects.toMatchObject({
      code: "NOT_AMBIGUOUS",
    });
    await driver.store.appendJournal(claimed.claim, [
      line("begun", 3, push),
      line("ambiguous", 3, push),
    ]);
    await driver.settleRun(claimed, UNSURE);
    expect(await driver.claim()).toEqual([]);
    expect(await driver.store.resumeRun(runId)).toMatchObject({ reason: "Ambiguous" });
    expect(await driver.claim()).toEqual([]);
    await driver.store.resolveRun(runId, 3, retry);
    await expect(driver.store.resolveRun(runId, 3, retry)).rejects.toMatchObject({
      code: "ALREADY_ANSWERED",
    });
    const next = await driver.claimRun();
    expect(await driver.store.runOrders(next.claim)).toEqual({
      answers: [],
      resolutions: [{ visit: 3, ...retry }],
    });
    await driver.store.appendJournal(next.claim, [line("released", 3, push)]);
    expect((await driver.store.runOrders(next.claim)).resolutions).toEqual([]);
    // The new attempt may end as badly as the one before, and is then asked about anew.
    await driver.store.appendJournal(next.claim, [line("ambiguous", 3, push)]);
    const output = { outcome: "succeeded" as const, output: { id: 7 }, by: "bob" };
    await driver.store.resolveRun(runId, 3, output);
    expect((await driver.store.runOrders(next.claim)).resolutions).toEqual([
      { visit: 3, ...output },
    ]);
  });

  it("what a person said of one attempt stays until the journal has that one", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    const push = { node: "push" };
    const visits = [1, 2];
    const unsure = visits.map((visit) => line("ambiguous", visit, push));
    await driver.store.appendJournal(claimed.claim, unsure);
    await driver.settleRun(claimed, UNSURE);
    const retry = { outcome: "retry" as const, by: "ann" };
    for (const visit of visits) await driver.store.resolveRun(claimed.run.runId, visit, retry);
    const next = await driver.claimRun();
    await driver.store.appendJournal(next.claim, [line("released", 2, push)]);
    expect((await driver.store.runOrders(next.claim)).resolutions).toEqual([
      { visit: 1, ...retry },
    ]);
  });

  it("cancels a run that has not begun at once, and lets any other undo what it did", async () => {
    const driver = await begin();
    const { runId } = await driver.start();
    expect(await driver.store.cancelRun(runId, "ann")).toMatchObject({
      state: "failed",
      reason: "Cancelled",
      cancelling: false,
    });
    expect(await driver.claim()).toEqual([]);
    const claimed = await driver.started();
    await driver.store.appendJournal(claimed.claim, [line("begun", 1)]);
    await driver.settleRun(claimed, ASKS);
    const second = claimed.run.runId;
    expect(await driver.store.cancelRun(second, "ann")).toMatchObject({
      state: "waiting",
      cancelling: true,
    });
    const next = await driver.claimRun();
    await driver.store.appendJournal(next.claim, [{ at: 1, event: "recovered" }]);
    expect(await driver.store.runOrders(next.claim)).toMatchObject({ cancel: { by: "ann" } });
    await driver.store.appendJournal(next.claim, [{ at: 1, event: "cancel", by: "ann" }]);
    expect(await driver.store.runOrders(next.claim)).not.toHaveProperty("cancel");
    await driver.settleRun(next, { state: "failed", reason: "Cancelled", message: "by ann" });
    expect(await driver.store.run(second)).toMatchObject({ state: "failed", cancelling: false });
  });

  it("takes no orders for a run that has ended, nor for one that there is not", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    await driver.settleRun(claimed, DONE);
    const { store } = driver;
    for (const [runId, code] of [
      [claimed.run.runId, "RUN_ENDED"],
      ["none", "NOT_FOUND"],
    ] as const) {
      const refused = { code };
      await expect(store.pauseRun(runId)).rejects.toMatchObject(refused);
      await expect(store.resumeRun(runId)).rejects.toMatchObject(refused);
      await expect(store.cancelRun(runId, "ann")).rejects.toMatchObject(refused);
      const answer = { node: "ask", value: 1, by: "ann" };
      await expect(store.answerRun(runId, answer)).rejects.toMatchObject(refused);
      const order = { outcome: "retry" as const, by: "ann" };
      await expect(store.resolveRun(runId, 1, order)).rejects.toMatchObject(refused);
    }
  });

  it("tries a failed run again: the same request, a new run, today's code", async () => {
    const driver = await begin();
    const claimed = await driver.started({ x: 1 });
    const { runId } = claimed.run;
    const early = driver.store.retryRun(runId, "bob");
    await expect(early).rejects.toMatchObject({ code: "RUN_NOT_FAILED" });
    await driver.settleRun(claimed, BROKEN);
    await driver.accept("w", "newer");
    const next = await driver.store.retryRun(runId, "bob");
    expect(next).toMatchObject({ attempt: 2, state: "pending", digest: "newer", input: { x: 1 } });
    expect(next.runId).not.toBe(runId);
    const twice = driver.store.retryRun(runId, "bob");
    await expect(twice).rejects.toMatchObject({ code: "RUN_NOT_FAILED" });
    expect((await driver.claimRun()).run.runId).toBe(next.runId);
  });

  it.each([
    ["with an attempt of which nobody knows how it ended, only once that is said", true],
    ["otherwise", false],
  ])("B-6: tries a run again that was given up: %s", async (_, isAmbiguous) => {
    const driver = await begin();
    const { runId } = await driver.start();
    for (let count = 0; count < LIMITS.crashAttempts; count += 1) {
      const claimed = await driver.claimRun();
      const unsure = line("ambiguous", 1, { node: "push" });
      if (isAmbiguous && count === 0) await driver.store.appendJournal(claimed.claim, [unsure]);
      await driver.settle(claimed, CRASHED);
      driver.clock.advance(LIMITS.backoffCapMs);
    }
    expect(await driver.store.run(runId)).toMatchObject({ reason: "Stalled" });
    const again = driver.store.retryRun(runId, "ann");
    if (isAmbiguous) await expect(again).rejects.toMatchObject({ code: "RUN_NOT_FAILED" });
    else expect(await again).toMatchObject({ attempt: 2, state: "pending" });
  });
}

function pauseSuite(begin: Start): void {
  it("keeps a paused run from being handed out until it is resumed", async () => {
    const driver = await begin();
    const { runId } = await driver.start();
    const paused = { state: "waiting", reason: "Paused", paused: true };
    expect(await driver.store.pauseRun(runId)).toMatchObject(paused);
    expect(await driver.claim()).toEqual([]);
    expect(await driver.store.repair()).toEqual({ enqueued: 0 });
    expect(await driver.store.resumeRun(runId)).toMatchObject({ state: "pending", paused: false });
    expect((await driver.claimRun()).run.runId).toBe(runId);
  });

  it("lets the runner of a running one say when it has stopped", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    const { runId } = claimed.run;
    expect(await driver.store.pauseRun(runId)).toMatchObject({ state: "running", paused: true });
    await driver.settleRun(claimed, STOPPED);
    expect(await driver.store.run(runId)).toMatchObject({ state: "waiting", reason: "Paused" });
    expect(await driver.claim()).toEqual([]);
    expect(await driver.store.resumeRun(runId)).toMatchObject({ state: "running" });
    expect((await driver.claimRun()).run.epochs).toBe(2);
  });

  it("R-4: a run that was resumed while it stopped goes on", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    await driver.store.pauseRun(claimed.run.runId);
    await driver.store.resumeRun(claimed.run.runId);
    await driver.settleRun(claimed, STOPPED);
    expect((await driver.claimRun()).run.runId).toBe(claimed.run.runId);
  });

  it("is paused also where its runner crashed instead of stopping", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    await driver.store.pauseRun(claimed.run.runId);
    await driver.settle(claimed, CRASHED);
    expect(await driver.store.run(claimed.run.runId)).toMatchObject({ reason: "Paused" });
    expect(await driver.store.queue({ project: PROJECT })).toEqual([]);
  });

  it("keeps an answer given during a pause for after it", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    const { runId } = claimed.run;
    await driver.store.appendJournal(claimed.claim, [line("begun", 1)]);
    await driver.settleRun(claimed, ASKS);
    await driver.store.pauseRun(runId);
    await driver.store.answerRun(runId, { node: "ask", value: 1, by: "ann" });
    expect(await driver.claim()).toEqual([]);
    await driver.store.resumeRun(runId);
    const next = await driver.claimRun();
    expect(await driver.store.runOrders(next.claim)).toMatchObject({ answers: [{ value: 1 }] });
  });

  it("does not let a pause hold up a cancel", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    const { runId } = claimed.run;
    await driver.store.appendJournal(claimed.claim, [line("succeeded", 1, { node: "a" })]);
    await driver.store.pauseRun(runId);
    await driver.settleRun(claimed, STOPPED);
    expect(await driver.store.cancelRun(runId, "ann")).toMatchObject({ paused: false });
    await expect(driver.store.pauseRun(runId)).rejects.toMatchObject({ code: "RUN_ENDED" });
    expect((await driver.claimRun()).run.runId).toBe(runId);
  });
}

function definitionSuite(begin: Start): void {
  it("interrupts a run that has begun when its code has changed; resume goes on with the old", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    const { runId } = claimed.run;
    await driver.settle(claimed, CRASHED);
    await driver.accept("w", "newer");
    driver.clock.advance(LIMITS.backoffCapMs);
    expect(await driver.claim()).toEqual([]);
    expect(await driver.store.run(runId)).toMatchObject({
      state: "interrupted",
      reason: "DefinitionChanged",
      digest: "digest-of-w",
    });
    expect(await driver.store.repair()).toEqual({ enqueued: 0 });
    await driver.store.resumeRun(runId);
    const kept = await driver.claimRun();
    expect(kept.run).toMatchObject({ digest: "digest-of-w", epochs: 2 });
    await driver.settleRun(kept, ASKS);
    await driver.accept("w", "newest");
    await driver.store.answerRun(runId, { node: "ask", value: 1, by: "ann" });
    expect((await driver.claimRun()).run.digest).toBe("digest-of-w");
  });

  it("a run that was paused before its code changed is not bound to the old by its resume", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    const { runId } = claimed.run;
    await driver.store.pauseRun(runId);
    await driver.settleRun(claimed, STOPPED);
    await driver.store.resumeRun(runId);
    await driver.accept("w", "newer");
    expect(await driver.claim()).toEqual([]);
    expect(await driver.store.run(runId)).toMatchObject({ reason: "DefinitionChanged" });
  });

  it("retry gives up the old code for a new attempt with the new", async () => {
    const driver = await begin();
    const claimed = await driver.started({ x: 1 });
    await driver.settle(claimed, CRASHED);
    await driver.accept("w", "newer");
    driver.clock.advance(LIMITS.backoffCapMs);
    await driver.claim();
    const next = await driver.store.retryRun(claimed.run.runId, "ann");
    expect(next).toMatchObject({ attempt: 2, digest: "newer", input: { x: 1 } });
    expect(await driver.store.run(claimed.run.runId)).toMatchObject({ state: "failed" });
  });

  it("undoes with the code that did: a cancel keeps the old", async () => {
    const driver = await begin();
    const claimed = await driver.started();
    await driver.store.appendJournal(claimed.claim, [line("succeeded", 1, { node: "a" })]);
    await driver.settle(claimed, CRASHED);
    await driver.accept("w", "newer");
    driver.clock.advance(LIMITS.backoffCapMs);
    await driver.claim();
    await driver.store.cancelRun(claimed.run.runId, "ann");
    expect((await driver.claimRun()).run).toMatchObject({ digest: "digest-of-w" });
  });

  it("runs today's code in a run that has not begun", async () => {
    const driver = await begin();
    const { runId } = await driver.start();
    await driver.accept("w", "newer");
    expect((await driver.claimRun()).run).toMatchObject({ runId, digest: "newer" });
  });

  it("hands out the runs behind those that it interrupts", async () => {
    const driver = await begin();
    const old = [await driver.started(), await driver.started(), await driver.started()];
    for (const claimed of old) await driver.settle(claimed, CRASHED);
    await driver.accept("w", "newer");
    driver.clock.advance(LIMITS.backoffCapMs);
    const fresh = [await driver.start(), await driver.start()];
    const claimed = await driver.claim(2, [RUN_LANE]);
    expect(keysOf(claimed)).toEqual(fresh.map(({ runId }) => runId));
  });
}

function fenceSuite(begin: Start): void {
  it("F-1: refuses every write of a run's pass whose claim was lost", async () => {
    const driver = await begin();
    const stale = await driver.started();
    await driver.settle(stale, CRASHED);
    const { claim } = stale;
    const { store } = driver;
    await expect(store.appendJournal(claim, [line("begun", 1)])).rejects.toMatchObject(LOST);
    await expect(store.appendJournal(claim, [])).rejects.toMatchObject(LOST);
    await expect(store.runOrders(claim)).rejects.toMatchObject(LOST);
    await expect(store.beginEffect(claim, EFFECT)).rejects.toMatchObject(LOST);
    await expect(store.renew(claim, driver.clock.now())).rejects.toMatchObject(LOST);
    driver.clock.advance(LIMITS.backoffCapMs);
    const other = await driver.claimRun();
    await expect(driver.settleRun({ ...stale, claim: { ...other.claim, token: "x" } }, DONE))
      .rejects //
      .toMatchObject(LOST);
    expect(await store.run(claim.uid)).toMatchObject({ state: "running", entries: 0 });
  });

  it("F-1: refuses every child run of a pass whose claim was lost", async () => {
    const driver = await begin();
    await driver.put("a", 1);
    const { claim, ...rest } = await driver.claimOne();
    await driver.settle({ claim, ...rest }, SETTLED);
    const { store } = driver;
    const request = { requestKey: "k", workflow: "w", input: {} };
    await expect(store.ensureChildRun(claim, request)).rejects.toMatchObject(LOST);
    await expect(store.childRun(claim, "k")).rejects.toMatchObject(LOST);
    await expect(store.cancelChildRun(claim, "k")).rejects.toMatchObject(LOST);
    expect((await store.runs({})).items).toEqual([]);
  });

  it("F-7: no write of an earlier server's pass arrives", async () => {
    const driver = await begin();
    const { claim } = await driver.started();
    await driver.store.beginEpoch();
    const late = driver.store.appendJournal(claim, [line("begun", 1)]);
    await expect(late).rejects.toMatchObject(LOST);
  });

  it("takes no journal for a resource that is no run", async () => {
    const driver = await begin();
    await driver.put("a", 1);
    const [{ claim } = { claim: undefined }] = await driver.claim(1, ["m"]);
    if (!claim) throw new Error("nothing was ready");
    await expect(driver.store.appendJournal(claim, [])).rejects.toMatchObject(LOST);
  });
}
