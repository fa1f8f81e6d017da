import { createHash } from "node:crypto";
import { GitHubFault } from "./fault.ts";

/**
 * Holds the calls of one token together: when GitHub limits one of them, all stop; and writes go
 * out one at a time with a space between them, as GitHub asks (REST docs, "Best practices").
 */
export class Limiter {
  #blockedUntil = 0;
  #reason = "";
  #nextWriteAt = 0;
  #writes: Promise<unknown> = Promise.resolve();

  /** @throws GitHubFault `limited`, without a call, until the wait of the latest limit is over. */
  check(now: number): void {
    const waitMs = this.#blockedUntil - now;
    if (waitMs > 0) throw new GitHubFault("limited", this.#reason, { waitMs });
  }

  stop(fault: GitHubFault, now: number): void {
    this.#blockedUntil = Math.max(this.#blockedUntil, now + fault.waitMs);
    this.#reason = fault.message;
  }

  /** Runs `write` after those before it, `spacingMs` after the last one. */
  async inTurn<T>(write: () => Promise<T>, spacingMs: number, signal: AbortSignal): Promise<T> {
    const turn = this.#writes.then(async () => {
      await pause(this.#nextWriteAt - performance.now(), signal);
      try {
        return await write();
      } finally {
        this.#nextWriteAt = performance.now() + spacingMs;
      }
    });
    this.#writes = turn.catch(() => undefined);
    return turn;
  }
}

const limiters = new Map<string, Limiter>();

/** The limiter of a token at a server: one for all passes of this process. */
export function limiterOf(apiUrl: string, token: string): Limiter {
  const key = createHash("sha256").update(`${apiUrl}\n${token}`).digest("hex");
  const limiter = limiters.get(key) ?? new Limiter();
  limiters.set(key, limiter);
  return limiter;
}

/** Waits, and no longer than the signal allows. @throws the signal's reason */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  if (ms <= 0) return;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", aborted);
    function done(): void {
      signal.removeEventListener("abort", aborted);
      resolve();
    }
    function aborted(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
      reject(signal.reason as Error);
    }
  });
}
