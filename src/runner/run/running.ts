import type { AttemptRef } from "../../model/run.ts";
import type { Clock } from "../../model/ports.ts";
import type { CompiledWorkflow } from "../../workflows/compiled.ts";
import type { Attempt, CallOff, Verdict } from "./attempt.ts";
import { givenUp, verdictOf } from "./failures.ts";

/** An attempt under way, as the engine holds it. */
export type Running = {
  attempt: Attempt;
  /** Asks it to stop, and gives it up where it does not. The first reason wins. */
  callOff: (why: CallOff) => void;
  /** Lets it last no longer than its node's deadline, counted from when it started. */
  limit: () => void;
  /** Fails it, where it is by code, with an error that nobody caught. */
  blame: (thrown: unknown) => void;
  /** Resolves where it is not waited for any longer. */
  gaveUp: Promise<Verdict>;
  /** Takes its timers back. */
  end: () => void;
};

/** Sets up an attempt; nothing of it runs yet. `graceMs` may pass between call-off and giving up. */
export function createRunning(
  { graph, nodes }: CompiledWorkflow,
  ref: AttemptRef,
  { clock, graceMs }: { clock: Clock; graceMs: number },
): Running {
  const [node, plain] = [nodes.get(ref.node), graph.nodes[ref.node]];
  if (node === undefined || plain === undefined) throw new Error(`there is no node ${ref.node}`);
  const controller = new AbortController();
  const timers: (() => void)[] = [];
  let why: CallOff | undefined;
  let settle: (verdict: Verdict) => void = () => {};
  const gaveUp = new Promise<Verdict>((resolve) => (settle = resolve));
  const attempt: Attempt = {
    ref,
    node,
    plain,
    startedAt: clock.now(),
    signal: controller.signal,
    calledOff: () => why,
  };
  const callOff = (reason: CallOff): void => {
    if (why !== undefined) return;
    why = reason;
    controller.abort(
      new DOMException(REASONS[reason], reason === "deadline" ? "TimeoutError" : "AbortError"),
    );
    timers.push(clock.schedule(() => settle(givenUp(attempt)), graceOf(attempt, graceMs)));
  };
  return {
    attempt,
    callOff,
    gaveUp,
    blame: (thrown) => {
      if (node.work.by === "code" || ref.compensation) settle(verdictOf(attempt, thrown));
    },
    limit: () => {
      if (plain.deadlineMs === undefined) return;
      timers.push(clock.schedule(() => callOff("deadline"), plain.deadlineMs));
    },
    end: () => {
      for (const cancel of timers) cancel();
    },
  };
}

const REASONS: Record<CallOff, string> = {
  deadline: "the attempt's time is up",
  abort: "the attempt was called off",
  pass: "the pass ends",
};

/** Commands and agents are ended by a ladder of their own, which takes longer, and always do end. */
function graceOf({ ref, node }: Attempt, graceMs: number): number {
  return node.work.by === "code" || ref.compensation ? graceMs : 5 * graceMs;
}
