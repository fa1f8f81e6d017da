import { toPiWorkflowsError } from "../model/errors.ts";
import type { Log } from "../model/ports.ts";

/** What was acquired, to be released last-in first-out, also where acquiring failed half way. */
export type Releasers = {
  add(what: string, release: () => void | Promise<void>): void;
  /**
   * Releases all, and resolves within about so long. One that throws does not keep the others from
   * theirs, and one that never ends is left behind: the lock comes last, and a server that kept it for
   * ever would keep the next one out (P-3).
   */
  releaseAll(log: Log | undefined, withinMs: number): Promise<void>;
};

/**
 * What a stop may take besides draining: the kill ladder of runners and agents, and what is being
 * applied. A client that waits for the next server gives up 30 s after it asked (start.ts).
 */
export const PARTS_END_MS = 15_000;

/** What a release may take when the time of all is used up: most take a few milliseconds. */
const SHORT_MS = 500;

type Held = { what: string; release: () => void | Promise<void> };

export function createReleasers(): Releasers {
  const held: Held[] = [];
  return {
    add: (what, release) => void held.push({ what, release }),
    async releaseAll(log, withinMs) {
      const until = performance.now() + withinMs;
      for (let last = held.pop(); last; last = held.pop()) {
        await release(last, log, Math.max(SHORT_MS, until - performance.now()));
      }
    },
  };
}

async function release({ what, release: end }: Held, log: Log | undefined, withinMs: number) {
  let timer: NodeJS.Timeout | undefined;
  // Not by the server's clock, which a test may have stopped: an end must not depend on it.
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), withinMs);
  });
  try {
    if ((await Promise.race([end(), late])) === "late") {
      log?.error("Something did not end in time and is left behind", { what });
    }
  } catch (thrown) {
    log?.error("Something could not be released", { what, error: toPiWorkflowsError(thrown) });
  } finally {
    clearTimeout(timer);
  }
}
