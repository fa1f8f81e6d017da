import type { PassResult } from "../model/pass.ts";
import { tame } from "../model/thrown.ts";
import type { ResourceManager } from "../resource-managers/define.ts";
import { isEffectRejected, isTerminalError } from "../resource-managers/results.ts";
import { createContext, type ContextOptions, type PassContext } from "./context.ts";
import type { EffectHold } from "./effects.ts";
import { clean, messageOf } from "./message.ts";
import { checkResult, type NormalResult } from "./result.ts";
import { checkStatusSchema } from "./status-schema.ts";

/** A pass under way. */
export type RunningPass = {
  /** How it ended; never rejects. Nothing that it started through its context runs any more. */
  result: Promise<PassResult>;
  /** Cuts the author's code off from the host, for a pass that can't be waited for. */
  abandon: () => void;
};

/** Runs one pass of a manager: what both transports do between a request and its result. */
export function startPass(manager: ResourceManager, options: ContextOptions): RunningPass {
  const context = createContext(options);
  return { result: runToEnd(manager, options, context), abandon: context.close };
}

async function runToEnd(
  manager: ResourceManager,
  { pass }: ContextOptions,
  context: PassContext,
): Promise<PassResult> {
  let result: PassResult;
  try {
    const returned = checkResult(await manager.reconcile(context.ctx, pass.resource));
    checkStatusSchema(manager, returned.resourceManagerStatus);
    result = returned;
  } catch (thrown) {
    result = failure(thrown);
  }
  await context.quiet();
  context.close();
  const hold = context.hold();
  return hold === undefined ? result : held(result, hold);
}

/** How a thrown value ends a pass: a refusal and a terminal error are not tried again. */
export function failure(value: unknown): Extract<PassResult, { kind: "failed" }> {
  const thrown = tame(value);
  const stack = thrown instanceof Error ? thrown.stack : undefined;
  return {
    kind: "failed",
    message: messageOf(thrown),
    ...(stack === undefined ? {} : { stack: clean(stack) }),
    terminal: isTerminalError(thrown) || isEffectRejected(thrown),
  };
}

/** An open effect ends the pass, whatever the author's code made of it. */
function held(result: PassResult, hold: EffectHold): PassResult {
  const { effectKey, message } = hold;
  switch (hold.kind) {
    case "parked":
      return { kind: "parked", effectKey, message };
    case "uncertain":
      // Never terminal: only another pass can find out what happened.
      return result.kind === "failed"
        ? { ...result, terminal: false }
        : { kind: "failed", message, terminal: false };
    case "early":
      return isNormal(result)
        ? noLater(result, hold.delayMs)
        : { kind: "requeueAfter", delayMs: hold.delayMs };
  }
}

function isNormal(result: PassResult): result is NormalResult {
  return result.kind === "settled" || result.kind === "requeue" || result.kind === "requeueAfter";
}

function noLater(result: NormalResult, delayMs: number): NormalResult {
  if (result.kind === "requeue") return result;
  const wanted = result.kind === "requeueAfter" ? result.delayMs : delayMs;
  return { ...result, kind: "requeueAfter", delayMs: Math.min(wanted, delayMs) };
}
