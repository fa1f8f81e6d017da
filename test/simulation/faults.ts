import type { Random } from "./random.ts";

/** How likely each thing goes wrong, each time that it may: probabilities. */
export type Faults = {
  /** The server dies at one of the next points; by timer of the machine. */
  crash: number;
  killRunner: number;
  clockJump: number;
  suspend: number;
  /** Statements fail for a while. */
  diskTrouble: number;
  /** While there is trouble: by statement that writes. */
  statement: number;
  /** By runner: all that it says and hears is late. */
  runnerSlow: number;
  /** By message between server and runner. */
  messageLost: number;
  messageDelayed: number;
  messageDoubled: number;
  neverReady: number;
  /** By call of the provider. */
  callRefused: number;
  callUnapplied: number;
  callUnanswered: number;
  callLied: number;
  callSlow: number;
  staleRead: number;
  lookFails: number;
  /** By pass: the author's code throws. */
  passThrows: number;
  passTerminal: number;
  /** By pass: it is asked for again at once, or after a while. */
  requeue: number;
};

export const NO_FAULTS: Faults = {
  crash: 0,
  killRunner: 0,
  clockJump: 0,
  suspend: 0,
  diskTrouble: 0,
  statement: 0,
  runnerSlow: 0,
  messageLost: 0,
  messageDelayed: 0,
  messageDoubled: 0,
  neverReady: 0,
  callRefused: 0,
  callUnapplied: 0,
  callUnanswered: 0,
  callLied: 0,
  callSlow: 0,
  staleRead: 0,
  lookFails: 0,
  passThrows: 0,
  passTerminal: 0,
  requeue: 0,
};

const MOST: Faults = {
  crash: 0.05,
  killRunner: 0.05,
  clockJump: 0.15,
  suspend: 0.1,
  diskTrouble: 0.3,
  statement: 0.1,
  runnerSlow: 0.1,
  messageLost: 0.02,
  messageDelayed: 0.1,
  messageDoubled: 0.05,
  neverReady: 0.03,
  callRefused: 0.05,
  callUnapplied: 0.1,
  callUnanswered: 0.1,
  callLied: 0.03,
  callSlow: 0.2,
  staleRead: 0.5,
  lookFails: 0.1,
  passThrows: 0.05,
  passTerminal: 0.02,
  requeue: 0.1,
};

/** What each kind is called where it happened; `npm test` plays enough seeds for all of them. */
export const HAPPENINGS = [
  "server died",
  "runner killed",
  "runner never ready",
  "runner hung",
  "runner slow",
  "message late",
  "message doubled",
  "clock set back",
  "clock set forward",
  "machine suspended",
  "disk full",
  "disk failed",
  "database busy",
  "call refused",
  "call failed, not applied",
  "call applied, not answered",
  "call answered, not applied",
  "call slow",
  "look stale",
  "look failed",
  "author's code threw",
] as const;
export type Happening = (typeof HAPPENINGS)[number];

/**
 * What goes wrong in one simulation: each kind not at all, or up to as often as it may. So some seeds
 * try one fault thoroughly, and some all at once.
 */
export function drawFaults(random: Random): Faults {
  const faults = { ...NO_FAULTS };
  for (const kind of Object.keys(MOST) as (keyof Faults)[]) {
    if (random.chance(0.6)) faults[kind] = MOST[kind] * random.next();
  }
  return faults;
}
