import type { NodeError } from "../../model/run.ts";
import { tame } from "../../model/thrown.ts";
import { isEffectRejected, isTerminalError } from "../../resource-managers/results.ts";
import { EffectHeld } from "../effects.ts";
import { clean, messageOf } from "../message.ts";
import { nameOf, type Attempt, type Verdict } from "./attempt.ts";
import { HandOverError } from "./hand-over.ts";

/** A failure that says itself what it is, thrown inside the engine. */
export class AttemptFailed extends Error {
  override readonly name = "AttemptFailed";
  readonly reason: string;
  readonly retryable: boolean;

  constructor(reason: string, message: string, retryable = true) {
    super(message);
    this.reason = reason;
    this.retryable = retryable;
  }
}

/**
 * What an attempt came to that ended by throwing. What was called off was stopped, whatever it threw;
 * but where an effect is open, only its ledger can tell what happened.
 */
export function verdictOf(attempt: Attempt, value: unknown): Verdict {
  const thrown = tame(value);
  if (thrown instanceof EffectHeld) return held(attempt, thrown);
  switch (attempt.calledOff()) {
    case "deadline":
      return failed(deadlineError(attempt));
    case "abort":
    case "pass":
      return { event: "aborted" };
    case undefined:
      return failed(errorOf(thrown), isRetryable(thrown));
  }
}

/** Of an attempt that was called off and did not end: nobody will see how it does. */
export function givenUp(attempt: Attempt): Verdict {
  if (attempt.node.safety === "manual") return { event: "ambiguous" };
  return attempt.calledOff() === "deadline" ? failed(deadlineError(attempt)) : { event: "aborted" };
}

function failed(error: NodeError, retryable = true): Verdict {
  return { event: "failed", error, retryable };
}

function deadlineError({ ref, plain }: Attempt): NodeError {
  const message = `${nameOf(ref)} was not done within its timeout of ${plain.deadlineMs} ms`;
  return { reason: "DeadlineExceeded", message };
}

function errorOf(thrown: unknown): NodeError {
  if (thrown instanceof HandOverError) return thrown.toNodeError();
  if (thrown instanceof AttemptFailed) {
    return { reason: thrown.reason, message: clean(thrown.message) };
  }
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  return {
    reason: isEffectRejected(thrown) ? "EffectRejected" : "Thrown",
    message: messageOf(thrown),
    ...(stack === undefined ? {} : { stack: clean(stack) }),
  };
}

function isRetryable(thrown: unknown): boolean {
  if (thrown instanceof AttemptFailed) return thrown.retryable;
  return !isTerminalError(thrown) && !isEffectRejected(thrown);
}

/**
 * An effect whose outcome is not known is observed by the next attempt. Where there is none, or where
 * observing it could not tell, a person must look.
 */
function held({ ref, plain }: Attempt, { hold }: EffectHeld): Verdict {
  const attemptsLeft = (plain.retry?.times ?? 0) + 1 - ref.attempt;
  if (hold.kind === "parked" || attemptsLeft <= 0) return { event: "ambiguous" };
  return failed({ reason: "EffectUncertain", message: hold.message });
}
