import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EffectRejected } from "../../src/resource-managers/results.ts";
import type { EffectObservation } from "../../src/model/effect.ts";
import { LIMITS } from "../../src/model/limits.ts";
import { startPass } from "../../src/runner/pass.ts";
import { memoryHost, never, passOf } from "./support/host.ts";
import { probe } from "./support/manager.ts";

/** What the provider and the process do in one pass. */
type Step = {
  /** What happens to a call; `…-after` happens when the provider has done it. */
  call: "succeeds" | "rejects" | "throws-before" | "throws-after" | "crash-before" | "crash-after";
  observe: "truth" | "unknown" | "throws" | "crash";
  /** The process dies when the host is asked to settle, before or after it is written. */
  settle: "written" | "crash-before" | "crash-after";
  /** The author catches what is thrown and returns a result. */
  swallow: boolean;
  /** Milliseconds until the next pass. */
  later: number;
};

const step: fc.Arbitrary<Step> = fc.record({
  call: fc.constantFrom(
    "succeeds",
    "rejects",
    "throws-before",
    "throws-after",
    "crash-before",
    "crash-after",
  ),
  observe: fc.oneof(
    { weight: 3, arbitrary: fc.constant("truth" as const) },
    fc.constantFrom("unknown" as const, "throws" as const, "crash" as const),
  ),
  settle: fc.oneof(
    { weight: 4, arbitrary: fc.constant("written" as const) },
    fc.constantFrom("crash-before" as const, "crash-after" as const),
  ),
  swallow: fc.boolean(),
  later: fc.integer({ min: 0, max: 3_000 }),
});

/** A provider that does an effect at most as often as it is called, and shows it `lag` ms late. */
function createProvider(now: () => number, lag: number) {
  let doneAt: number | undefined;
  let observedSinceCall = true;
  return {
    calls: 0,
    done: 0,
    unobservedCalls: 0,
    begin() {
      this.calls += 1;
      if (!observedSinceCall) this.unobservedCalls += 1;
      observedSinceCall = false;
    },
    perform() {
      this.done += 1;
      doneAt = now();
    },
    look(): EffectObservation {
      observedSinceCall = true;
      return doneAt !== undefined && now() >= doneAt + lag
        ? { state: "applied", externalRef: "ref" }
        : { state: "absent" };
    },
  };
}

const CRASH = new Promise<never>(() => {});

/** Runs passes until the steps are used up; returns the world as they left it. */
async function live(steps: Step[], lag: number) {
  let now = 1_000_000;
  const clock = () => now;
  const host = memoryHost(clock);
  const provider = createProvider(clock, lag);
  const results: unknown[] = [];

  for (const { call, observe, settle, swallow, later } of steps) {
    let die: () => void;
    const died = new Promise<"died">((resolve) => (die = () => resolve("died")));
    const crash = (): Promise<never> => {
      die();
      return CRASH;
    };
    const manager = probe(async (ctx) => {
      const ensured = ctx.effects.ensure({
        key: "k",
        kind: "test",
        request: 1,
        consistencyWindowMs: lag,
        observe: async () => {
          if (observe === "crash") return crash();
          if (observe === "throws") throw new Error("502");
          if (observe === "unknown") return { state: "unknown", reason: "?" };
          return provider.look();
        },
        apply: async () => {
          provider.begin();
          if (call === "rejects") throw new EffectRejected("no");
          if (call === "throws-before") throw new Error("reset");
          if (call === "crash-before") return crash();
          provider.perform();
          if (call === "throws-after") throw new Error("502");
          if (call === "crash-after") return crash();
          return { externalRef: "ref" };
        },
      });
      await (swallow ? ensured.catch(() => {}) : ensured);
      return ctx.settled();
    });
    const mortal = {
      ...host,
      settleEffect: async (settlement: Parameters<typeof host.settleEffect>[0]) => {
        if (settle === "crash-before") return crash();
        const settled = await host.settleEffect(settlement);
        return settle === "crash-after" ? crash() : settled;
      },
    };
    const options = { pass: passOf("d"), host: mortal, signal: never(), now: clock };
    results.push(await Promise.race([startPass(manager, options).result, died]));
    now += later;
  }
  return { host, provider, results, effect: host.effects.get("k") };
}

const world = fc.tuple(
  fc.array(step, { minLength: 1, maxLength: 8 }),
  fc.integer({ min: 0, max: 2_000 }),
);

describe("an effect over any sequence of passes and crashes", () => {
  // The host of these tests throws on a move that EFFECT_TRANSITIONS does not know.
  it("E-2, E-5: is called unobserved at most once, happens at most once, and moves only as it may", async () => {
    await fc.assert(
      fc.asyncProperty(world, async ([steps, lag]) => {
        const { host, provider, effect, results } = await live(steps, lag);

        expect(provider.unobservedCalls).toBe(0);
        expect(provider.done).toBeLessThanOrEqual(1);
        expect(provider.calls).toBeLessThanOrEqual(LIMITS.effectAttempts);
        expect(JSON.stringify(results)).not.toContain("and can't become");
        // E-1: what the provider has seen is on record.
        expect(provider.calls > 0).toBe(effect !== undefined);
        if (effect?.state === "applied") expect(provider.done).toBe(1);
        if (effect?.state === "rejected") expect(provider.done).toBe(0);
        expect(host.moves.filter(({ to }) => to === "applied").length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 400 },
    );
  });

  it("R-4: never leaves an open effect behind that no one will look at again", async () => {
    await fc.assert(
      fc.asyncProperty(world, async ([steps, lag]) => {
        const { results, effect } = await live(steps, lag);

        const last = results.at(-1) as { kind: string; terminal?: boolean } | "died";
        const open = effect?.state === "pending" || effect?.state === "indeterminate";
        if (!open || last === "died") return;
        // A failed pass is retried, a requeue comes again, a parked one waits for a person.
        expect(["failed", "requeueAfter", "parked"]).toContain(last.kind);
        expect(last.terminal ?? false).toBe(false);
      }),
      { numRuns: 400 },
    );
  });

  it("E-6: ends applied exactly once when everything works again", async () => {
    await fc.assert(
      fc.asyncProperty(world, async ([steps, lag]) => {
        const healthy: Step = {
          call: "succeeds",
          observe: "truth",
          settle: "written",
          swallow: false,
          later: lag + 1,
        };
        const failing = steps.filter(({ call }) => call !== "rejects").slice(0, 2);
        const { provider, effect } = await live([...failing, healthy, healthy, healthy], lag);

        expect(effect?.state).toBe("applied");
        expect(provider.done).toBe(1);
      }),
      { numRuns: 200 },
    );
  });
});
