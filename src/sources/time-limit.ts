/** Thrown by `withTimeLimit`. */
export class TimeLimitExceeded extends Error {
  override name = "TimeLimitExceeded";
}

/**
 * Runs `work`, and gives up on it after `ms`: what it awaits may never come.
 * @throws TimeLimitExceeded, or what `work` throws.
 */
export async function withTimeLimit<T>(work: () => Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(
        new TimeLimitExceeded(
          `did not finish within ${ms / 1_000} s; look for an endless loop, or an await that never ends`,
        ),
      );
    }, ms);
  });
  try {
    return await Promise.race([work(), limit]);
  } finally {
    clearTimeout(timer);
  }
}
