import { expect, it } from "vitest";
import { LIMITS } from "../../../src/model/limits.ts";
import type { Claimed } from "../../../src/store/store.ts";
import {
  ASKS,
  BROKEN,
  CRASHED,
  DONE,
  line,
  ORIGIN,
  PROJECT,
  SETTLED,
  UNSURE,
  type Driver,
  type Start,
} from "../words.ts";

const REPAIR = { requestKey: "repair:1", workflow: "w", input: { head: "abc" } };
const CHILD_RUNS = "pi-workflows/child-runs";

export function childRunSuite(make: Start): void {
  const begin = async (): Promise<Driver> => {
    const driver = await make();
    await driver.accept();
    await driver.accept("v");
    return driver;
  };
  requestSuite(begin);
  wakeSuite(begin);
  deletionSuite(begin);
  attemptSuite(begin);
}

/** A claimed resource. */
async function claimedParent(driver: Driver, key = "a"): Promise<Claimed> {
  await driver.put(key, 1);
  const [claimed] = await driver.claim(1, ["m"]);
  if (!claimed) throw new Error("nothing was ready");
  return claimed;
}

/** A resource that rests, with one child run that has not begun. */
async function withChild(driver: Driver) {
  const claimed = await claimedParent(driver);
  const child = await driver.store.ensureChildRun(claimed.claim, REPAIR);
  await driver.settle(claimed, SETTLED);
  return child;
}

async function linkOf(driver: Driver) {
  return (await driver.store.get(driver.ref("a")))?.resource.status.workflowRun;
}

async function finalizersOf(driver: Driver) {
  return (await driver.store.get(driver.ref("a")))?.resource.metadata.finalizers;
}

function requestSuite(begin: Start): void {
  it("R-1: a person's request key is another than a resource's that is spelled alike", async () => {
    const driver = await begin();
    const child = await withChild(driver);
    const run = await driver.start(REPAIR.input, { requestKey: REPAIR.requestKey });
    expect(run.runId).not.toBe(child.runId);
    expect(run).not.toHaveProperty("parent");
  });

  it("R-1: one request key of one resource is one run; another input or workflow is refused", async () => {
    const driver = await begin();
    const { claim } = await claimedParent(driver);
    const { store } = driver;
    expect(await store.childRun(claim, "repair:1")).toBeUndefined();
    const first = await store.ensureChildRun(claim, REPAIR);
    expect(await store.ensureChildRun(claim, { ...REPAIR })).toEqual(first);
    expect(await store.childRun(claim, "repair:1")).toEqual(first);
    const conflict = { code: "RUN_CONFLICT" };
    const other = { ...REPAIR, input: { head: "def" } };
    await expect(store.ensureChildRun(claim, other)).rejects.toMatchObject(conflict);
    const elsewhere = { ...REPAIR, workflow: "v" };
    await expect(store.ensureChildRun(claim, elsewhere)).rejects.toMatchObject(conflict);
    const unknown = { ...REPAIR, requestKey: "x", workflow: "none" };
    await expect(store.ensureChildRun(claim, unknown)).rejects.toMatchObject({
      code: "UNKNOWN_WORKFLOW",
    });
    expect((await store.runs({})).items).toHaveLength(1);
  });

  it("R-1: keys of different resources are different requests", async () => {
    const driver = await begin();
    const one = await claimedParent(driver, "a");
    const two = await claimedParent(driver, "b");
    const first = await driver.store.ensureChildRun(one.claim, REPAIR);
    const second = await driver.store.ensureChildRun(two.claim, { ...REPAIR, input: {} });
    expect(second.runId).not.toBe(first.runId);
  });

  it("R-1: a request finds its run also after that has ended", async () => {
    const driver = await begin();
    await withChild(driver);
    await driver.settleRun(await driver.claimRun(), DONE);
    const [parent] = await driver.claim(1, ["m"]);
    if (!parent) throw new Error("not woken");
    const found = await driver.store.ensureChildRun(parent.claim, REPAIR);
    expect(found).toMatchObject({ state: "succeeded", output: { ok: true } });
    expect(await finalizersOf(driver)).toEqual([]);
  });

  it("R-2: the run, its link in the status and the finalizer are there together", async () => {
    const driver = await begin();
    const claimed = await claimedParent(driver);
    const before = claimed.resource.metadata.resourceVersion;
    const child = await driver.store.ensureChildRun(claimed.claim, REPAIR);
    expect(child.parent).toEqual({
      uid: claimed.claim.uid,
      resourceManager: "m",
      key: "a",
      requestKey: "repair:1",
    });
    expect(await linkOf(driver)).toEqual({
      requestId: "repair:1",
      runId: child.runId,
      state: "pending",
      attempt: 1,
    });
    expect(await finalizersOf(driver)).toEqual([CHILD_RUNS]);
    expect(await driver.version("a")).toBeGreaterThan(before);
    expect((await driver.claimRun()).run.runId).toBe(child.runId);
    expect(await linkOf(driver)).toMatchObject({ state: "running" });
  });

  it("links the run that was asked for last", async () => {
    const driver = await begin();
    const { claim } = await claimedParent(driver);
    await driver.store.ensureChildRun(claim, REPAIR);
    await driver.store.ensureChildRun(claim, { ...REPAIR, requestKey: "review" });
    expect(await linkOf(driver)).toMatchObject({ requestId: "review" });
    await driver.store.ensureChildRun(claim, REPAIR);
    expect(await linkOf(driver)).toMatchObject({ requestId: "repair:1" });
  });

  it("shows its manager the link when the resource is handed out", async () => {
    const driver = await begin();
    await withChild(driver);
    await driver.settleRun(await driver.claimRun(), BROKEN);
    const [parent] = await driver.claim(1, ["m"]);
    expect(parent?.resource.status.workflowRun).toMatchObject({ state: "failed", attempt: 1 });
  });

  it("keeps its finalizer from managers", async () => {
    const driver = await begin();
    const { claim } = await claimedParent(driver);
    await driver.store.ensureChildRun(claim, REPAIR);
    const bad = { code: "BAD_REQUEST" };
    const change = (present: boolean) => driver.store.setFinalizer(claim, CHILD_RUNS, present);
    await expect(change(false)).rejects.toMatchObject(bad);
    await expect(change(true)).rejects.toMatchObject(bad);
  });
}

