import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import type { EffectObservation } from "../../src/model/effect.ts";
import { EffectRejected, TerminalError } from "../../src/resource-managers/results.ts";
import type { EffectRequest, ReconcileContext } from "../../src/resource-managers/context.ts";
import { memoryHost, type MemoryHost } from "./support/host.ts";
import { runManager, type PassRun } from "./support/manager.ts";

const absent = async (): Promise<EffectObservation> => ({ state: "absent" });
const unexpected = async (): Promise<never> => {
  throw new Error("must not be called");
};

/** An effect under key `merge`, by default one that nobody may call or observe. */
function effect(parts: Partial<EffectRequest> = {}): EffectRequest {
  return {
    key: "merge",
    kind: "test",
    request: { n: 1 },
    observe: unexpected,
    apply: unexpected,
    ...parts,
  };
}

/** A pass that ensures `request` and is then settled. */
function ensuring(host: MemoryHost, request: EffectRequest, now?: () => number): Promise<PassRun> {
  const reconcile = async (ctx: ReconcileContext<unknown>) => {
    await ctx.effects.ensure(request);
    return ctx.settled();
  };
  return runManager(reconcile, now === undefined ? { host } : { host, now });
}

/** A host whose ledger holds the effect as a pass left it whose provider call threw. */
async function uncertainHost(now?: () => number): Promise<MemoryHost> {
  const host = memoryHost(now);
  await ensuring(
    host,
    effect({
      apply: async () => {
        throw new Error("socket hang up");
      },
    }),
    now,
  );
  return host;
}

describe("ensuring an effect", () => {
  it("E-1: calls the provider only after the pending row is durable", async () => {
    const ledger = memoryHost();
    const order: string[] = [];
    const host = { ...ledger };
    host.beginEffect = async (request) => {
      const decision = await ledger.beginEffect(request);
      await new Promise((resolve) => setImmediate(resolve));
      order.push("durable");
      return decision;
    };

    await ensuring(host, effect({ apply: async () => void order.push("called") }));

    expect(order).toEqual(["durable", "called"]);
  });

  it("E-1: does not call the provider where the row can't be made", async () => {
    const host = memoryHost();
    host.beginEffect = () => Promise.reject(new Error("disk full"));

    const { result } = await ensuring(host, effect());

    expect(result).toMatchObject({ kind: "failed", message: "disk full", terminal: false });
  });

  it("keeps what the provider returned and gives it to the author", async () => {
    const host = memoryHost();
    let given: unknown;

    await runManager(
      async (ctx) => {
        given = await ctx.effects.ensure(
          effect({ apply: async () => ({ externalRef: "abc", result: { sha: "abc" } }) }),
        );
        return ctx.settled();
      },
      { host },
    );

    expect(given).toMatchObject({
      key: "merge",
      state: "applied",
      externalRef: "abc",
      result: { sha: "abc" },
    });
    expect(given).not.toHaveProperty("parked");
    expect(host.effects.get("merge")).toMatchObject({ state: "applied", result: { sha: "abc" } });
  });

  it("E-3: returns the record of an applied effect without a call", async () => {
    const host = memoryHost();
    await ensuring(host, effect({ apply: async () => ({ externalRef: "abc" }) }));

    const { result } = await ensuring(host, effect());

    expect(result.kind).toBe("settled");
    expect(host.moves).toHaveLength(2);
  });

  it("E-4: another request under the same key is an error", async () => {
    const host = memoryHost();
    await ensuring(host, effect({ apply: async () => {} }));

    const { result } = await ensuring(host, effect({ request: { n: 2 } }));

    expect(result).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("another request"),
    });
  });

  it("gives every call of one effect the same idempotency key, and counts the calls", async () => {
    const host = memoryHost();
    const calls: unknown[] = [];
    const failing = effect({
      observe: absent,
      apply: async (_signal, call) => {
        calls.push(call);
        throw new Error("x");
      },
    });
    await ensuring(host, failing);
    await ensuring(host, failing);
    await ensuring(host, effect({ ...failing, key: "another" }));

    const [first, second, other] = calls as { idempotencyKey: string; attempt: number }[];
    expect([first?.attempt, second?.attempt, other?.attempt]).toEqual([1, 2, 1]);
    expect(second?.idempotencyKey).toBe(first?.idempotencyKey);
    expect(other?.idempotencyKey).not.toBe(first?.idempotencyKey);
  });
});

