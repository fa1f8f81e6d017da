import { LIMITS } from "../model/limits.ts";
import { redactText } from "../model/redact.ts";

/** What is kept of one output stream of a child. */
export type OutputCapture = {
  push: (chunk: Buffer) => void;
  /** Head and tail with a mark between them where something was dropped; credentials masked. */
  text(): string;
  /** Bytes left out between head and tail. */
  dropped: () => number;
};

/**
 * Keeps the first and last bytes of a stream, `limit` in all, and drops the middle: a flood is
 * always drained, so it can neither block its writer nor grow this process (P-2).
 */
export function createOutputCapture(limit: number = LIMITS.childOutput): OutputCapture {
  const half = Math.floor(limit / 2);
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let total = 0;

  const dropped = (): number => total - head.length - tail.length;
  return {
    dropped,
    push(chunk) {
      total += chunk.length;
      const room = half - head.length;
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
      const rest = room > 0 ? chunk.subarray(room) : chunk;
      if (rest.length === 0) return;
      // Copied, so that the tail does not keep a whole chunk of the stream alive.
      tail = Buffer.concat(
        rest.length >= half ? [rest.subarray(-half)] : [tail.subarray(rest.length - half), rest],
      );
    },
    text() {
      const mark = dropped() > 0 ? `\n… (${dropped()} bytes left out)\n` : "";
      return redactText(head.toString("utf8") + mark + tail.toString("utf8"));
    },
  };
}
