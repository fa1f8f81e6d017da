import type { AgentAnswer } from "../../model/agent.ts";
import type { Clock } from "../../model/ports.ts";
import { failed } from "./answer.ts";

/** The outcome of a question that is out of time or called off, once it is. */
export type CallOff = { answer: Promise<AgentAnswer>; forget(): void };

/** Watches for the end of `deadlineMs` and for `signal`; `forget` is to be called in the end. */
export function watchCallOff(clock: Clock, deadlineMs: number, signal: AbortSignal): CallOff {
  let call!: (answer: AgentAnswer) => void;
  const answer = new Promise<AgentAnswer>((resolve) => (call = resolve));
  const onAbort = (): void => call(failed("Cancelled", "The question was called off"));
  const cancel = clock.schedule(
    () => call(failed("Deadline", `The agent gave no answer within ${deadlineMs} ms`)),
    deadlineMs,
  );
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  return {
    answer,
    forget() {
      cancel();
      signal.removeEventListener("abort", onAbort);
    },
  };
}
