import { expect, it } from "vitest";
import type { PassOutcome } from "../../../src/model/pass.ts";
import { FAILED, PROJECT, SETTLED, specWrite, type Start } from "../support.ts";

export function statusSuite(start: Start): void {
  const ready: PassOutcome = {
    kind: "settled",
    resourceManagerStatus: { phase: "done" },
    conditions: [{ type: "Ready", status: true, reason: "Done" }],
  };

  it("G-1: the generation rises with the spec, and with nothing else", async () => {
    const driver = await start();
    expect((await driver.put("a", { x: 1 })).generation).toBe(1);
    expect((await driver.put("a", { x: 1 }, { labels: { team: "red" } })).generation).toBe(1);
    await driver.pass(ready);
    expect((await driver.put("a", { x: 2 }, { labels: { team: "red" } })).generation).toBe(2);
  });

  it("G-2: a write that changes nothing keeps the version; every other raises it", async () => {
    const driver = await start();
    const first = await driver.put("a", 1);
    expect((await driver.put("a", 1)).resourceVersion).toBe(first.resourceVersion);
    const { resourceVersion = 0 } = await driver.pass(ready);
    expect(resourceVersion).toBeGreaterThan(first.resourceVersion);
    await driver.store.enqueue([{ target: driver.ref("a"), cause: "request" }]);
    driver.clock.advance(1_000);
    expect((await driver.pass(ready)).resourceVersion).toBe(resourceVersion);
    expect((await driver.store.get(driver.ref("a")))?.updatedAt).toBe(driver.clock.now() - 1_000);
  });

  it("G-3: a batch that saw another version changes nothing at all", async () => {
    const driver = await start();
    const { resourceVersion } = await driver.put("a", 1);
    const batch = driver.store.applyBatch({
      project: PROJECT,
      changes: [
        { kind: "create", manager: "m", key: "b", write: specWrite(1), expected: 0 },
        {
          kind: "update",
          manager: "m",
          key: "a",
          write: specWrite(2),
          expected: resourceVersion + 1,
        },
      ],
    });
    await expect(batch).rejects.toMatchObject({ code: "STALE" });
    expect(await driver.store.get(driver.ref("b"))).toBeUndefined();
    expect((await driver.store.get(driver.ref("a")))?.resource.spec).toBe(1);
  });

  it.each(["create", "update"] as const)("G-3: a stale %s is refused", async (kind) => {
    const driver = await start();
    if (kind === "create") await driver.put("a", 1);
    const write = specWrite(2);
    const change =
      kind === "create"
        ? { kind, manager: "m", key: "a", write, expected: 0 as const }
        : { kind, manager: "m", key: "a", write, expected: 5 };
    const batch = driver.store.applyBatch({ project: PROJECT, changes: [change] });
    await expect(batch).rejects.toMatchObject({ code: "STALE" });
  });

  it("G-4: a pass writes the generation that it read, not the present one", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    await driver.put("a", 2);
    await driver.settle(claimed, ready);
    const { status } = (await driver.store.get(driver.ref("a")))?.resource ?? {};
    expect(status?.observedGeneration).toBe(1);
    expect(status?.conditions.map(({ observedGeneration }) => observedGeneration)).toEqual([1, 1]);
  });

  it("G-4: a pass can't claim to have read another generation than it was handed", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    await driver.put("a", 2);
    claimed.resource.metadata.generation = 2;
    await expect(driver.settle(claimed, ready)).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });

  it("G-5: a spec that changed during a pass leaves the key ready and the status behind", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    await driver.put("a", 2);
    await driver.settle(claimed, ready);
    const next = await driver.claimOne();
    expect(next.resource.metadata.generation).toBe(2);
    expect(next.resource.status.observedGeneration).toBe(1);
  });

  it("G-6: a pass changes neither spec nor labels, and applying changes no status", async () => {
    const driver = await start();
    await driver.put("a", { x: 1 }, { labels: { team: "red" } });
    await driver.pass(ready);
    await driver.put("a", { x: 2 }, { labels: { team: "blue" }, initialStatus: '{"phase":"new"}' });
    const stored = await driver.store.get(driver.ref("a"));
    expect(stored).toMatchObject({ labels: { team: "blue" }, resource: { spec: { x: 2 } } });
    expect(stored?.resource.status.resourceManagerStatus).toEqual({ phase: "done" });
  });

  it("G-7: the transition time moves with the status of a condition only", async () => {
    const driver = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    const conditions = [{ type: "Ready", status: false as const, reason: "Waiting" }];
    await driver.settle(claimed, { kind: "requeue", conditions });
    driver.clock.advance(5_000);
    const other = [
      { type: "Ready", status: false as const, reason: "Checks", message: "two left" },
    ];
    await driver.pass({ kind: "settled", conditions: other });
    const stored = await driver.store.get(driver.ref("a"));
    const found = stored?.resource.status.conditions.filter(({ type }) => type === "Ready");
    const lastTransitionTime = new Date(driver.clock.now() - 5_000).toISOString();
    expect(found).toEqual([{ ...other[0], observedGeneration: 1, lastTransitionTime }]);
  });

  it.each<Extract<PassOutcome, { kind: "settled" | "requeue" | "requeueAfter" }>>([
    { kind: "settled" },
    { kind: "requeue" },
    { kind: "requeueAfter", delayMs: 1_000 },
  ])("G-4: publishes what a pass came to, with the generation that it read: $kind", async (end) => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass({ ...end, resourceManagerStatus: { phase: "done" } });
    expect((await driver.store.get(driver.ref("a")))?.resource.status).toMatchObject({
      observedGeneration: 1,
      resourceManagerStatus: { phase: "done" },
    });
  });

  it("G-2: a status alone that changed is written", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass(ready);
    await driver.store.enqueue([{ target: driver.ref("a"), cause: "request" }]);
    await driver.pass({ ...ready, resourceManagerStatus: { phase: "undone" } });
    const stored = await driver.store.get(driver.ref("a"));
    expect(stored?.resource.status.resourceManagerStatus).toEqual({ phase: "undone" });
  });

  it("G-9: a pass's own status does not wake its key", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass(ready);
    expect(await driver.queued("a")).toBeUndefined();
  });

  it("tells failures and successes by the condition Reconciled", async () => {
    const driver = await start();
    await driver.put("a", 1);
    await driver.pass(FAILED);
    const conditions = async () =>
      (await driver.store.get(driver.ref("a")))?.resource.status.conditions;
    expect(await conditions()).toMatchObject([
      { type: "Reconciled", status: false, reason: "ReconcileFailed", message: "no answer" },
    ]);
    driver.clock.advance(1_000);
    await driver.pass(SETTLED);
    expect(await conditions()).toMatchObject([{ status: true, reason: "Succeeded" }]);
  });
}
