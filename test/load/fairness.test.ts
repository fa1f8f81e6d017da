import { describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { sized } from "../faults/seeds.ts";
import { worst } from "../support/figures.ts";
import { creation, host, PROJECT } from "../server/hosting.ts";
import { untilTrue } from "../server/server-process.ts";

const NOISY_KEYS = sized("NOISY_KEYS", 10_000);
const QUIET_ROUNDS = 20;

// The soak takes its time.
vi.setConfig({ testTimeout: 3_600_000 });

type Managers = Parameters<typeof host>[0] & object;

/** Creates keys of a manager, in batches as large as they may be. */
async function createKeys(
  server: Awaited<ReturnType<typeof host>>["server"],
  manager: string,
  count: number,
): Promise<void> {
  for (let from = 0; from < count; from += LIMITS.batch) {
    const some = Array.from({ length: Math.min(LIMITS.batch, count - from) }, (_, index) =>
      creation(`k${from + index}`, { size: 1 }, manager),
    );
    await server.client.commit({ project: PROJECT, changes: some });
  }
}

describe("many keys", () => {
  it("Q-10: a manager with thousands of ready keys holds up another one's key by no more passes than run at once", async () => {
    let noisy = 0;
    let quiet = 0;
    /** Passes of the noisy one when the quiet one's key was committed, and until its own began. */
    let before = 0;
    const passesBetween: number[] = [];
    const managers = [
      defineResourceManager<unknown, object>({
        name: "noisy",
        initialStatus: () => ({}),
        async reconcile(ctx) {
          noisy += 1;
          await new Promise((done) => setTimeout(done, 2));
          return ctx.settled();
        },
      }),
      defineResourceManager<unknown, object>({
        name: "quiet",
        initialStatus: () => ({}),
        reconcile(ctx) {
          quiet += 1;
          passesBetween.push(noisy - before);
          return ctx.settled();
        },
      }),
    ] as unknown as NonNullable<Managers["managers"]>;
    const { server } = await host({ managers: [...managers] });
    await createKeys(server, "noisy", NOISY_KEYS);
    const waits: number[] = [];
    for (let round = 0; round < QUIET_ROUNDS; round += 1) {
      const change = creation(`q${round}`, { size: 1 }, "quiet");
      const begun = performance.now();
      before = noisy;
      await server.client.commit({ project: PROJECT, changes: [change] });
      await untilTrue(() => quiet > round);
      waits.push(performance.now() - begun);
    }
    const { lanes } = await server.client.status();
    // It was noisy to the end.
    expect(lanes.find(({ manager }) => manager === "noisy")?.ready).toBeGreaterThan(0);
    worst("passes of a noisy manager before a quiet one's", Math.max(...passesBetween));
    worst("wait of a quiet manager beside a noisy one, ms", Math.max(...waits));
    expect(Math.max(...passesBetween)).toBeLessThanOrEqual(2 * LIMITS.concurrency);
  });

  it("B-5: a manager that spins is slowed, and says so; others and its own new spec go on", async () => {
    let spins = 0;
    const managers = [
      defineResourceManager<unknown, object>({
        name: "spinner",
        initialStatus: () => ({}),
        reconcile(ctx) {
          spins += 1;
          return ctx.requeue();
        },
      }),
      defineResourceManager<unknown, object>({
        name: "quiet",
        initialStatus: () => ({}),
        reconcile: (ctx) => ctx.settled(),
      }),
    ] as unknown as NonNullable<Managers["managers"]>;
    const { server } = await host({ managers: [...managers] });
    const { client } = server;
    await client.commit({ project: PROJECT, changes: [creation("s", { size: 1 }, "spinner")] });
    await untilTrue(
      async () =>
        (await client.queue({ project: PROJECT }))[0]?.claimed === false &&
        spins >= LIMITS.hotLoopPasses,
    );
    const ref = { project: PROJECT, resourceManager: "spinner", key: "s" };
    const { resource } = (await client.get(ref)) as NonNullable<
      Awaited<ReturnType<typeof client.get>>
    >;
    const { uid } = resource.metadata;
    await untilTrue(async () => {
      const [entry] = await client.queue({ uid });
      return entry !== undefined && entry.readyAt > Date.now() + LIMITS.hotLoopDelayMs / 2;
    });
    const slowedAt = spins;
    expect(slowedAt).toBeLessThanOrEqual(LIMITS.hotLoopPasses + 2);
    const told = [];
    const enough = new AbortController();
    for await (const event of client.events({ uid, after: 0 }, enough.signal)) {
      told.push(event);
      if (event.reason === "HotLoop") enough.abort();
    }
    expect(told.at(-1)).toMatchObject({ type: "Warning", reason: "HotLoop" });
    // Others go on, and it did not spin meanwhile.
    await client.commit({ project: PROJECT, changes: [creation("q", { size: 1 }, "quiet")] });
    await untilTrue(async () => (await client.queue({ project: PROJECT })).length === 1);
    expect(spins).toBe(slowedAt);
    const { write } = creation("s", { size: 2 }, "spinner") as { write: object };
    const expected = (await client.get(ref))?.resource.metadata.resourceVersion;
    const update = { kind: "update", manager: "spinner", key: "s", expected, write };
    await client.commit({ project: PROJECT, changes: [update as never] });
    await untilTrue(() => spins > slowedAt);
  });
});
