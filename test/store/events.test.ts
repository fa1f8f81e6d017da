import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import type { EffectOutcome } from "../../src/model/effect.ts";
import type { EventInput } from "../../src/model/event.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import {
  CRASHED,
  Driver,
  EFFECT,
  FAILED,
  ORIGIN,
  PROJECT,
  SETTLED,
  sqliteStore,
} from "./support.ts";

type Started = { driver: Driver<ResourceManagerStore>; uid: string };

async function start(): Promise<Started> {
  const { store, clock } = sqliteStore();
  const driver = await new Driver(store, clock).begin("m");
  return { driver, uid: (await driver.put("a", 1)).uid };
}

function told(message: string, rest: Partial<EventInput> = {}): EventInput {
  return { type: "Normal", reason: "Told", message, ...rest };
}

describe("events", () => {
  it("R-7: an event that repeats is folded into one, with count and both times", async () => {
    const { driver, uid } = await start();
    const first = await driver.store.appendEvent(uid, told("hello"));
    driver.clock.advance(1_000);
    await driver.store.appendEvent(uid, told("something else"));
    const again = await driver.store.appendEvent(uid, told("hello"));
    expect(again).toMatchObject({
      count: 2,
      firstAt: first.firstAt,
      lastAt: first.firstAt + 1_000,
    });
    expect(again.sequence).toBeGreaterThan(first.sequence);
    const events = await driver.store.events({ uid });
    expect(events.map(({ message }) => message).slice(-2)).toEqual(["something else", "hello"]);
  });

  it("R-7: a message that differs each time can't fill the store", async () => {
    const { driver, uid } = await start();
    for (let count = 0; count < 30; count += 1) {
      await driver.store.appendEvent(uid, told(`saw number ${count}`));
    }
    const events = (await driver.store.events({ uid })).filter(({ reason }) => reason === "Told");
    expect(events).toHaveLength(10);
    expect(events.reduce((sum, { count }) => sum + count, 0)).toBe(30);
    expect(events.at(-1)?.message).toBe("saw number 29");
  });

  it("R-7: a resource keeps a bounded number of events, and always its first warning", async () => {
    const { driver, uid } = await start();
    await driver.store.appendEvent(uid, { type: "Warning", reason: "First", message: "trouble" });
    driver.clock.advance(1_000);
    await driver.store.appendEvent(uid, { type: "Warning", reason: "Second", message: "more" });
    const writes = [];
    for (let count = 0; count < LIMITS.eventsKept * 3; count += 1) {
      writes.push(driver.store.appendEvent(uid, told("x", { reason: `Reason${count}` })));
    }
    await Promise.all(writes);
    const events = await driver.store.events({ uid, limit: 10_000 });
    // Trimming happens at about one write in sixteen.
    expect(events.length).toBeLessThan(LIMITS.eventsKept * 1.5);
    expect(events[0]).toMatchObject({ reason: "First", message: "trouble" });
    expect(events.at(-1)?.reason).toBe(`Reason${LIMITS.eventsKept * 3 - 1}`);
  });

  it("can be followed from a cursor, of one resource, of a project, of all, or newest first", async () => {
    const { driver, uid } = await start();
    const { sequence } = await driver.store.appendEvent(uid, told("one"));
    const other = await driver.put("b", 1);
    await driver.store.appendEvent(other.uid, told("two"));
    const reasons = async (query: Parameters<ResourceManagerStore["events"]>[0]) =>
      (await driver.store.events(query)).map(({ key, reason }) => `${key} ${reason}`);
    expect(await reasons({ after: sequence })).toEqual(["b Created", "b Told"]);
    expect(await reasons({ uid })).toEqual(["a Created", "a Told"]);
    expect(await reasons({ project: "/elsewhere" })).toEqual([]);
    expect(await reasons({ project: PROJECT, limit: 1, newestFirst: true })).toEqual(["b Told"]);
  });

  it("hold no credentials", async () => {
    const { driver, uid } = await start();
    const token = `ghp_${"a1B2".repeat(9)}`;
    await driver.store.appendEvent(uid, told(`pushed with ${token}`, { payload: { token, n: 1 } }));
    const claimed = await driver.claimOne();
    await driver.settle(claimed, { kind: "failed", message: `no: ${token}`, terminal: false });
    const stored = JSON.stringify([
      await driver.store.events({ uid }),
      await driver.store.passes(uid),
      await driver.store.get(driver.ref("a")),
    ]);
    expect(stored).not.toContain(token);
    expect(stored).toContain("[redacted]");
  });

  it("F-1: on behalf of a pass, need its claim", async () => {
    const { driver, uid } = await start();
    const { claim } = await driver.claimOne();
    await driver.store.appendEvent(uid, told("with claim"), claim);
    await driver.store.beginEpoch();
    const late = driver.store.appendEvent(uid, told("too late"), claim);
    await expect(late).rejects.toMatchObject({ code: "LEASE_LOST" });
  });

  it("G-2: a pass that changes nothing writes none", async () => {
    const { driver, uid } = await start();
    await driver.pass(SETTLED);
    const before = await driver.store.events({ uid });
    await driver.store.enqueue([{ target: { uid }, cause: "request" }]);
    await driver.pass(SETTLED);
    await driver.put("a", 1);
    expect(await driver.store.events({ uid })).toEqual(before);
  });

  it("tell of a condition whose status or reason is another one, not of another message", async () => {
    const { driver, uid } = await start();
    const passes = [
      { status: true, reason: "Done", message: "one" },
      { status: true, reason: "Done", message: "two" },
      { status: true, reason: "Merged", message: "two" },
      { status: false, reason: "Merged", message: "two" },
    ] as const;
    for (const ready of passes) {
      await driver.store.enqueue([{ target: { uid }, cause: "request" }]);
      await driver.pass({ kind: "settled", conditions: [{ type: "Ready", ...ready }] });
    }
    const events = await driver.store.events({ uid });
    expect(events.slice(1).map(({ message }) => message)).toEqual([
      "Ready=true (Done): one",
      "Ready=true (Merged): two",
      "Ready=false (Merged): two",
    ]);
  });

  it("tell what happened to a resource, in order", async () => {
    const { driver, uid } = await start();
    await driver.put("a", 2);
    await driver.pass(FAILED);
    driver.clock.advance(1_000);
    const conditions = [{ type: "Ready", status: true as const, reason: "Done" }];
    await driver.pass({ kind: "settled", conditions });
    await driver.store.suspend(driver.ref("a"), true);
    const { owner } = { owner: { kind: "person" as const, name: "ann" } };
    await driver.store.delete({ ref: driver.ref("a"), origin: { owner, command: "delete m a" } });
    const events = await driver.store.events({ uid });
    expect(events.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      "Created: from specs/a.resource.json, by apply specs",
      "SpecChanged: generation 2 from specs/a.resource.json, by apply specs",
      "ReconcileFailed: no answer",
      "ConditionChanged: Ready=true (Done) [Reconciled=true]",
      "Suspended: by request",
      "DeletionRequested: from delete m a, by person ann",
      "Removed: no finalizer is left",
    ]);
  });
});

