import type { JournalInput } from "../model/run.ts";
import type { WatchedAttempt } from "./run-messages.ts";

/** How one watch reaches its runner. `after` runs a callback later, and returns what calls it off. */
export type WatchedRunner = {
  after: (delayMs: number, callback: () => void) => () => void;
  ping: () => void;
  /** The runner is blocked by this attempt, which is past its limit. */
  blocked: (attempt: WatchedAttempt) => void;
};

/**
 * Sees to it that no attempt of a node outlives its limit by blocking its runner, by an endless loop
 * or a synchronous command. A runner that still turns ends its attempts itself, so one that is late
 * is asked first whether it does; only one that gives no answer is blocked.
 */
export function createAttemptWatch(
  { after, ping, blocked }: WatchedRunner,
  graceMs: number,
): AttemptWatch {
  const watches = new Map<number, () => void>();
  /** Visits for whose sake the runner was asked since it last answered. */
  const silent = new Set<number>();

  const ask = (attempt: WatchedAttempt): void => {
    silent.add(attempt.visit);
    ping();
    watches.set(
      attempt.visit,
      after(graceMs, () => {
        if (silent.has(attempt.visit)) blocked(attempt);
        else ask(attempt);
      }),
    );
  };
  const end = (visit: number): void => {
    watches.get(visit)?.();
    watches.delete(visit);
    silent.delete(visit);
  };
  return {
    begin(attempt) {
      end(attempt.visit);
      // The runner itself calls the attempt off, and then gives it up.
      watches.set(
        attempt.visit,
        after(attempt.limitMs + 2 * graceMs, () => ask(attempt)),
      );
    },
    journaled(entries) {
      for (const entry of entries) {
        if ("visit" in entry && entry.event !== "begun") end(entry.visit);
      }
    },
    pong() {
      silent.clear();
    },
    stop() {
      for (const cancel of watches.values()) cancel();
      watches.clear();
    },
  };
}

export type AttemptWatch = {
  begin(attempt: WatchedAttempt): void;
  /** Ends the watch of attempts whose end is among these lines. */
  journaled(entries: readonly JournalInput[]): void;
  pong(): void;
  stop(): void;
};

/** The line of the journal by which an attempt that blocked its runner has failed. */
export function overdue(
  { limitMs, safety: _safety, ...attempt }: WatchedAttempt,
  at: number,
): JournalInput & { event: "failed" } {
  return {
    event: "failed",
    at,
    ...attempt,
    error: {
      reason: "DeadlineExceeded",
      message: `node ${attempt.node} was not done within its timeout of ${limitMs} ms and did not let its runner go on, so the runner was ended`,
    },
    retryable: true,
  };
}
