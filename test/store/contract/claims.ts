import { expect, it } from "vitest";
import { EFFECT, keysOf, SETTLED, type Start } from "../support.ts";

export function claimSuite(start: Start): void {
  it("F-1: every write on behalf of a pass needs its token, generation and uid", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    const { claim } = claimed;
    for (const forged of [
      { ...claim, token: "other" },
      { ...claim, generation: claim.generation + 1 },
      { ...claim, uid: "other" },
    ]) {
      const writes = [
        driver.settle({ ...claimed, claim: forged }, SETTLED),
        driver.store.renew(forged, driver.clock.now() + 1_000),
        driver.store.setFinalizer(forged, "x", true),
        driver.store.beginEffect(forged, EFFECT),
        driver.store.settleEffect(forged, {
          key: "e",
          requestFingerprint: "f",
          outcome: { state: "applied" },
        }),
      ];
      for (const write of writes) await expect(write).rejects.toMatchObject({ code: "LEASE_LOST" });
    }
    await driver.settle(claimed, SETTLED);
  });

  it("F-2: the claim generation rises with every claim", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const first = await driver.claimOne();
    await driver.settle(first, { kind: "requeue" });
    const second = await driver.claimOne();
    expect(second.claim.generation).toBeGreaterThan(first.claim.generation);
  });

  it("F-3: an expired claim may be renewed by its owner until somebody took over", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    driver.clock.advance(100_000);
    await driver.store.renew(claim, driver.clock.now() + 1_000);
    driver.clock.advance(1_000);
    await driver.claimOne();
    const renewal = driver.store.renew(claim, driver.clock.now() + 1_000);
    await expect(renewal).rejects.toMatchObject({ code: "LEASE_LOST" });
  });

  it("F-4: the owner of a claim that was taken over is told so, and its settle is refused", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const old = await driver.claimOne();
    driver.clock.advance(90_000);
    const fresh = await driver.claimOne();
    await expect(driver.settle(old, SETTLED)).rejects.toMatchObject({ code: "LEASE_LOST" });
    await driver.settle(fresh, SETTLED);
  });

  it("F-6: settling twice with one claim answers the same and changes nothing", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    const first = await driver.settle(claimed, { kind: "requeueAfter", delayMs: 500 });
    driver.clock.advance(600);
    const fresh = await driver.claimOne();
    const again = await driver.settle(claimed, { kind: "requeueAfter", delayMs: 500 });
    expect(again.readyAt).toBe(first.readyAt);
    expect(again.resourceVersion).toBe(first.resourceVersion);
    await driver.settle(fresh, SETTLED);
  });

  it("F-7: a new epoch ends every claim of the one before at once, and none of its own", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const old = await driver.claimOne();
    const before = driver.claimRequest();
    const { recovered } = await driver.store.beginEpoch();
    driver.epoch += 1;
    expect(recovered).toBe(1);
    await expect(driver.settle(old, SETTLED)).rejects.toMatchObject({ code: "LEASE_LOST" });
    await expect(driver.store.claim(before)).rejects.toMatchObject({ code: "LEASE_LOST" });
    const fresh = await driver.claimOne();
    expect(fresh).toMatchObject({ cause: "recovery", crashAttempts: 1 });
    await driver.settle(fresh, SETTLED);
  });

  it("claims the next keys in the transaction that settles", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.put("b", 1);
    const claimed = await driver.claimOne();
    const { claimed: next } = await driver.store.settle({
      claim: claimed.claim,
      reconcileId: claimed.reconcileId,
      observedGeneration: 1,
      outcome: SETTLED,
      startedAt: 0,
      durationMs: 0,
      random: 0,
      next: driver.claimRequest(),
    });
    expect(keysOf(next)).toEqual(["b"]);
  });
}