function wakeSuite(begin: Start): void {
  it.each([
    ["succeeds", DONE, "succeeded"],
    ["fails", BROKEN, "failed"],
    ["waits for an answer", ASKS, "waiting"],
    ["can't tell how an attempt ended", UNSURE, "interrupted"],
  ] as const)("R-2: its parent is enqueued when it %s", async (_, ending, state) => {
    const driver = await begin();
    await withChild(driver);
    const claimed = await driver.claimRun();
    expect(await driver.queued("a")).toBeUndefined();
    await driver.settleRun(claimed, ending);
    expect(await driver.queued("a")).toMatchObject({ cause: "child", claimed: false });
    expect(await linkOf(driver)).toMatchObject({ state });
  });

  it("R-2: a wake during the parent's own pass causes another pass", async () => {
    const driver = await begin();
    const claimed = await claimedParent(driver);
    await driver.store.ensureChildRun(claimed.claim, REPAIR);
    await driver.settleRun(await driver.claimRun(), DONE);
    await driver.settle(claimed, SETTLED);
    expect((await driver.claim(1, ["m"]))[0]?.cause).toBe("child");
  });

  it("R-2: its parent is enqueued when it ends without a runner, and when it is given up", async () => {
    const driver = await begin();
    const child = await withChild(driver);
    await driver.store.cancelRun(child.runId, "ann");
    expect(await driver.queued("a")).toMatchObject({ cause: "child" });
    const [parent] = await driver.claim(1, ["m"]);
    if (!parent) throw new Error("not woken");
    await driver.store.ensureChildRun(parent.claim, { ...REPAIR, requestKey: "again" });
    await driver.settle(parent, SETTLED);
    for (let count = 0; count < LIMITS.crashAttempts; count += 1) {
      expect(await driver.queued("a")).toBeUndefined();
      await driver.settle(await driver.claimRun(), CRASHED);
      driver.clock.advance(LIMITS.backoffCapMs);
    }
    expect(await driver.queued("a")).toMatchObject({ cause: "child" });
    expect(await linkOf(driver)).toMatchObject({ state: "interrupted" });
  });

  it("R-2: its parent is enqueued when its code changed, and when it was paused", async () => {
    const driver = await begin();
    await withChild(driver);
    const claimed = await driver.claimRun();
    await driver.settle(claimed, CRASHED);
    await driver.accept("w", "newer");
    driver.clock.advance(LIMITS.backoffCapMs);
    await driver.claim(1, ["workflow/w"]);
    expect(await driver.queued("a")).toMatchObject({ cause: "child" });
    await driver.pass(SETTLED);
    await driver.store.resumeRun(claimed.run.runId);
    expect(await driver.queued("a")).toBeUndefined();
    await driver.store.pauseRun(claimed.run.runId);
    expect(await driver.queued("a")).toMatchObject({ cause: "child" });
  });

  it("does not wake a parent that is suspended", async () => {
    const driver = await begin();
    await withChild(driver);
    await driver.store.suspend(driver.ref("a"), true);
    await driver.settleRun(await driver.claimRun(), DONE);
    expect(await driver.queued("a")).toBeUndefined();
  });

  it("drops the finalizer with the last run that is open, not before", async () => {
    const driver = await begin();
    const claimed = await claimedParent(driver);
    await driver.store.ensureChildRun(claimed.claim, REPAIR);
    await driver.store.ensureChildRun(claimed.claim, { ...REPAIR, requestKey: "review" });
    await driver.settleRun(await driver.claimRun(), DONE);
    expect(await finalizersOf(driver)).toEqual([CHILD_RUNS]);
    await driver.settleRun(await driver.claimRun(), BROKEN);
    expect(await finalizersOf(driver)).toEqual([]);
  });

  it("cancels a child run for the pass of its parent", async () => {
    const driver = await begin();
    const { claim } = await claimedParent(driver);
    expect(await driver.store.cancelChildRun(claim, "repair:1")).toBeUndefined();
    await driver.store.ensureChildRun(claim, REPAIR);
    const child = await driver.claimRun();
    await driver.store.appendJournal(child.claim, [line("begun", 1)]);
    expect(await driver.store.cancelChildRun(claim, "repair:1")).toMatchObject({
      cancelling: true,
    });
    expect(await driver.store.runOrders(child.claim)).toMatchObject({ cancel: { by: "m a" } });
    await driver.settleRun(child, DONE);
    expect(await driver.store.cancelChildRun(claim, "repair:1")).toMatchObject({
      state: "succeeded",
    });
  });
}

