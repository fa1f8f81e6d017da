import { expect, it } from "vitest";
import { LIMITS } from "../../../src/model/limits.ts";
import type { Claimed } from "../../../src/store/store.ts";
import { type Driver, EFFECT, FAILED, ORIGIN, PROJECT, SETTLED, type Start } from "../support.ts";

export function deletionSuite(start: Start): void {
  async function withFinalizer(driver: Driver): Promise<Claimed> {
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    await driver.store.setFinalizer(claimed.claim, "worktree", true);
    return claimed;
  }
  const remove = (driver: Driver, force = false) =>
    driver.store.delete({ ref: driver.ref("a"), origin: ORIGIN, force });

  it("D-1: a resource without finalizers is removed at once", async () => {
    const driver = await start();
    await driver.put("a", 1);
    expect(await remove(driver)).toMatchObject({ removed: true, finalizers: [] });
    expect(await driver.store.get(driver.ref("a"))).toBeUndefined();
  });

  it("D-1: with finalizers, deletion is marked once, is a generation, and wakes the key", async () => {
    const driver = await start();
    await driver.settle(await withFinalizer(driver), SETTLED);
    expect(await remove(driver)).toMatchObject({ removed: false, finalizers: ["worktree"] });
    const first = await driver.store.get(driver.ref("a"));
    expect(first?.resource.metadata).toMatchObject({ generation: 2 });
    driver.clock.advance(1_000);
    expect(await remove(driver)).toMatchObject({ removed: false, finalizers: ["worktree"] });
    expect(await driver.store.get(driver.ref("a"))).toEqual(first);
    expect((await driver.claimOne()).cause).toBe("delete");
  });

  it("D-1: deletion lifts a suspension, which would hold it up, and can't be suspended", async () => {
    const driver = await start();
    await driver.settle(await withFinalizer(driver), SETTLED);
    await driver.store.suspend(driver.ref("a"), true);
    await remove(driver);
    expect((await driver.store.get(driver.ref("a")))?.suspended).toBe(false);
    const again = driver.store.suspend(driver.ref("a"), true);
    await expect(again).rejects.toMatchObject({ code: "DELETING" });
    expect((await driver.claimOne()).cause).toBe("delete");
  });

  it("D-6: deleting a resource deletes no other, whatever depends on it", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.put("b", 1, { dependsOn: ["m/a"] });
    await remove(driver, true);
    expect(await driver.store.get(driver.ref("b"))).toMatchObject({
      dependsOn: ["m/a"],
      resource: { metadata: { generation: 1 } },
    });
  });

  it("D-2: removing the last finalizer removes the resource, and its pass still settles", async () => {
    const driver = await start();
    await driver.settle(await withFinalizer(driver), SETTLED);
    await remove(driver);
    const claimed = await driver.claimOne();
    const left = await driver.store.setFinalizer(claimed.claim, "worktree", false);
    expect(left).toBeUndefined();
    expect(await driver.store.get(driver.ref("a"))).toBeUndefined();
    const receipt = await driver.settle(claimed, SETTLED);
    expect(receipt.resourceVersion).toBeUndefined();
    expect(receipt.record).toMatchObject({
      project: PROJECT,
      resourceManager: "m",
      key: "a",
      outcome: "settled",
    });
    expect(await driver.store.queue({ project: PROJECT })).toEqual([]);
  });

  it("D-2: as long as one finalizer is left, the resource stays", async () => {
    const driver = await start();
    const { claim } = await withFinalizer(driver);
    await driver.store.setFinalizer(claim, "session", true);
    await remove(driver);
    const left = await driver.store.setFinalizer(claim, "session", false);
    expect(left?.finalizers).toEqual(["worktree"]);
    expect((await driver.store.get(driver.ref("a")))?.resource.metadata).toEqual(left);
  });

  it("D-3: no finalizer can be added to what is being deleted or gone", async () => {
    const driver = await start();
    const claimed = await withFinalizer(driver);
    await remove(driver);
    const late = driver.store.setFinalizer(claimed.claim, "session", true);
    await expect(late).rejects.toMatchObject({ code: "DELETING" });
    await remove(driver, true);
    const gone = driver.store.setFinalizer(claimed.claim, "session", true);
    await expect(gone).rejects.toMatchObject({ code: "LEASE_LOST" });
  });

  it("D-4: a finalizer is there before the first effect can be begun", async () => {
    const driver = await start();
    const claimed = await withFinalizer(driver);
    await driver.store.beginEffect(claimed.claim, EFFECT);
    const { finalizers = [] } = (await driver.store.get(driver.ref("a")))?.resource.metadata ?? {};
    expect(finalizers).toEqual(["worktree"]);
  });

  it("D-5: a successor has a new uid, generation 1 and a clean queue row; the old pass can't write to it", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass(FAILED);
    driver.clock.advance(LIMITS.backoffCapMs);
    const old = await driver.claimOne();
    await remove(driver, true);
    const { uid, generation } = await driver.put("a", 2);
    expect(uid).not.toBe(old.claim.uid);
    expect(generation).toBe(1);
    expect(await driver.queued("a")).toMatchObject({ attempts: 0, claimed: false });
    await expect(driver.settle(old, SETTLED)).rejects.toMatchObject({ code: "LEASE_LOST" });
    const write = driver.store.beginEffect(old.claim, EFFECT);
    await expect(write).rejects.toMatchObject({ code: "LEASE_LOST" });
    expect((await driver.store.get(driver.ref("a")))?.resource.status.conditions).toEqual([]);
  });

  it("D-7: open effects of a removed resource are still listed and can be resolved", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    await driver.store.beginEffect(claim, EFFECT);
    await remove(driver);
    expect(await driver.store.effects({ open: true })).toMatchObject([{ resourceKey: "a" }]);
    const applied = { state: "applied" as const };
    await driver.store.resolveEffect(claim.uid, EFFECT.key, applied, "ann");
    expect(await driver.store.effects({ open: true })).toEqual([]);
    expect(await driver.store.queue({ project: PROJECT })).toEqual([]);
  });

  it("D-8: force drops finalizers, and says which and what effects may be left", async () => {
    const driver = await start();
    const { claim } = await withFinalizer(driver);
    await driver.store.beginEffect(claim, EFFECT);
    expect(await remove(driver, true)).toMatchObject({
      removed: true,
      finalizers: ["worktree"],
      unsettledEffects: [{ key: EFFECT.key, state: "indeterminate" }],
    });
  });

  it("pruning is deletion, and applying what is being deleted is refused", async () => {
    const driver = await start();
    await driver.settle(await withFinalizer(driver), SETTLED);
    const expected = await driver.version("a");
    const change = { kind: "prune" as const, manager: "m", key: "a", expected, origin: ORIGIN };
    await driver.store.applyBatch({ project: PROJECT, changes: [change] });
    await expect(driver.put("a", 2)).rejects.toMatchObject({ code: "DELETING" });
    const again = { ...change, expected: await driver.version("a") };
    const { items } = await driver.store.applyBatch({ project: PROJECT, changes: [again] });
    const same = { generation: 2, resourceVersion: again.expected, removed: false };
    expect(items).toMatchObject([same]);
  });

  it("deleting at another version than the one seen is refused", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const stale = driver.store.delete({ ref: driver.ref("a"), origin: ORIGIN, expected: 99_999 });
    await expect(stale).rejects.toMatchObject({ code: "STALE" });
    const expected = await driver.version("a");
    const seen = driver.store.delete({ ref: driver.ref("a"), origin: ORIGIN, expected });
    expect(await seen).toMatchObject({ removed: true });
  });
}