describe("E-8: how a call ended", () => {
  it("E-8: a refusal is rejected for good, and ends the pass", async () => {
    const host = memoryHost();
    const refusing = effect({
      apply: async () => {
        throw new EffectRejected("the head moved");
      },
    });

    const first = await ensuring(host, refusing);
    const second = await ensuring(host, effect());

    for (const { result } of [first, second]) {
      expect(result).toMatchObject({ kind: "failed", message: "the head moved", terminal: true });
    }
    expect(host.effects.get("merge")).toMatchObject({
      state: "rejected",
      reason: "the head moved",
    });
  });

  it("E-8: a refusal that the author handles ends the pass as the author says", async () => {
    const { result } = await runManager(async (ctx) => {
      try {
        await ctx.effects.ensure(
          effect({
            apply: async () => {
              throw new EffectRejected("no");
            },
          }),
        );
      } catch (error) {
        expect(error).toBeInstanceOf(EffectRejected);
      }
      return ctx.settled();
    });

    expect(result).toEqual({ kind: "settled" });
  });

  it.each([
    ["a network error", new Error("socket hang up"), "socket hang up"],
    [
      "an abort",
      new DOMException("the pass ends: deadline", "AbortError"),
      "the pass ends: deadline",
    ],
    ["a terminal error", new TerminalError("no"), "no"],
    ["something that is no error", "boom", "boom"],
    ["nothing", undefined, "undefined"],
  ])("E-8: %s leaves it indeterminate, and fails the pass", async (_what, thrown, reason) => {
    const host = memoryHost();

    const { result } = await ensuring(
      host,
      effect({
        apply: async () => {
          throw thrown;
        },
      }),
    );

    expect(host.effects.get("merge")).toMatchObject({
      state: "indeterminate",
      reason,
      parked: false,
    });
    expect(result).toMatchObject({
      kind: "failed",
      message: `effect merge: ${reason}`,
      terminal: false,
    });
  });

  it("E-8: an author who catches it can't make the pass succeed", async () => {
    const { result } = await runManager(async (ctx) => {
      await ctx.effects
        .ensure(
          effect({
            apply: async () => {
              throw new Error("timeout");
            },
          }),
        )
        .catch(() => {});
      return ctx.settled();
    });

    expect(result).toMatchObject({
      kind: "failed",
      message: "effect merge: timeout",
      terminal: false,
    });
  });

  it("E-8: an author who makes it terminal can't keep the next pass from observing", async () => {
    const { result } = await runManager(async (ctx) => {
      try {
        await ctx.effects.ensure(
          effect({
            apply: async () => {
              throw new Error("timeout");
            },
          }),
        );
      } catch {
        throw new TerminalError("I give up");
      }
      return ctx.settled();
    });

    expect(result).toMatchObject({ kind: "failed", message: "I give up", terminal: false });
  });

  it("E-8: credentials in the provider's message are masked", async () => {
    const token = `ghp_${"a1B2".repeat(9)}`;
    const host = memoryHost();

    const { result } = await ensuring(
      host,
      effect({
        apply: async () => {
          throw new Error(`GET https://u:${token}@host failed`);
        },
      }),
    );

    expect(JSON.stringify([result, ...host.effects.values()])).not.toContain(token);
  });
});

