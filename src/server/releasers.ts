import { toPiWorkflowsError } from "../model/errors.ts";
import type { Log } from "../model/ports.ts";

/** What was acquired, to be released last-in first-out, also where acquiring failed half way. */
export type Releasers = {
  add(what: string, release: () => void | Promise<void>): void;
  /** Releases all; a release that throws does not keep the others from theirs. */
  releaseAll(log?: Log): Promise<void>;
};

export function createReleasers(): Releasers {
  const held: { what: string; release: () => void | Promise<void> }[] = [];
  return {
    add: (what, release) => void held.push({ what, release }),
    async releaseAll(log) {
      for (let last = held.pop(); last; last = held.pop()) {
        try {
          await last.release();
        } catch (thrown) {
          log?.error("Something could not be released", {
            what: last.what,
            error: toPiWorkflowsError(thrown),
          });
        }
      }
    },
  };
}
