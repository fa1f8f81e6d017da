/** Waits; an abort ends the wait early without an error. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, signal.aborted ? 0 : ms);
    signal.addEventListener("abort", end);
  });
}
