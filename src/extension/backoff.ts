const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/** How long each try waits after those that failed before it. */
export type Backoff = {
  /** Resolves after the next delay, or at once when `signal` aborts. */
  wait(signal: AbortSignal): Promise<void>;
  /** It worked: the next failure begins anew. */
  reset(): void;
};

/** Doubling delays, at most half a minute, each shortened by chance so that sessions spread. */
export function createBackoff(random: () => number = Math.random): Backoff {
  let failures = 0;
  return {
    wait: (signal) =>
      new Promise((resolve) => {
        const most = Math.min(LONGEST_MS, FIRST_MS * 2 ** failures);
        failures += 1;
        const done = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, most * (0.5 + random() / 2));
        timer.unref();
        signal.addEventListener("abort", done);
        if (signal.aborted) done();
      }),
    reset: () => void (failures = 0),
  };
}