describe("events of effects and removals", () => {
  const TEXT = "told by the provider";
  it.each<[string, EffectOutcome, string]>([
    ["applied", { state: "applied", externalRef: "abc" }, "Normal EffectApplied: merge:1: abc"],
    ["applied without a trace", { state: "applied" }, "Normal EffectApplied: merge:1"],
    [
      "applied with too large a result",
      { state: "applied", result: "x".repeat(LIMITS.effectResult) },
      `Warning EffectApplied: merge:1: the result is not kept: it exceeds ${LIMITS.effectResult} bytes`,
    ],
    ["rejected", { state: "rejected", reason: TEXT }, `Warning EffectRejected: merge:1: ${TEXT}`],
    [
      "unknown",
      { state: "indeterminate", reason: TEXT, park: false },
      `Warning EffectIndeterminate: merge:1: ${TEXT}`,
    ],
    [
      "parked",
      { state: "indeterminate", reason: TEXT, park: true },
      `Warning EffectParked: merge:1: ${TEXT}`,
    ],
  ])("tell of an effect that is %s", async (_, outcome, told) => {
    const { driver, uid } = await start();
    const { claim } = await driver.claimOne();
    const { effect } = await driver.store.beginEffect(claim, EFFECT);
    const { key, requestFingerprint } = effect;
    await driver.store.settleEffect(claim, { key, requestFingerprint, outcome });
    const last = (await driver.store.events({ uid })).at(-1);
    expect(`${last?.type} ${last?.reason}: ${last?.message}`).toBe(told);
  });

  it.each([
    [true, "Warning", "finalizers dropped: worktree, session; effects left behind: merge:1"],
    [false, "Normal", "finalizers dropped: none; effects left behind: none"],
  ])("D-8: tell what a forced deletion leaves behind (%s)", async (isMuch, type, left) => {
    const { driver, uid } = await start();
    const { claim } = await driver.claimOne();
    if (isMuch) {
      await driver.store.setFinalizer(claim, "worktree", true);
      await driver.store.setFinalizer(claim, "session", true);
      await driver.store.beginEffect(claim, EFFECT);
    }
    await driver.store.delete({ ref: driver.ref("a"), origin: ORIGIN, force: true });
    const events = await driver.store.events({ uid });
    const forced = events.find(({ reason }) => reason === "ForceDeleted");
    expect(forced?.message).toBe(`from delete m a, by person ann; ${left}`);
    const removed = events.find(({ reason }) => reason === "Removed");
    const also = isMuch ? "; effects that may be left behind: merge:1" : "";
    expect(removed).toMatchObject({ type, message: `no finalizer is left${also}` });
  });
});

