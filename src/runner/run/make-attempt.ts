import type { Json } from "../../model/canonical.ts";
import type { NodeKind } from "../../model/graph.ts";
import { nameOf, leavesTraces, type Attempt, type Verdict } from "./attempt.ts";
import { printingTo } from "./attempt-log.ts";
import { createContext, line, type AttemptContext, type ContextParts } from "./contexts.ts";
import { EffectHeld } from "../effects.ts";
import { verdictOf } from "./failures.ts";
import { handOver } from "./hand-over.ts";
import { prepare, type Prepared, type WorkParts } from "./works.ts";

/** What attempts need of the engine. */
export type AttemptParts = ContextParts &
  WorkParts & {
    /** Journals that the attempt has begun. False where it was called off before. */
    begin: (attempt: Attempt, input: Json | undefined) => boolean;
    /** Resolves when all that was journaled is durable. False where nothing can be kept any more. */
    durable: () => Promise<boolean>;
    /** Whether the attempt may have been made already, by a run of which the journal is a backup. */
    isInDoubt: (attempt: Attempt) => boolean;
    /** Called where an attempt with a limit is about to call the author's code. */
    watch: (attempt: Attempt) => void;
    /** Called where that has returned and something is still to be awaited. */
    awaits: (attempt: Attempt) => void;
    /** What a visit handed over that is now to be undone. */
    resultOf: (attempt: Attempt) => Promise<unknown>;
  };

/**
 * Makes one attempt of a node that is no question to a person. Synchronous code ends synchronously,
 * so that a chain of such nodes costs no turn of the event loop for each. Never throws, never rejects.
 */
export function makeAttempt(parts: AttemptParts, attempt: Attempt): Verdict | Promise<Verdict> {
  if (leavesTraces(attempt) || attempt.ref.compensation) return makeTraced(parts, attempt);
  try {
    const context = createContext(parts, attempt);
    const prepared = calling(parts, attempt, () => prepare(parts, attempt, context.ctx));
    return act(parts, attempt, { context, prepared });
  } catch (thrown) {
    return verdictOf(attempt, thrown);
  }
}

/** One that acts on the outside world: a crash must find that it had begun (E-1). */
async function makeTraced(parts: AttemptParts, attempt: Attempt): Promise<Verdict> {
  try {
    const context = createContext(parts, attempt);
    const prepared = attempt.ref.compensation
      ? await prepareUndo(parts, attempt, context)
      : calling(parts, attempt, () => prepare(parts, attempt, context.ctx));
    if (leavesTraces(attempt)) {
      if (!parts.begin(attempt, prepared.input)) return { event: "aborted" };
      if (!(await parts.durable())) return { event: "aborted" };
    }
    // Only a person can tell whether it was made before the restore (E-12).
    if (attempt.node.safety === "manual" && parts.isInDoubt(attempt)) return { event: "ambiguous" };
    // Called off while its beginning was written: nothing of it has happened.
    if (attempt.signal.aborted) return verdictOf(attempt, attempt.signal.reason);
    return await act(parts, attempt, { context, prepared });
  } catch (thrown) {
    return verdictOf(attempt, thrown);
  }
}

async function prepareUndo(
  parts: AttemptParts,
  attempt: Attempt,
  { ctx }: AttemptContext,
): Promise<Prepared> {
  const result = await parts.resultOf(attempt);
  return { act: () => attempt.node.compensate?.({ ...ctx, result }) };
}

function act(
  parts: AttemptParts,
  attempt: Attempt,
  { context, prepared }: { context: AttemptContext; prepared: Prepared },
): Verdict | Promise<Verdict> {
  parts.watch(attempt);
  const conclude = (value: unknown): Verdict => {
    const hold = context.hold();
    // An open effect ends the attempt, whatever the author's code made of it.
    if (hold !== undefined) return verdictOf(attempt, new EffectHeld(hold));
    return { event: "succeeded", output: given(attempt, value) };
  };
  const returned = calling(parts, attempt, prepared.act);
  if (!isThenable(returned)) return conclude(returned);
  parts.awaits(attempt);
  return Promise.resolve(returned)
    .then(conclude)
    .catch((thrown: unknown) => {
      const hold = context.hold();
      return verdictOf(attempt, hold === undefined ? thrown : new EffectHeld(hold, thrown));
    });
}

function given({ ref, node }: Attempt, value: unknown): Json | undefined {
  if (ref.compensation) return undefined;
  const what = GIVES[node.kind]?.(nameOf(ref)) ?? `${nameOf(ref)} handed over an output`;
  const reason = node.kind === "include" ? "InvalidInput" : "InvalidOutput";
  return handOver(value, node.gives, { what, reason });
}

const GIVES: Partial<Record<NodeKind, (name: string) => string>> = {
  include: (name) => `${name} gave its workflow an input`,
  decision: (name) => `${name} handed over a choice`,
  exit: () => "the workflow ended with an output",
  result: () => "the workflow ended with an output",
};

function calling<T>(parts: AttemptParts, { ref }: Attempt, call: () => T): T {
  return printingTo((level, text) => parts.log(ref, line(level, text)), call);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value;
}
