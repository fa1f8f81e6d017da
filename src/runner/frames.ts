const NEWLINE = 10;

/** One message as it travels: a line of JSON, which holds no raw newline. */
export function encodeFrame(message: unknown): string {
  return `${JSON.stringify(message)}\n`;
}

export type FrameReader = {
  /** Feeds bytes as they arrive; calls back for each whole frame. */
  push: (chunk: Buffer) => void;
};

/**
 * Cuts a byte stream into frames and keeps no more than `limit` bytes of an unfinished one.
 * `onFrame` gets the text and its size in bytes; `onOversized` is called once, after which
 * everything is dropped.
 */
export function createFrameReader(
  limit: number,
  onFrame: (text: string, bytes: number) => void,
  onOversized: (bytes: number) => void,
): FrameReader {
  let parts: Buffer[] = [];
  let held = 0;
  let broken = false;
  const isBroken = (): boolean => broken;

  const oversized = (bytes: number): void => {
    broken = true;
    parts = [];
    onOversized(bytes);
  };
  const take = (piece: Buffer): void => {
    const bytes = held + piece.length;
    if (bytes > limit) return oversized(bytes);
    const text =
      held === 0 ? piece.toString("utf8") : Buffer.concat([...parts, piece]).toString("utf8");
    parts = [];
    held = 0;
    onFrame(text, bytes);
  };

  return {
    push(chunk) {
      let from = 0;
      while (!isBroken()) {
        const end = chunk.indexOf(NEWLINE, from);
        if (end === -1) break;
        take(chunk.subarray(from, end));
        from = end + 1;
      }
      if (isBroken() || from === chunk.length) return;
      parts.push(chunk.subarray(from));
      held += chunk.length - from;
      if (held > limit) oversized(held);
    },
  };
}