function deletionSuite(begin: Start): void {
  const remove = (driver: Driver, force = false) =>
    driver.store.delete({ ref: driver.ref("a"), origin: ORIGIN, force });

  it("D-1: deletion cancels child runs and waits for them; the last one's end removes the resource", async () => {
    const driver = await begin();
    await withChild(driver);
    const child = await driver.claimRun();
    await driver.store.appendJournal(child.claim, [line("succeeded", 1, { node: "a" })]);
    expect(await remove(driver)).toMatchObject({ removed: false, finalizers: [CHILD_RUNS] });
    expect(await driver.store.run(child.run.runId)).toMatchObject({ cancelling: true });
    await driver.pass(SETTLED);
    expect(await finalizersOf(driver)).toEqual([CHILD_RUNS]);
    await driver.settleRun(child, { state: "failed", reason: "Cancelled", message: "undone" });
    expect(await driver.store.get(driver.ref("a"))).toBeUndefined();
    expect(await driver.store.queue({ project: PROJECT })).toEqual([]);
    expect(await driver.store.run(child.run.runId)).toMatchObject({ state: "failed" });
  });

  it("D-2: child runs that had not begun end in the same transaction, and the resource with them", async () => {
    const driver = await begin();
    const { runId } = await withChild(driver);
    expect(await remove(driver)).toMatchObject({ removed: true });
    expect(await driver.store.get(driver.ref("a"))).toBeUndefined();
    expect(await driver.store.run(runId)).toMatchObject({ state: "failed", reason: "Cancelled" });
    expect(await driver.claim(5)).toEqual([]);
  });

  it("D-2: the pass during which the last child run ended may still settle", async () => {
    const driver = await begin();
    const claimed = await claimedParent(driver);
    await driver.store.ensureChildRun(claimed.claim, REPAIR);
    const child = await driver.claimRun();
    await remove(driver);
    await driver.settleRun(child, DONE);
    expect(await driver.store.get(driver.ref("a"))).toBeUndefined();
    expect(await driver.settle(claimed, SETTLED)).not.toHaveProperty("readyAt");
  });

  it("D-3: a resource that is being deleted gets no new child run, but finds the old ones", async () => {
    const driver = await begin();
    const claimed = await claimedParent(driver);
    const first = await driver.store.ensureChildRun(claimed.claim, REPAIR);
    await driver.claimRun();
    await remove(driver);
    const other = { ...REPAIR, requestKey: "late" };
    await expect(driver.store.ensureChildRun(claimed.claim, other)).rejects.toMatchObject({
      code: "DELETING",
    });
    expect(await driver.store.ensureChildRun(claimed.claim, REPAIR)).toMatchObject({
      runId: first.runId,
    });
    expect((await driver.store.runs({})).items).toHaveLength(1);
  });

  it("D-8: force does not wait for child runs, but cancels them", async () => {
    const driver = await begin();
    await withChild(driver);
    const child = await driver.claimRun();
    expect(await remove(driver, true)).toMatchObject({ removed: true });
    expect(await driver.store.run(child.run.runId)).toMatchObject({ cancelling: true });
    await driver.settleRun(child, DONE);
    expect(await driver.store.run(child.run.runId)).toMatchObject({ state: "succeeded" });
  });

  it("D-5: runs of a resource of the same name that is gone do not reach the new one", async () => {
    const driver = await begin();
    await withChild(driver);
    const old = await driver.claimRun();
    await remove(driver, true);
    const parent = await claimedParent(driver);
    const fresh = await driver.store.ensureChildRun(parent.claim, { ...REPAIR, input: {} });
    expect(fresh.runId).not.toBe(old.run.runId);
    await driver.settle(parent, SETTLED);
    await driver.settleRun(old, DONE);
    expect(await driver.queued("a")).toBeUndefined();
    expect(await finalizersOf(driver)).toEqual([CHILD_RUNS]);
  });
}

