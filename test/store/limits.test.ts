import { describe, expect, it } from "vitest";
import { byteLength, LIMITS } from "../../src/model/limits.ts";
import type { ApplyChange } from "../../src/model/batch.ts";
import { INIT } from "../../src/store/sqlite/migrations/0001-init.ts";
import type { ResourceManagerStore } from "../../src/store/store.ts";
import { Driver, EFFECT, PROJECT, specWrite, sqliteStore } from "./support.ts";

async function start(): Promise<Driver<ResourceManagerStore>> {
  const { store, clock } = sqliteStore();
  return new Driver(store, clock).begin("m");
}

const TOO_LARGE = { code: "TOO_LARGE" };

/** A JSON string that has `bytes` bytes as canonical JSON. */
function text(bytes: number): string {
  return "x".repeat(bytes - 2);
}

describe("limits: taken at the limit, refused past it", () => {
  it("a spec", async () => {
    const driver = await start();
    await driver.put("a", text(LIMITS.spec));
    await expect(driver.put("b", text(LIMITS.spec + 1))).rejects.toMatchObject(TOO_LARGE);
    expect((await driver.store.get(driver.ref("a")))?.resource.spec).toHaveLength(LIMITS.spec - 2);
  });

  it("a spec counts by bytes, not characters", async () => {
    const driver = await start();
    await expect(driver.put("a", "é".repeat(LIMITS.spec / 2))).rejects.toMatchObject(TOO_LARGE);
  });

  it("a status with its conditions", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    const condition = {
      type: "Reconciled",
      status: true,
      reason: "Succeeded",
      observedGeneration: 1,
      lastTransitionTime: new Date(driver.clock.now()).toISOString(),
    };
    const room = LIMITS.status - byteLength(JSON.stringify([condition]));
    const past = driver.settle(claimed, { kind: "settled", resourceManagerStatus: text(room + 1) });
    await expect(past).rejects.toMatchObject(TOO_LARGE);
    await driver.settle(claimed, { kind: "settled", resourceManagerStatus: text(room) });
  });

  it("an initial status", async () => {
    const driver = await start();
    const room = LIMITS.status - 2;
    await driver.put("a", 1, { initialStatus: JSON.stringify(text(room)) });
    const past = driver.put("b", 1, { initialStatus: JSON.stringify(text(room + 1)) });
    await expect(past).rejects.toMatchObject(TOO_LARGE);
  });

  it("conditions", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    const conditions = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        type: `Type${index}`,
        status: true as const,
        reason: "Ok",
      }));
    // One place is Reconciled's.
    const past = driver.settle(claimed, {
      kind: "settled",
      conditions: conditions(LIMITS.conditions),
    });
    await expect(past).rejects.toMatchObject(TOO_LARGE);
    await driver.settle(claimed, {
      kind: "settled",
      conditions: conditions(LIMITS.conditions - 1),
    });
  });

  it.each([
    ["key", LIMITS.key],
    ["name", LIMITS.name],
  ] as const)("a resource's %s", async (part, limit) => {
    const driver = await start();
    const apply = (length: number) => {
      const long = "k".repeat(length);
      const names = part === "key" ? { manager: "m", key: long } : { manager: long, key: "a" };
      const change: ApplyChange = { kind: "create", ...names, write: specWrite(1), expected: 0 };
      return driver.store.applyBatch({ project: PROJECT, changes: [change] });
    };
    await apply(limit);
    await expect(apply(limit + 1)).rejects.toMatchObject(TOO_LARGE);
    await expect(apply(0)).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  it("labels and dependencies", async () => {
    const driver = await start();
    const labels = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`label${index}`, ""]));
    const dependsOn = (count: number) =>
      Array.from({ length: count }, (_, index) => `m/key${index}`);
    await driver.put("a", 1, {
      labels: labels(LIMITS.labels),
      dependsOn: dependsOn(LIMITS.dependsOn),
    });
    await driver.put("b", 1, { labels: { ["k".repeat(LIMITS.label)]: "v".repeat(LIMITS.label) } });
    for (const past of [
      { labels: labels(LIMITS.labels + 1) },
      { labels: { k: "v".repeat(LIMITS.label + 1) } },
      { labels: { ["k".repeat(LIMITS.label + 1)]: "v" } },
      { dependsOn: dependsOn(LIMITS.dependsOn + 1) },
    ]) {
      await expect(driver.put("c", 1, past)).rejects.toMatchObject(TOO_LARGE);
    }
  });

  it("a batch", async () => {
    const driver = await start();
    const changes = (count: number): ApplyChange[] =>
      Array.from({ length: count }, (_, index) => ({
        kind: "create",
        manager: "m",
        key: `key ${index}`,
        write: specWrite(index),
        expected: 0,
      }));
    const past = driver.store.applyBatch({ project: PROJECT, changes: changes(LIMITS.batch + 1) });
    await expect(past).rejects.toMatchObject(TOO_LARGE);
    await driver.store.applyBatch({ project: PROJECT, changes: changes(LIMITS.batch) });
    expect((await driver.store.info()).resources).toBe(LIMITS.batch);
  });

  it("finalizers", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    for (let count = 0; count < LIMITS.finalizers; count += 1) {
      await driver.store.setFinalizer(claim, `finalizer ${count}`, true);
    }
    const past = driver.store.setFinalizer(claim, "one more", true);
    await expect(past).rejects.toMatchObject(TOO_LARGE);
    const long = driver.store.setFinalizer(claim, "x".repeat(LIMITS.key + 1), true);
    await expect(long).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  it("an effect's key and request", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    const begin = (change: Partial<typeof EFFECT>) =>
      driver.store.beginEffect(claim, { ...EFFECT, ...change });
    await begin({ key: "k".repeat(LIMITS.effectKey) });
    await expect(begin({ key: "k".repeat(LIMITS.effectKey + 1) })).rejects.toMatchObject({
      code: "BAD_REQUEST",
    });
    const request = (bytes: number) => ({ request: text(bytes) as never, key: `${bytes}` });
    await begin(request(LIMITS.effectRequest));
    await expect(begin(request(LIMITS.effectRequest + 1))).rejects.toMatchObject(TOO_LARGE);
  });

  it("an effect's result past the limit is not kept, but that it was applied is", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const { claim } = await driver.claimOne();
    const apply = async (key: string, bytes: number) => {
      const { effect } = await driver.store.beginEffect(claim, { ...EFFECT, key });
      return driver.store.settleEffect(claim, {
        key,
        requestFingerprint: effect.requestFingerprint,
        outcome: { state: "applied", result: text(bytes) },
      });
    };
    expect(await apply("fits", LIMITS.effectResult)).toHaveProperty("result");
    const past = await apply("does not", LIMITS.effectResult + 1);
    expect(past).toMatchObject({ state: "applied" });
    expect(past).not.toHaveProperty("result");
    expect(past.reason).toMatch(/not kept/);
  });

  it("an event's payload and message", async () => {
    const driver = await start();
    const { uid } = await driver.put("a", 1);
    const event = (bytes: number, reason = "Told") =>
      driver.store.appendEvent(uid, {
        type: "Normal",
        reason,
        message: "m".repeat(LIMITS.message + 1),
        payload: text(bytes),
      });
    const { message } = await event(LIMITS.eventPayload);
    expect(byteLength(message)).toBeLessThanOrEqual(LIMITS.message);
    await expect(event(LIMITS.eventPayload + 1)).rejects.toMatchObject(TOO_LARGE);
    await event(10, "R".repeat(LIMITS.name));
    await expect(event(10, "R".repeat(LIMITS.name + 1))).rejects.toMatchObject({
      code: "BAD_REQUEST",
    });
  });

  it("the database itself holds to the same sizes", () => {
    for (const check of [
      `octet_length(body) BETWEEN 1 AND ${LIMITS.spec})`,
      `octet_length(status) + octet_length(conditions) <= ${LIMITS.status})`,
      `length(name) BETWEEN 1 AND ${LIMITS.name})`,
      `key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND ${LIMITS.key})`,
      `octet_length(request) <= ${LIMITS.effectRequest})`,
      `octet_length(result) <= ${LIMITS.effectResult})`,
      `octet_length(payload) <= ${LIMITS.eventPayload})`,
      `octet_length(message) <= ${LIMITS.message})`,
    ]) {
      expect(INIT).toContain(check);
    }
    expect(LIMITS.effectKey).toBe(LIMITS.key);
  });
});
