import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ConditionInput } from "../../src/model/condition.ts";
import type { PassOutcome } from "../../src/model/pass.ts";
import type { Claimed, ResourceManagerStore } from "../../src/store/store.ts";
import {
  Driver,
  EFFECT,
  FAILED,
  PROJECT,
  SETTLED,
  specWrite,
  sqliteStore,
  TERMINAL,
} from "./support.ts";

type Started = { driver: Driver<ResourceManagerStore>; dropQueue: () => void; commits: number[] };

async function start(): Promise<Started> {
  const commits: number[] = [];
  const { store, clock, connection } = sqliteStore({
    probe: (name, fields) => {
      if (name === "store.committed") commits.push(Number(fields?.operations));
    },
  });
  const driver = await new Driver(store, clock).begin("m");
  return { driver, commits, dropQueue: () => connection.run("DELETE FROM queue") };
}

/** What a reconciler makes of a spec, whenever it looks. */
function converged({ resource }: Claimed): ConditionInput[] {
  return [{ type: "Ready", status: true, reason: `Spec${JSON.stringify(resource.spec)}` }];
}

/** Runs passes until there is nothing left to run for a day, and says how all resources ended. */
async function fixedPoint(driver: Driver<ResourceManagerStore>): Promise<unknown> {
  for (let hour = 0; hour < 24; hour += 1) {
    for (let claimed = await driver.claim(); claimed[0]; claimed = await driver.claim()) {
      await driver.settle(claimed[0], { kind: "settled", conditions: converged(claimed[0]) });
    }
    driver.clock.advance(3_600_000);
  }
  const { items } = await driver.store.list({});
  return items.map(({ metadata, conditions, suspended, observedGeneration }) => ({
    key: metadata.key,
    generation: metadata.generation,
    observedGeneration,
    suspended,
    conditions: conditions.map(({ type, status, reason }) => ({ type, status, reason })),
  }));
}

const KEYS = ["a", "b", "c", "d"];
const happening = fc.record({
  key: fc.constantFrom(...KEYS),
  outcome: fc.constantFrom<PassOutcome | "put" | "suspend">(
    SETTLED,
    FAILED,
    TERMINAL,
    { kind: "requeueAfter", delayMs: 60_000 },
    "put",
    "suspend",
  ),
});

describe("repair", () => {
  it("R-6: a queue that was lost is rebuilt, and everything ends as if it had not been", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 12 }), async (happenings) => {
        const ends = [];
        for (const isLost of [false, true]) {
          const { driver, dropQueue } = await start();
          for (const [index, { key, outcome }] of happenings.entries()) {
            if (outcome === "put") await driver.put(key, index);
            else if (outcome === "suspend") {
              await driver.store.suspend(driver.ref(key), true).catch(() => undefined);
            } else {
              const [claimed] = await driver.claim();
              if (!claimed) continue;
              const conditions = outcome.kind === "failed" ? [] : converged(claimed);
              await driver.settle(claimed, { ...outcome, conditions } as PassOutcome);
            }
          }
          if (isLost) {
            dropQueue();
            await driver.store.repair();
          }
          ends.push(await fixedPoint(driver));
          await driver.store.close();
        }
        expect(ends[1]).toEqual(ends[0]);
      }),
      { numRuns: 15 },
    );
  });

  it("R-5: leaves running passes and their claims alone", async () => {
    const { driver } = await start();
    await driver.put("a", 1);
    const claimed = await driver.claimOne();
    expect(await driver.store.repair()).toEqual({ enqueued: 0 });
    await driver.store.beginEffect(claimed.claim, EFFECT);
    await driver.settle(claimed, SETTLED);
    expect(await driver.queued("a")).toBeUndefined();
  });

  it("E-6, R-6: a queue that was lost during a call makes its effect unknown, not forgotten", async () => {
    const { driver, dropQueue } = await start();
    await driver.put("a", 1);
    await driver.store.beginEffect((await driver.claimOne()).claim, EFFECT);
    dropQueue();
    await driver.store.repair();
    const { claim } = await driver.claimOne();
    const decision = await driver.store.beginEffect(claim, EFFECT);
    expect(decision).toMatchObject({ next: "observe", effect: { state: "indeterminate" } });
  });

  it("rebuilds a large queue page by page, with other work in between", async () => {
    const { driver, dropQueue, commits } = await start();
    for (const half of [0, 1]) {
      const changes = Array.from({ length: 1_000 }, (_, index) => ({
        kind: "create" as const,
        manager: "m",
        key: `key ${half} ${index}`,
        write: specWrite(index),
        expected: 0 as const,
      }));
      await driver.store.applyBatch({ project: PROJECT, changes });
    }
    dropQueue();
    commits.length = 0;
    const order: string[] = [];
    await Promise.all([
      driver.store.repair().then(() => order.push("repaired")),
      driver.store.suspend(driver.ref("key 0 0"), true).then(() => order.push("suspended")),
    ]);
    expect(order).toEqual(["suspended", "repaired"]);
    expect(commits.length).toBeGreaterThan(3);
    expect((await driver.store.lanes())[0]?.ready).toBe(1_000);
    // As many as one wake of a whole lane reaches, and of those whose keys begin alike.
    dropQueue();
    const lane = driver.lane();
    const wake = (target: { lane: number; prefix?: string }) =>
      driver.store.enqueue([{ target, cause: "source" }]);
    expect(await wake({ lane, prefix: "key 1 " })).toBe(1_000);
    expect(await wake({ lane })).toBe(1_999);
  });
});