function attemptSuite(begin: Start): void {
  it("a new attempt takes over the link, and makes deletion wait again", async () => {
    const driver = await begin();
    const first = await withChild(driver);
    await driver.settleRun(await driver.claimRun(), BROKEN);
    expect(await finalizersOf(driver)).toEqual([]);
    const second = await driver.store.retryRun(first.runId, "ann");
    expect(second).toMatchObject({ attempt: 2, parent: { requestKey: "repair:1", key: "a" } });
    expect(await linkOf(driver)).toMatchObject({ runId: second.runId, attempt: 2 });
    expect(await finalizersOf(driver)).toEqual([CHILD_RUNS]);
    const [parent] = await driver.claim(1, ["m"]);
    if (!parent) throw new Error("not woken");
    const found = await driver.store.ensureChildRun(parent.claim, REPAIR);
    expect(found.runId).toBe(second.runId);
  });

  it("leaves the link alone where another run was asked for since", async () => {
    const driver = await begin();
    const claimed = await claimedParent(driver);
    const first = await driver.store.ensureChildRun(claimed.claim, REPAIR);
    await driver.settleRun(await driver.claimRun(), BROKEN);
    await driver.store.ensureChildRun(claimed.claim, { ...REPAIR, requestKey: "review" });
    await driver.store.retryRun(first.runId, "ann");
    expect(await linkOf(driver)).toMatchObject({ requestId: "review" });
  });

  it("is refused where the resource is gone", async () => {
    const driver = await begin();
    const first = await withChild(driver);
    await driver.settleRun(await driver.claimRun(), BROKEN);
    await driver.store.delete({ ref: driver.ref("a"), origin: ORIGIN });
    const late = driver.store.retryRun(first.runId, "ann");
    await expect(late).rejects.toMatchObject({ code: "DELETING" });
    expect(await driver.store.run(first.runId)).toMatchObject({ state: "failed" });
  });
}
