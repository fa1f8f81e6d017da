/**
 * The latest known state of one stable condition type.
 * Source: spec/resource-managers.md, "Resource model".
 */
export type Condition = {
  type: string;
  status: true | false | "unknown";
  /** CamelCase, stable, for programs. */
  reason: string;
  /** A sentence for people. */
  message?: string;
  observedGeneration: number;
  /** ISO 8601; moves only when `status` changes (G-7). */
  lastTransitionTime: string;
};

/** What a resource manager says of a condition; the runtime adds generation and time. */
export type ConditionInput = Pick<Condition, "type" | "status" | "reason" | "message">;

/** Condition types that the runtime itself writes. */
export const RUNTIME_CONDITIONS = {
  /** False while the latest pass failed; its reason says how. */
  reconciled: "Reconciled",
  /** True when the runtime has stopped trying until something changes. */
  stalled: "Stalled",
  /** True while an effect can be neither confirmed nor refuted. */
  effectIndeterminate: "EffectIndeterminate",
  /** False while a sync can't make the resource what its source says; its reason says why. */
  synced: "Synced",
} as const;

/** Reason of `Reconciled` where the manager said that trying again can't help. */
export const TERMINAL_ERROR = "TerminalError";

/**
 * Merges what a pass said into the conditions that were there: types are unique, types not named
 * are kept, and `lastTransitionTime` moves only where `status` changes.
 * Returns `previous` itself when nothing would change, so that callers can skip the write.
 */
export function mergeConditions(
  previous: readonly Condition[],
  inputs: readonly ConditionInput[],
  generation: number,
  now: number,
): Condition[] {
  const merged = new Map(previous.map((condition) => [condition.type, condition]));
  let changed = false;
  for (const input of inputs) {
    const before = merged.get(input.type);
    const after = advance(before, input, generation, now);
    if (after !== before) {
      merged.set(input.type, after);
      changed = true;
    }
  }
  return changed ? [...merged.values()] : (previous as Condition[]);
}

function advance(
  before: Condition | undefined,
  input: ConditionInput,
  generation: number,
  now: number,
): Condition {
  if (
    before &&
    before.status === input.status &&
    before.reason === input.reason &&
    before.message === input.message &&
    before.observedGeneration === generation
  ) {
    return before;
  }
  return {
    type: input.type,
    status: input.status,
    reason: input.reason,
    ...(input.message === undefined ? {} : { message: input.message }),
    observedGeneration: generation,
    lastTransitionTime:
      before && before.status === input.status
        ? before.lastTransitionTime
        : new Date(now).toISOString(),
  };
}

/** True when `type` is true and was computed from `generation` (G-10). */
export function isConditionTrue(
  conditions: readonly Condition[],
  type: string,
  generation: number,
): boolean {
  const condition = conditions.find((candidate) => candidate.type === type);
  return condition?.status === true && condition.observedGeneration === generation;
}