describe("passes", () => {
  it("B-6: that end without an answer are recorded as long as they were, and warned of", async () => {
    const { driver, uid } = await start();
    await driver.claimOne();
    driver.clock.advance(90_000);
    await driver.settle(await driver.claimOne(), CRASHED);
    expect(await driver.store.passes(uid)).toMatchObject([
      { outcome: "crashed", detail: "exit: code 1" },
      {
        outcome: "crashed",
        detail: "lease-lost: the claim expired without an answer",
        durationMs: 90_000,
      },
    ]);
    const warnings = (await driver.store.events({ uid })).filter(({ type }) => type === "Warning");
    expect(warnings.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      "RunnerFailed: lease-lost: the claim expired without an answer",
      "RunnerFailed: exit: code 1",
    ]);
  });

  it("E-9: that are parked are recorded with their effect", async () => {
    const { driver, uid } = await start();
    await driver.pass({ kind: "parked", effectKey: "merge:1", message: "can't tell" });
    expect(await driver.store.passes(uid)).toMatchObject([{ detail: "merge:1: can't tell" }]);
  });

  it("are recorded with cause, outcome and time, newest first, and bounded", async () => {
    const { driver, uid } = await start();
    await driver.pass(FAILED);
    driver.clock.advance(1_000);
    await driver.pass({ kind: "requeueAfter", delayMs: 5 });
    expect(await driver.store.passes(uid)).toMatchObject([
      { cause: "retry", outcome: "requeueAfter", requeueAfterMs: 5, durationMs: 5 },
      { cause: "spec", outcome: "failed", detail: "no answer", generation: 1, key: "a" },
    ]);
    for (let count = 0; count < LIMITS.passesKept * 5; count += 1) {
      driver.clock.advance(3_000);
      await driver.pass({ kind: "requeue" });
    }
    expect(await driver.store.passes(uid)).toHaveLength(LIMITS.passesKept);
    const kept = await driver.store.passes(uid, 10_000);
    expect(kept.length).toBeLessThan(LIMITS.passesKept * 4);
  });
});