describe("an effect of which it is not known whether it happened", () => {
  it("E-2: is observed before anything else, and found", async () => {
    const host = await uncertainHost();

    const { result } = await ensuring(
      host,
      effect({ observe: async () => ({ state: "applied", externalRef: "abc", result: 7 }) }),
    );

    expect(result.kind).toBe("settled");
    expect(host.effects.get("merge")).toMatchObject({
      state: "applied",
      externalRef: "abc",
      result: 7,
    });
  });

  it("E-6: is called again where it is proven absent", async () => {
    const host = await uncertainHost();

    const { result } = await ensuring(host, effect({ observe: absent, apply: async () => {} }));

    expect(result.kind).toBe("settled");
    expect(host.moves.map((move) => move.to)).toEqual([
      "pending",
      "indeterminate",
      "pending",
      "applied",
    ]);
  });

  it("is rejected where the observation shows a refusal", async () => {
    const host = await uncertainHost();

    const { result } = await ensuring(
      host,
      effect({ observe: async () => ({ state: "rejected", reason: "closed" }) }),
    );

    expect(result).toMatchObject({ kind: "failed", message: "closed", terminal: true });
    expect(host.effects.get("merge")?.state).toBe("rejected");
  });

  it("E-6: is parked where it can't be told", async () => {
    const host = await uncertainHost();

    const { result } = await ensuring(
      host,
      effect({ observe: async () => ({ state: "unknown", reason: "no permission to list" }) }),
    );

    expect(result).toEqual({
      kind: "parked",
      effectKey: "merge",
      message: "effect merge can't be told: no permission to list",
    });
    expect(host.effects.get("merge")).toMatchObject({ state: "indeterminate", parked: true });
  });

  it("E-6: stays parked where the author catches what is thrown", async () => {
    const host = await uncertainHost();

    const { result } = await runManager(
      async (ctx) => {
        await ctx.effects
          .ensure(effect({ observe: async () => ({ state: "unknown", reason: "?" }) }))
          .catch(() => {});
        return ctx.settled();
      },
      { host },
    );

    expect(result.kind).toBe("parked");
  });

  it("fails the pass and stays as it is where the observation throws", async () => {
    const host = await uncertainHost();
    const before = host.effects.get("merge");

    const { result } = await ensuring(
      host,
      effect({
        observe: async () => {
          throw new Error("502");
        },
      }),
    );

    expect(result).toMatchObject({
      kind: "failed",
      message: "effect merge can't be observed: 502",
      terminal: false,
    });
    expect(host.effects.get("merge")).toBe(before);
  });

  it("stays as it is even where the observation throws a refusal, which is not one of the effect", async () => {
    const host = await uncertainHost();

    const { result } = await ensuring(
      host,
      effect({
        observe: async () => {
          throw new EffectRejected("403");
        },
      }),
    );

    expect(result).toMatchObject({ kind: "failed", terminal: false });
    expect(host.effects.get("merge")?.state).toBe("indeterminate");
  });

  it("fails the pass where the observation says nothing", async () => {
    const host = await uncertainHost();

    const { result } = await ensuring(host, effect({ observe: async () => true as never }));

    expect(result).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("observe must return"),
    });
  });

  it("is parked when it has been called often enough in vain", async () => {
    const host = memoryHost();
    const failing = effect({
      observe: absent,
      apply: async () => {
        throw new Error("x");
      },
    });
    for (let call = 0; call < LIMITS.effectAttempts; call += 1) {
      expect((await ensuring(host, failing)).result.kind).toBe("failed");
    }

    const { result } = await ensuring(host, failing);

    expect(result).toMatchObject({ kind: "parked", message: expect.stringContaining("3 times") });
    expect(host.effects.get("merge")?.attempts).toBe(LIMITS.effectAttempts);
  });
});

describe("E-7: a provider that shows its writes late", () => {
  it("E-7: absent within the window proves nothing, and is looked at again when it does", async () => {
    let now = 1_000_000;
    const host = await uncertainHost(() => now);
    const late = effect({ observe: absent, consistencyWindowMs: 5_000 });

    now += 1_999;
    const early = await ensuring(host, late, () => now);
    expect(early.result).toEqual({ kind: "requeueAfter", delayMs: 3_001 });
    expect(host.effects.get("merge")).toMatchObject({ state: "indeterminate", parked: false });

    now += 3_001;
    const due = await ensuring(host, { ...late, apply: async () => {} }, () => now);
    expect(due.result.kind).toBe("settled");
  });

  it.each([
    ["settled", { kind: "requeueAfter", delayMs: 5_000, resourceManagerStatus: { phase: "x" } }],
    ["requeueAfter", { kind: "requeueAfter", delayMs: 100, resourceManagerStatus: { phase: "x" } }],
    ["requeue", { kind: "requeue", resourceManagerStatus: { phase: "x" } }],
  ] as const)(
    "E-7: what the author returns as %s nevertheless is looked at in time",
    async (kind, expected) => {
      const host = await uncertainHost(() => 1_000_000);

      const { result } = await runManager(
        async (ctx) => {
          await ctx.effects
            .ensure(effect({ observe: absent, consistencyWindowMs: 5_000 }))
            .catch(() => {});
          const patch = { resourceManagerStatus: { phase: "x" } };
          return kind === "requeueAfter" ? ctx.requeueAfter(100, patch) : ctx[kind](patch);
        },
        { host, now: () => 1_000_000 },
      );

      expect(result).toEqual(expected);
    },
  );
});

