import { RUNNER_FAULTS, type PassOutcome, type RunnerFault } from "../model/pass.ts";

/**
 * Why a pass was called off. Whoever aborts says it: `abort("shutdown")`. Anything else means that
 * the claim is lost.
 */
export function faultOf(signal: AbortSignal): RunnerFault {
  return RUNNER_FAULTS.find((fault) => fault === signal.reason) ?? "lease-lost";
}

/** How a pass or a map ends without a result. */
export type Crash = Extract<PassOutcome, { kind: "crashed" }>;

/** The outcome of a pass that ended without a result of its own. */
export function crashed(fault: RunnerFault, message: string): Crash {
  return { kind: "crashed", fault, message };
}
