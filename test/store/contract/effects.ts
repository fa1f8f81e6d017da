import { expect, it } from "vitest";
import type { EffectDecision } from "../../../src/model/effect.ts";
import { LIMITS } from "../../../src/model/limits.ts";
import type { Claim, Claimed } from "../../../src/store/store.ts";
import {
  CRASHED,
  type Driver,
  EFFECT,
  keysOf,
  ORIGIN,
  type ModelledStore,
  type Start,
} from "../support.ts";

export function effectSuite(start: Start): void {
  type Begun = { driver: Driver; claimed: Claimed; decision: EffectDecision };
  async function begun(): Promise<Begun> {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    return { driver, claimed, decision: await driver.store.beginEffect(claimed.claim, EFFECT) };
  }
  function settle(
    { driver, claimed, decision }: Begun,
    outcome: Parameters<ModelledStore["settleEffect"]>[1]["outcome"],
  ) {
    const { requestFingerprint } = decision.effect;
    return driver.store.settleEffect(claimed.claim, {
      key: EFFECT.key,
      requestFingerprint,
      outcome,
    });
  }
  /** The next pass, after the one before died. */
  async function nextPass({ driver, claimed }: Begun): Promise<Claimed> {
    await driver.settle(claimed, CRASHED);
    driver.clock.advance(LIMITS.backoffCapMs);
    return driver.claimOne();
  }

  it("E-1: the first begin records the effect as pending and says to call", async () => {
    const { driver, decision } = await begun();
    expect(decision).toMatchObject({ next: "call", effect: { state: "pending", attempts: 1 } });
    expect(await driver.store.effects({ open: true })).toHaveLength(1);
  });

  it("E-2: after an unanswered call the next pass must observe, and calls again only with proof", async () => {
    const started = await begun();
    const { driver } = started;
    const { claim } = await nextPass(started);
    expect((await driver.store.beginEffect(claim, EFFECT)).next).toBe("observe");
    expect((await driver.store.beginEffect(claim, EFFECT)).next).toBe("observe");
    const proven = await driver.store.beginEffect(claim, { ...EFFECT, provenAbsent: true });
    expect(proven).toMatchObject({ next: "call", effect: { state: "pending", attempts: 2 } });
  });

  it("E-2: a call after a proof leaves nothing of the doubt before", async () => {
    const started = await begun();
    await settle(started, { state: "indeterminate", reason: "can't tell", park: true });
    const { claim } = await nextPass(started);
    const { effect } = await started.driver.store.beginEffect(claim, {
      ...EFFECT,
      provenAbsent: true,
    });
    expect(effect).toMatchObject({ state: "pending", parked: false });
    expect(effect).not.toHaveProperty("reason");
  });

  it("E-2: a proof of absence is worth nothing while a call may be under way", async () => {
    const { driver, claimed } = await begun();
    const again = driver.store.beginEffect(claimed.claim, { ...EFFECT, provenAbsent: true });
    await expect(again).rejects.toMatchObject({ code: "EFFECT_CONFLICT" });
  });

  it("E-3: an applied effect is returned with its result and not called again", async () => {
    const started = await begun();
    await settle(started, { state: "applied", externalRef: "abc", result: { merged: true } });
    const { driver, claimed } = started;
    const again = await driver.store.beginEffect(claimed.claim, EFFECT);
    const effect = { state: "applied", externalRef: "abc", result: { merged: true } };
    expect(again).toMatchObject({ next: "done", effect });
  });

  it("E-4: one key for another request is refused, whatever became of the first", async () => {
    const started = await begun();
    const { driver } = started;
    const refused = async (claim: Claim) => {
      const other = driver.store.beginEffect(claim, { ...EFFECT, request: { number: 8 } });
      await expect(other).rejects.toMatchObject({ code: "EFFECT_CONFLICT" });
    };
    await refused(started.claimed.claim);
    const next = await nextPass(started);
    await refused(next.claim);
    await settle({ ...started, claimed: next }, { state: "applied" });
    await refused(next.claim);
  });

  it("E-4: the end of another request under the same key is refused, and so is one of none", async () => {
    const { driver, claimed } = await begun();
    const end = (key: string) =>
      driver.store.settleEffect(claimed.claim, {
        key,
        requestFingerprint: "of another request",
        outcome: { state: "applied" },
      });
    await expect(end(EFFECT.key)).rejects.toMatchObject({ code: "EFFECT_CONFLICT" });
    await expect(end("never begun")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await driver.store.effects({})).toMatchObject([{ state: "pending" }]);
  });

  it.each([{ key: "" }, { kind: "" }])("needs a key and a kind: not %o", async (wrong) => {
    const driver = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    const refused = driver.store.beginEffect(claim, { ...EFFECT, ...wrong });
    await expect(refused).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  it("E-4: the order of a request's members does not matter", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    const request = { x: 1, y: -0 };
    const { effect } = await driver.store.beginEffect(claim, { ...EFFECT, request });
    const outcome = { state: "applied" as const };
    const { requestFingerprint } = effect;
    await driver.store.settleEffect(claim, { key: EFFECT.key, requestFingerprint, outcome });
    const same = { ...EFFECT, request: { y: 0, x: 1 } };
    expect((await driver.store.beginEffect(claim, same)).next).toBe("done");
  });

  it("E-5: applied and rejected are final", async () => {
    const started = await begun();
    await settle(started, { state: "rejected", reason: "not allowed" });
    const turned = settle(started, { state: "applied" });
    await expect(turned).rejects.toMatchObject({ code: "EFFECT_NOT_OPEN" });
    const { driver, claimed } = started;
    const byHand = driver.store.resolveEffect(
      claimed.claim.uid,
      EFFECT.key,
      { state: "applied" },
      "ann",
    );
    await expect(byHand).rejects.toMatchObject({ code: "EFFECT_NOT_OPEN" });
    const same = { state: "rejected" as const, reason: "not allowed" };
    const again = driver.store.resolveEffect(claimed.claim.uid, EFFECT.key, same, "ann");
    await expect(again).rejects.toMatchObject({ code: "EFFECT_NOT_OPEN" });
  });

  it("E-5: what is said once more changes nothing; another reason or parking does", async () => {
    const started = await begun();
    const say = (reason: string, park = false) =>
      settle(started, { state: "indeterminate", reason, park });
    const first = await say("time-out");
    expect(await say("time-out")).toEqual(first);
    expect(await say("no route")).toMatchObject({ reason: "no route", parked: false });
    expect(await say("no route", true)).toMatchObject({ reason: "no route", parked: true });
  });

  it("E-6: a pass that ends without an answer leaves its calls indeterminate", async () => {
    const started = await begun();
    await started.driver.settle(started.claimed, CRASHED);
    expect(await started.driver.store.effects({})).toMatchObject([{ state: "indeterminate" }]);
  });

  it("E-6: so does the end of the server", async () => {
    const { driver } = await begun();
    await driver.store.beginEpoch();
    expect(await driver.store.effects({})).toMatchObject([{ state: "indeterminate" }]);
  });

  it("E-6, D-7: the removal of its resource leaves a call in flight indeterminate, for a late answer or a person", async () => {
    const started = await begun();
    const { driver } = started;
    await driver.store.delete({ ref: driver.ref("a"), origin: ORIGIN, force: true });
    expect(await driver.store.effects({ open: true })).toMatchObject([{ state: "indeterminate" }]);
    await settle(started, { state: "applied" });
    expect(await driver.store.effects({})).toMatchObject([{ state: "applied" }]);
  });

  it("E-7: says for how long no call can have begun, since the end of its pass, by no wall clock", async () => {
    const { driver, claimed } = await begun();
    // The runner was told late: it may have called only now.
    driver.clock.advance(40_000);
    await driver.settle(claimed, CRASHED);
    driver.clock.advance(1_500);
    driver.clock.jump(60 * 60_000);
    const { claim } = await driver.claimOne();
    expect(await driver.store.beginEffect(claim, EFFECT)).toMatchObject({ quietMs: 1_500 });
    driver.clock.jump(-24 * 60 * 60_000);
    driver.clock.advance(500);
    expect(await driver.store.beginEffect(claim, EFFECT)).toMatchObject({ quietMs: 2_000 });
  });

  it("E-7: a look that can't tell does not begin the quiet time anew", async () => {
    const started = await begun();
    const next = await nextPass(started);
    await settle(
      { ...started, claimed: next },
      { state: "indeterminate", reason: "not shown yet", park: false },
    );
    const quietMs = LIMITS.backoffCapMs + 1_000;
    started.driver.clock.advance(1_000);
    const again = await started.driver.store.beginEffect(next.claim, EFFECT);
    expect(again).toMatchObject({ next: "observe", quietMs });
  });

  it("E-9: a parked effect stays parked under a new spec, and blocks nothing else", async () => {
    const started = await begun();
    const { driver, claimed } = started;
    await settle(started, { state: "indeterminate", reason: "can't tell", park: true });
    await driver.settle(claimed, { kind: "parked", effectKey: EFFECT.key, message: "can't tell" });
    expect(await driver.queued("a")).toBeUndefined();
    await driver.put("a", 2);
    const { claim } = await driver.claimOne();
    const again = await driver.store.beginEffect(claim, EFFECT);
    expect(again).toMatchObject({ next: "observe", effect: { parked: true } });
    await driver.put("b", 1);
    expect(keysOf(await driver.claim())).toEqual(["b"]);
  });

  it("parks an effect whose calls are used up", async () => {
    let started = await begun();
    const { driver } = started;
    for (let call = 2; call <= LIMITS.effectAttempts; call += 1) {
      const claimed = await nextPass(started);
      const decision = await driver.store.beginEffect(claimed.claim, {
        ...EFFECT,
        provenAbsent: true,
      });
      expect(decision).toMatchObject({ next: "call", effect: { attempts: call } });
      started = { driver, claimed, decision };
    }
    const { claim } = await nextPass(started);
    const spent = await driver.store.beginEffect(claim, { ...EFFECT, provenAbsent: true });
    expect(spent).toMatchObject({
      next: "observe",
      effect: { parked: true, state: "indeterminate" },
    });
  });

  it("E-10: a fenced pass may still say how its own call ended, and wakes the key", async () => {
    const started = await begun();
    await started.driver.store.beginEpoch();
    const unknown = settle(started, { state: "indeterminate", reason: "time-out", park: false });
    await expect(unknown).rejects.toMatchObject({ code: "LEASE_LOST" });
    expect(await settle(started, { state: "applied", externalRef: "abc" })).toMatchObject({
      state: "applied",
    });
    const { conditions } = (await started.driver.store.get(started.driver.ref("a")))?.resource
      .status ?? { conditions: undefined };
    expect(conditions).toEqual([]);
  });

  it("E-10: the late answer wakes a key that waits for nothing, once, and no suspended one", async () => {
    const started = await begun();
    const { driver, claimed } = started;
    await driver.settle(claimed, { kind: "settled" });
    expect(await driver.queued("a")).toBeUndefined();
    await settle(started, { state: "applied" });
    expect((await driver.claimOne()).cause).toBe("effect");
    await settle(started, { state: "applied" });
    expect(await driver.queued("a")).toMatchObject({ dirty: false });

    const other = await begun();
    await other.driver.settle(other.claimed, { kind: "settled" });
    await other.driver.store.suspend(other.driver.ref("a"), true);
    await settle(other, { state: "applied" });
    expect(await other.driver.queued("a")).toBeUndefined();
  });

  it("E-10: but not once a later pass has called again", async () => {
    const started = await begun();
    const { claim } = await nextPass(started);
    await started.driver.store.beginEffect(claim, EFFECT);
    await started.driver.store.beginEffect(claim, { ...EFFECT, provenAbsent: true });
    const late = settle(started, { state: "applied" });
    await expect(late).rejects.toMatchObject({ code: "LEASE_LOST" });
  });

  it("R-4: an effect that no pass asks for any more stays a condition until it is settled", async () => {
    const started = await begun();
    const { driver, claimed } = started;
    await driver.settle(await nextPass(started), { kind: "settled" });
    const conditions = async () =>
      (await driver.store.get(driver.ref("a")))?.resource.status.conditions.find(
        ({ type }) => type === "EffectIndeterminate",
      );
    const message = `not known to have happened or not: ${EFFECT.key}`;
    expect(await conditions()).toMatchObject({ status: true, reason: "EffectUnsettled", message });
    const outcome = { state: "rejected" as const, reason: "it is not there" };
    await driver.store.resolveEffect(claimed.claim.uid, EFFECT.key, outcome, "ann");
    await driver.settle(await driver.claimOne(), { kind: "settled" });
    expect(await conditions()).toMatchObject({ status: false, reason: "Succeeded" });
  });

  it("E-9: a pass that went well does not hide a parked effect", async () => {
    const started = await begun();
    const { driver, claimed } = started;
    await settle(started, { state: "indeterminate", reason: "can't tell", park: true });
    await driver.settle(claimed, { kind: "parked", effectKey: EFFECT.key, message: "can't tell" });
    await driver.put("a", 2);
    await driver.settle(await driver.claimOne(), { kind: "settled" });
    const stored = await driver.store.get(driver.ref("a"));
    expect(stored?.resource.status.conditions).toContainEqual(
      expect.objectContaining({
        type: "EffectIndeterminate",
        status: true,
        reason: "EffectParked",
      }),
    );
  });

  it("an effect resolved by hand wakes its resource", async () => {
    const started = await begun();
    const { driver, claimed } = started;
    await settle(started, { state: "indeterminate", reason: "can't tell", park: true });
    await driver.settle(claimed, { kind: "parked", effectKey: EFFECT.key, message: "can't tell" });
    const stored = await driver.store.get(driver.ref("a"));
    expect(stored?.resource.status.conditions).toMatchObject([
      { type: "EffectIndeterminate", status: true },
    ]);
    const outcome = { state: "applied" as const, externalRef: "abc" };
    await driver.store.resolveEffect(claimed.claim.uid, EFFECT.key, outcome, "ann");
    expect((await driver.claimOne()).cause).toBe("effect");
  });
}
