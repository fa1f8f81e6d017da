import { describe, expect, it } from "vitest";
import { action, EffectRejected, type EffectRequest } from "../../../src/workflows/index.ts";
import { until } from "../support/processes.ts";
import { MemoryRunHost } from "./support/host.ts";
import { run, start } from "./support/run.ts";
import { chain, handClock } from "./support/workflow.ts";

function effect(parts: Partial<EffectRequest>, retry?: { times: number; delay: "1s" }) {
  return action({
    safety: "idempotent",
    ...(retry === undefined ? {} : { retry }),
    run: async ({ effects }) =>
      (
        await effects.ensure({
          key: "k",
          kind: "mail",
          request: { to: "ann" },
          observe: async () => ({ state: "absent" }),
          apply: async () => ({ result: "sent" }),
          ...parts,
        })
      ).result as string,
  });
}

describe("an effect of a node", () => {
  it("E-3: that is applied is not made again by another attempt", async () => {
    let calls = 0;
    const node = effect({ apply: async () => ({ result: `sent ${(calls += 1)}` }) });
    const host = new MemoryRunHost();
    // Dies after the effect, before the end of its node.
    host.linesLeft = 1;
    await run(chain({ node }), { host });
    host.linesLeft = Number.POSITIVE_INFINITY;
    const { outcome } = await run(chain({ node }), { host });
    expect(outcome).toMatchObject({ ending: { output: "sent 1" } });
    expect(calls).toBe(1);
  });

  it("that the provider refused fails its node for good", async () => {
    const node = effect(
      { apply: () => Promise.reject(new EffectRejected("closed")) },
      { times: 3, delay: "1s" },
    );
    const { host, outcome } = await run(chain({ node }));
    expect(outcome).toMatchObject({ ending: { message: "node: closed" } });
    expect(host.story.filter((line) => line === "begun node").length).toBe(1);
  });

  it("whose outcome is not known is observed by the next attempt, where there is one", async () => {
    const time = handClock();
    const node = effect(
      {
        apply: () => Promise.reject(new Error("timeout")),
        observe: async () => ({ state: "applied", result: "seen" }),
      },
      { times: 1, delay: "1s" },
    );
    const { host, outcome } = start(chain({ node }), { time });
    await new Promise<void>((resolve) => {
      host.onLine = ({ event }) => event === "failed" && resolve();
    });
    time.advance(1_000);
    expect(await outcome).toMatchObject({ ending: { output: "seen" } });
    expect(host.entries[1]).toMatchObject({ error: { reason: "EffectUncertain" } });
  });

  it("whose outcome is not known waits for a person, where there is no other attempt", async () => {
    const node = effect({ apply: () => Promise.reject(new Error("timeout")) });
    const { outcome } = await run(chain({ node }));
    expect(outcome).toMatchObject({ ending: { state: "interrupted", reason: "Ambiguous" } });
  });

  it("that is open is not passed over by an author who catches it", async () => {
    const node = action({
      safety: "idempotent",
      run: async ({ effects }) => {
        const request = {
          key: "k",
          kind: "mail",
          request: 1,
          observe: async () => ({ state: "absent" }) as const,
          apply: () => Promise.reject(new Error("timeout")),
        };
        await effects.ensure(request).catch(() => undefined);
        return "sent, I hope";
      },
    });
    const { outcome } = await run(chain({ node }));
    expect(outcome).toMatchObject({ ending: { state: "interrupted", reason: "Ambiguous" } });
  });

  it("E-7: that is too young to be seen is waited for", async () => {
    const time = handClock();
    const host = new MemoryRunHost(time);
    let observed = 0;
    const options = {
      consistencyWindowMs: 5_000,
      observe: async () => {
        observed += 1;
        return time.now() < 1_005_000
          ? ({ state: "absent" } as const)
          : ({ state: "applied", result: "seen" } as const);
      },
      apply: () => Promise.reject(new Error("timeout")),
    };
    const node = effect(options, { times: 1, delay: "1s" });
    const { outcome } = start(chain({ node }), { time, host });
    await new Promise<void>((resolve) => {
      host.onLine = ({ event }) => event === "failed" && resolve();
    });
    time.advance(1_000);
    await until(() => observed === 1 && time.waiting() > 1);
    time.advance(4_000);
    expect(await outcome).toMatchObject({ ending: { output: "seen" } });
    expect(observed).toBe(2);
  });
});
