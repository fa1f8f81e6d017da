import { fingerprint } from "../model/canonical.ts";
import {
  EFFECT_TRANSITIONS,
  type EffectDecision,
  type EffectState,
  type StoredEffect,
} from "../model/effect.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import type { PassHost } from "../runner/port.ts";

type Begun = Parameters<PassHost["beginEffect"]>[0];
type Settled = Parameters<PassHost["settleEffect"]>[0];

/**
 * The effect ledger in memory, with the rules of the one on disk (E-2 to E-5): what has ended is not
 * called again, and what may have happened is observed first.
 */
export class TestLedger {
  /** By key, in the order in which they were begun. */
  readonly effects = new Map<string, StoredEffect>();
  /** Every change of a state, in order. */
  readonly moves: { key: string; from: EffectState | undefined; to: EffectState }[] = [];
  readonly #owner: string;
  readonly #now: () => number;

  constructor(owner: string, now: () => number) {
    this.#owner = owner;
    this.#now = now;
  }

  /** @throws PiWorkflowsError EFFECT_CONFLICT for another request under the key */
  begin(begun: Begun, generation: number): EffectDecision {
    const known = this.effects.get(begun.key);
    if (known && known.requestFingerprint !== fingerprint(begun.request)) throw conflict(begun.key);
    if (known?.state === "applied" || known?.state === "rejected") {
      return { next: "done", effect: known };
    }
    // The pass that called is gone; whether its call arrived can't be told (E-6).
    const open =
      known?.state === "pending" ? this.#move({ ...known, state: "indeterminate" }) : known;
    if (open && !begun.provenAbsent) {
      return { next: "observe", effect: open, quietMs: this.#now() - Date.parse(open.startedAt) };
    }
    const { key, kind, request } = begun;
    const effect = this.#move({
      key,
      kind,
      request,
      requestFingerprint: fingerprint(request),
      resourceUid: this.#owner,
      generation,
      state: "pending",
      startedAt: this.#time(),
      attempts: (open?.attempts ?? 0) + 1,
      parked: false,
      sequence: 0,
    });
    return { next: "call", effect };
  }

  /** @throws PiWorkflowsError NOT_FOUND where it was not begun, EFFECT_CONFLICT, EFFECT_NOT_OPEN */
  settle({ key, requestFingerprint, outcome }: Settled): StoredEffect {
    const effect = this.effects.get(key);
    if (!effect) throw new PiWorkflowsError("NOT_FOUND", `no effect ${key} was begun`);
    if (effect.requestFingerprint !== requestFingerprint) throw conflict(key);
    if (outcome.state === "indeterminate") {
      const { park: parked, ...rest } = outcome;
      return this.#move({ ...effect, ...rest, parked });
    }
    return this.#move({ ...effect, ...outcome, parked: false, completedAt: this.#time() });
  }

  /** The one door through which an effect changes its state; what is said again changes none. */
  #move(after: StoredEffect): StoredEffect {
    const { key } = after;
    const from = this.effects.get(key)?.state;
    if (from === after.state) {
      this.effects.set(key, after);
      return after;
    }
    if (from !== undefined && !EFFECT_TRANSITIONS[from].includes(after.state)) {
      throw new PiWorkflowsError(
        "EFFECT_NOT_OPEN",
        `effect ${key} is ${from} and can't become ${after.state}`,
      );
    }
    this.moves.push({ key, from, to: after.state });
    const moved = { ...after, sequence: this.moves.length };
    this.effects.set(key, moved);
    return moved;
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }
}

function conflict(key: string): PiWorkflowsError {
  return new PiWorkflowsError("EFFECT_CONFLICT", `effect ${key} has another request`);
}
