import type { AppliedEffect, EffectRequest } from "../resource-managers/context.ts";
import { isEffectRejected } from "../resource-managers/results.ts";
import { EffectHeld, ensureEffect, type EffectHold, type EffectScope } from "./effects.ts";
import { messageOf } from "./message.ts";

/** The effects of one pass. */
export type PassEffects = {
  ensure: (request: EffectRequest) => Promise<AppliedEffect>;
  /** The effect past which the pass could not go, where there is one still open. */
  hold: () => EffectHold | undefined;
};

/** One pass's effects: calls under one key take turns, and what held the pass is remembered. */
export function createPassEffects(scope: EffectScope): PassEffects {
  const turns = new Map<string, Promise<unknown>>();
  const holds = new Map<string, EffectHold>();

  const run = async (request: EffectRequest): Promise<AppliedEffect> => {
    const key = request.key;
    try {
      const effect = await ensureEffect(scope, request);
      holds.delete(key);
      return effect;
    } catch (thrown) {
      if (isEffectRejected(thrown)) holds.delete(key);
      else holds.set(key, holdOf(key, thrown));
      throw thrown;
    }
  };
  return {
    ensure(request: EffectRequest): Promise<AppliedEffect> {
      const before = turns.get(request.key) ?? Promise.resolve();
      const turn = before.then(
        () => run(request),
        () => run(request),
      );
      turns.set(request.key, turn);
      return turn;
    },
    hold(): EffectHold | undefined {
      const open = [...holds.values()];
      return RANK.flatMap((kind) => open.filter((hold) => hold.kind === kind))[0];
    },
  };
}

/** Whatever else kept an effect from being ensured: it may be open, so another pass must look. */
function holdOf(effectKey: string, thrown: unknown): EffectHold {
  if (thrown instanceof EffectHeld) return thrown.hold;
  return { kind: "uncertain", effectKey, message: `effect ${effectKey}: ${messageOf(thrown)}` };
}

const RANK = ["parked", "uncertain", "early"] as const;
