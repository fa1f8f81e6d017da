import { fingerprint } from "../../model/canonical.ts";
import type { Clock, LogFields } from "../../model/ports.ts";
import type { AppliedEffect, EffectRequest } from "../../resource-managers/context.ts";
import type { AttemptRef } from "../../model/run.ts";
import type { NodeContext } from "../../workflows/context.ts";
import { EffectHeld, type EffectHold } from "../effects.ts";
import { clean } from "../message.ts";
import { createPassEffects, type PassEffects } from "../pass-effects.ts";
import type { RunHost, RunPass } from "../run-port.ts";
import type { Attempt } from "./attempt.ts";
import { conform } from "./hand-over.ts";
import type { RunValues } from "./values.ts";

/** What contexts are made of. */
export type ContextParts = {
  pass: RunPass;
  host: Pick<RunHost, "beginEffect" | "settleEffect">;
  values: RunValues;
  clock: Clock;
  /** Keeps what an attempt says, or its command, with its run. */
  log: (attempt: AttemptRef, text: string, stream?: "stdout" | "stderr") => void;
};

/** What the author's functions get for one attempt, and the effect past which it could not go. */
export type AttemptContext = { ctx: NodeContext; hold: () => EffectHold | undefined };

/**
 * Makes the context of one attempt. Effects are offered to all, so that one shape serves; only the
 * types of pure nodes leave them out.
 * @throws HandOverError where the node takes another input than its workflow has.
 */
export function createContext(parts: ContextParts, attempt: Attempt): AttemptContext {
  const { pass, values, clock } = parts;
  const { ref, node, signal } = attempt;
  const log = logOf(parts, attempt);
  let effects: ReturnType<typeof createPassEffects> | undefined;
  const ledger = () =>
    (effects ??= createPassEffects({
      signal,
      host: {
        beginEffect: (request) => parts.host.beginEffect(request),
        settleEffect: (settlement) => parts.host.settleEffect(settlement),
        log: (level, message, fields) => log[level](message, fields),
      },
    }));
  const find = (asked: unknown): string => node.pathOf(asked);
  const ctx: NodeContext = {
    input: inputOf(parts, attempt),
    output(asked) {
      const path = find(asked);
      const kept = values.output(path);
      if (kept) return kept.value as never;
      throw new Error(
        `output(${path}) was asked for by ${ref.node}, but ${path} has not ended in this run; tryOutput(…) gives undefined then`,
      );
    },
    tryOutput: (asked) => values.output(find(asked))?.value as never,
    failure: (asked) => values.failure(find(asked)),
    signal,
    attempt: ref.attempt,
    runId: pass.runId,
    node: ref.node,
    project: pass.project,
    now: () => clock.now(),
    log,
    get idempotencyKey() {
      return idempotencyKey(pass, attempt);
    },
    effects: {
      ensure(request) {
        const ensured = ensureInTime(ledger(), request, { clock, signal });
        // An author who does not await it must not bring down the runner; it is in `hold`.
        ensured.catch(() => {});
        return ensured;
      },
    },
  };
  return { ctx, hold: () => effects?.hold() };
}

/** Waits until an effect that may only be too young to be seen proves something: runs have no later pass. */
async function ensureInTime(
  effects: PassEffects,
  request: EffectRequest,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<AppliedEffect> {
  for (;;) {
    try {
      return await effects.ensure(request);
    } catch (thrown) {
      if (!(thrown instanceof EffectHeld) || thrown.hold.kind !== "early") throw thrown;
      await pause(thrown.hold.delayMs, { clock, signal });
      if (signal.aborted) throw thrown;
    }
  }
}

/** Resolves after `delayMs`, and at once when `signal` aborts. */
function pause(
  delayMs: number,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.schedule(resolve, delayMs);
    signal.addEventListener("abort", () => (cancel(), resolve()), { once: true });
  });
}

/** Stable for all attempts of one visit: a provider tells a repeat from a new wish by it. */
function idempotencyKey({ runId }: RunPass, { ref }: Attempt): string {
  const { node, visit, compensation = false } = ref;
  return fingerprint([runId, node, visit, compensation]);
}

function inputOf({ values }: ContextParts, { ref, node }: Attempt): unknown {
  const input = values.input(node.scope);
  if (node.takes === undefined) return input;
  const what = `node ${ref.node} takes an input of its workflow`;
  return conform(input, node.takes, { what, reason: "InvalidInput" });
}

function logOf(parts: ContextParts, { ref }: Attempt): NodeContext["log"] {
  const at =
    (level: string) =>
    (message: string, fields?: LogFields): void =>
      parts.log(ref, line(level, message, fields));
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** One line of a run's log. */
export function line(level: string, message: string, fields?: LogFields): string {
  return `${level === "info" ? "" : `${level}: `}${clean(message)}${fieldsText(fields)}\n`;
}

function fieldsText(fields: LogFields | undefined): string {
  if (fields === undefined) return "";
  try {
    return ` ${clean(JSON.stringify(fields))}`;
  } catch {
    return " (fields that JSON can't hold)";
  }
}
