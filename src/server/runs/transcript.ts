import { LIMITS, truncate } from "../../model/limits.ts";

/** An agent's transcript on its way to the run's log. */
export type Transcript = {
  /** One saying: it gets a line of its own, or several. */
  push: (text: string) => void;
  /** Resolves when what was pushed is in the log, or could not be written. */
  flushed(): Promise<void>;
};

// An agent that says more than this while one write is under way loses the middle of it.
const HELD = 16 * LIMITS.runLogPiece;

/**
 * Writes pieces of text in order, one write at a time. What arrives meanwhile waits and is written
 * together, so that a hasty agent costs no commit for each. A write that is
 * refused is the pass's end, which its runner learns by its own writes.
 */
export function createTranscript(write: (text: string) => Promise<void>): Transcript {
  let waiting = "";
  // The end of all that was begun; resolved where nothing is.
  let written: Promise<void> = Promise.resolve();
  let isWriting = false;
  const drain = async (): Promise<void> => {
    isWriting = true;
    try {
      while (waiting !== "") {
        const text = waiting.slice(0, LIMITS.runLogPiece);
        waiting = waiting.slice(LIMITS.runLogPiece);
        await write(text);
      }
    } catch {
      waiting = "";
    }
    isWriting = false;
  };
  return {
    push(text) {
      waiting = truncate(`${waiting}${text}\n`, HELD);
      if (!isWriting) written = drain();
    },
    flushed: () => written,
  };
}
