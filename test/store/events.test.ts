import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import type { EventInput } from "../../src/model/event.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import { Driver, FAILED, PROJECT, SETTLED, sqliteStore } from "./support.ts";

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

describe("passes", () => {
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
