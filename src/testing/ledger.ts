import { fingerprint } from "../model/canonical.ts";
import type { EffectDecision, EffectOutcome, StoredEffect } from "../model/effect.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { PassHost } from "../runner/port.ts";

type Begun = Parameters<PassHost["beginEffect"]>[0];

/**
 * The effect ledger in memory, with the rules of the one on disk (E-2 to E-5): what has ended is not
 * called again, and what may have happened is observed first.
 */
export class TestLedger {
  readonly #effects = new Map<string, StoredEffect>();
  readonly #owner: string;
  readonly #now: () => number;
  #sequence = 0;

  constructor(owner: string, now: () => number) {
    this.#owner = owner;
    this.#now = now;
  }

  /** Every effect that was begun, in that order. */
  get all(): StoredEffect[] {
    return [...this.#effects.values()];
  }

  get(key: string): StoredEffect | undefined {
    return this.#effects.get(key);
  }

  /** @throws PiWorkflowsError EFFECT_CONFLICT for another request under the key */
  begin({ key, kind, request, provenAbsent }: Begun, generation: number): EffectDecision {
    const requestFingerprint = fingerprint(request);
    const known = this.#effects.get(key);
    if (known && known.requestFingerprint !== requestFingerprint) {
      throw new PiWorkflowsError("EFFECT_CONFLICT", `effect ${key} has another request`);
    }
    if (known?.state === "applied" || known?.state === "rejected") {
      return { next: "done", effect: known };
    }
    if (known && !provenAbsent) {
      const since = Date.parse(known.completedAt ?? known.startedAt);
      return { next: "observe", effect: known, quietMs: this.#now() - since };
    }
    const effect: StoredEffect = {
      key,
      kind,
      request,
      requestFingerprint,
      resourceUid: this.#owner,
      generation,
      state: "pending",
      startedAt: this.#time(),
      attempts: (known?.attempts ?? 0) + 1,
      parked: false,
      sequence: (this.#sequence += 1),
    };
    this.#effects.set(key, effect);
    return { next: "call", effect };
  }

  /** @throws PiWorkflowsError NOT_FOUND where it was not begun */
  settle(key: string, outcome: EffectOutcome): StoredEffect {
    const effect = this.#effects.get(key);
    if (!effect) throw new PiWorkflowsError("NOT_FOUND", `no effect ${key} was begun`);
    const { park = false, ...rest } = outcome as EffectOutcome & { park?: boolean };
    const settled = { ...effect, ...rest, parked: park, completedAt: this.#time() };
    this.#effects.set(key, settled);
    return settled;
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }
}
