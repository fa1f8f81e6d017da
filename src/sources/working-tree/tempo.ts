// When to look at a work tree. Pure: the engine beside it has the timers and the file system.
// Measured with chokidar and bare events alike (notes of the design): after 60 ms without an event
// a save is over; an event is no more than a hint; and silence proves nothing.

/** Milliseconds. */
export const TEMPO = {
  /** Events of one save or one command of git follow one another sooner than this. */
  quietMs: 60,
  /** A stream of events that never ends is interrupted. */
  longestMs: 500,
  /** Sweeps where events arrive, and the share of one core they may take (M3: idle ≤ 0.2 %). */
  sweepMs: 5_000,
  sweepShare: 0.002,
  /** Sweeps where no events arrive, or where some may have been lost. */
  deafSweepMs: 2_000,
  deafSweepShare: 0.01,
  longestSweepMs: 60_000,
  /** More events than this at once overflow the kernel's queue (16,384), and Node does not say so. */
  burst: 1_000,
  /** The lock of a command under way is looked at so often, and less often once it lasts. */
  lockPollMs: 25,
  slowPollMs: 250,
  operationPollMs: 1_000,
  /** A lock this old was left by a command that died. */
  lockBoundMs: 10_000,
  /** Files that never stop changing are taken as they are after so long. */
  refuseMs: 2_000,
} as const;

/** All that the decision depends on. Times are milliseconds of a monotonic clock. */
export type Tempo = {
  /** Hints that no scan has begun after: the first and the latest. */
  hints: { first: number; last: number; count: number } | undefined;
  /** When something in doubt is to be looked at again. */
  recheckAt: number | undefined;
  sweepAt: number;
  isScanning: boolean;
  /** Since when no scan was taken, because files changed meanwhile or were in doubt. */
  refusedSince: number | undefined;
  /** Since when the same operation of git stands in the way. */
  held: { kind: string; since: number } | undefined;
};

/** Nothing is known yet, so look at once. */
export function firstTempo(now: number): Tempo {
  return {
    hints: undefined,
    recheckAt: undefined,
    sweepAt: now,
    isScanning: false,
    refusedSince: undefined,
    held: undefined,
  };
}

/** Something may have changed. */
export function hinted(tempo: Tempo, now: number): Tempo {
  const { first, count } = tempo.hints ?? { first: now, count: 0 };
  return { ...tempo, hints: { first, last: now, count: count + 1 } };
}

/** When the next scan is due: Infinity while one is under way, whose end decides. */
export function dueAt({ hints, recheckAt, sweepAt, isScanning }: Tempo): number {
  if (isScanning) return Infinity;
  const settled =
    hints === undefined
      ? Infinity
      : Math.min(hints.last + TEMPO.quietMs, hints.first + TEMPO.longestMs);
  return Math.min(settled, recheckAt ?? Infinity, sweepAt);
}

/** What stands in the way of a scan that is due: nothing, or something to wait for. */
export type Gate = { tempo: Tempo; isOpen: boolean; lookAgainAt: number };

/** Holds scans while git works on the files; a lock holds them for only so long. */
export function pass(tempo: Tempo, now: number, operation: { kind: string } | undefined): Gate {
  if (operation === undefined) {
    return { tempo: { ...tempo, held: undefined }, isOpen: true, lookAgainAt: now };
  }
  const { kind } = operation;
  const since = tempo.held?.kind === kind ? tempo.held.since : now;
  const lasted = now - since;
  const held: Tempo = { ...tempo, held: { kind, since } };
  if (kind !== "lock") {
    return { tempo: held, isOpen: false, lookAgainAt: now + TEMPO.operationPollMs };
  }
  const poll = lasted < TEMPO.operationPollMs ? TEMPO.lockPollMs : TEMPO.slowPollMs;
  return { tempo: held, isOpen: lasted >= TEMPO.lockBoundMs, lookAgainAt: now + poll };
}

/** A scan begins: it covers every hint up to now. */
export function scanBegins(tempo: Tempo): Tempo {
  return { ...tempo, hints: undefined, recheckAt: undefined, isScanning: true };
}

/** What a scan came to. */
export type ScanEnd = {
  /** CPU time, about. */
  costMs: number;
  /** When what is in doubt should be looked at again; undefined where nothing is. */
  doubtUntil: number | undefined;
  /** Events do not arrive. */
  isDeaf: boolean;
  /** Some may have been lost, or files changed too recently for their times to tell. */
  isUnsure: boolean;
  /** An operation of git began meanwhile. */
  isHeld: boolean;
};

/** A scan ended. `isTaken`: it shows one state of the files, and may be acted upon. */
export function scanEnds(
  tempo: Tempo,
  now: number,
  { costMs, doubtUntil, isDeaf, isUnsure, isHeld }: ScanEnd,
): { tempo: Tempo; isTaken: boolean } {
  const isDisturbed = tempo.hints !== undefined || doubtUntil !== undefined;
  const since = tempo.refusedSince ?? now;
  const isTaken = !isHeld && (!isDisturbed || now - since >= TEMPO.refuseMs);
  const sweep =
    isDeaf || isUnsure
      ? Math.max(TEMPO.deafSweepMs, costMs / TEMPO.deafSweepShare)
      : Math.max(TEMPO.sweepMs, costMs / TEMPO.sweepShare);
  return {
    tempo: {
      ...tempo,
      isScanning: false,
      recheckAt: isHeld ? now : doubtUntil,
      sweepAt: now + Math.min(sweep, TEMPO.longestSweepMs),
      // Waiting for git is no reason to take what it left half done.
      refusedSince: isTaken || isHeld ? undefined : since,
    },
    isTaken,
  };
}