describe("several effects in one pass", () => {
  it("run at once under different keys", async () => {
    const host = memoryHost();
    let both: () => void;
    const met = new Promise<void>((resolve) => (both = resolve));
    let inside = 0;
    const apply = async () => {
      inside += 1;
      if (inside === 2) both();
      await met;
    };

    const { result } = await runManager(
      async (ctx) => {
        await Promise.all([
          ctx.effects.ensure(effect({ key: "a", apply })),
          ctx.effects.ensure(effect({ key: "b", apply })),
        ]);
        return ctx.settled();
      },
      { host },
    );

    expect(result.kind).toBe("settled");
    expect([...host.effects.values()].map(({ state }) => state)).toEqual(["applied", "applied"]);
  });

  it("E-2: take turns under one key, so that the provider is called once", async () => {
    const host = memoryHost();
    let calls = 0;
    const apply = async () => {
      calls += 1;
      await new Promise((resolve) => setImmediate(resolve));
      return { externalRef: "once" };
    };

    const { result } = await runManager(
      async (ctx) => {
        const all = await Promise.all([1, 2, 3].map(() => ctx.effects.ensure(effect({ apply }))));
        expect(all.map(({ externalRef }) => externalRef)).toEqual(["once", "once", "once"]);
        return ctx.settled();
      },
      { host },
    );

    expect(result).toEqual({ kind: "settled" });
    expect(calls).toBe(1);
  });

  it("that nobody awaited are waited for before the pass has a result", async () => {
    const host = memoryHost();

    const { result } = await runManager(
      async (ctx) => {
        void ctx.effects.ensure(
          effect({
            apply: async () => new Promise((resolve) => setTimeout(() => resolve({}), 20)),
          }),
        );
        return ctx.settled();
      },
      { host },
    );

    expect(result.kind).toBe("settled");
    expect(host.effects.get("merge")?.state).toBe("applied");
  });

  it("that nobody awaited fail the pass, and bring nothing down", async () => {
    const { result } = await runManager((ctx) => {
      void ctx.effects.ensure(
        effect({
          apply: async () => {
            throw new Error("reset");
          },
        }),
      );
      return ctx.settled();
    });

    expect(result).toMatchObject({ kind: "failed", message: "effect merge: reset" });
  });

  it("can't be begun once the pass is called off", async () => {
    const host = memoryHost();
    const controller = new AbortController();
    controller.abort(new DOMException("the pass ends: deadline", "AbortError"));

    const { result } = await runManager(
      async (ctx) => {
        await ctx.effects.ensure(effect());
        return ctx.settled();
      },
      { host, signal: controller.signal },
    );

    expect(result).toMatchObject({ kind: "failed", message: "the pass ends: deadline" });
    expect(host.effects.size).toBe(0);
  });
});

describe("what an author may ask for", () => {
  it.each<[string, Partial<EffectRequest>, RegExp]>([
    ["no key", { key: "" }, /key must be 1 to 512/],
    ["a key over the limit", { key: "k".repeat(LIMITS.effectKey + 1) }, /key must be/],
    ["no kind", { kind: "" }, /kind must be/],
    ["no observe", { observe: undefined as never }, /must be functions/],
    [
      "a negative window",
      { consistencyWindowMs: -1 },
      /consistencyWindowMs must be 0 to .*, not -1/,
    ],
    ["a window that is no number", { consistencyWindowMs: Number.NaN }, /not NaN/],
    ["a request that JSON can't hold", { request: { at: new Date(0) } as never }, /at is Date/],
    [
      "a request over the limit",
      { request: "x".repeat(LIMITS.effectRequest - 1) },
      /at most 65536/,
    ],
  ])("%s is refused before anything is recorded", async (_what, parts, message) => {
    const host = memoryHost();

    const { result } = await ensuring(host, effect(parts));

    expect(result).toMatchObject({ kind: "failed", message: expect.stringMatching(message) });
    expect(host.effects.size).toBe(0);
  });

  it("a key and a request at the limit are accepted", async () => {
    const { result } = await ensuring(
      memoryHost(),
      effect({
        key: "k".repeat(LIMITS.effectKey),
        request: "x".repeat(LIMITS.effectRequest - 2),
        apply: async () => {},
      }),
    );

    expect(result.kind).toBe("settled");
  });

  it.each<[string, unknown, unknown]>([
    ["at the limit", "x".repeat(LIMITS.effectResult - 2), "x".repeat(LIMITS.effectResult - 2)],
    ["one past it", "x".repeat(LIMITS.effectResult - 1), undefined],
    ["that JSON can't hold", () => {}, undefined],
    ["with a member left undefined", { a: undefined, b: 1 }, { b: 1 }],
  ])("a result %s leaves the effect applied", async (_what, result, kept) => {
    const host = memoryHost();

    const run = await ensuring(host, effect({ apply: async () => ({ result: result as never }) }));

    expect(run.result.kind).toBe("settled");
    expect(host.effects.get("merge")).toMatchObject({ state: "applied" });
    expect(host.effects.get("merge")?.result).toEqual(kept);
    expect(host.lines).toHaveLength(kept === undefined ? 1 : 0);
  });

  it("an external reference that is no text is dropped with a warning", async () => {
    const host = memoryHost();

    await ensuring(host, effect({ apply: async () => ({ externalRef: 7 as never }) }));

    expect(host.effects.get("merge")).not.toHaveProperty("externalRef");
    expect(host.lines).toMatchObject([{ level: "warn", fields: { part: "externalRef" } }]);
  });
});
