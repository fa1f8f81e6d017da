const NEWLINE = 10;

/** What is kept of a line that is longer than the limit. Bytes. */
const HEAD = 4 * 1024;

/**
 * Cuts Pi's output into lines at LF alone, and holds no more than `limit` bytes of one. A longer line
 * is handed over as its beginning: a program that floods us can neither grow this process nor end
 * the conversation.
 */
export function createLineReader(
  limit: number,
  onLine: (text: string, isCut: boolean) => void,
): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let held = 0;
  let isCut = false;

  const keep = (piece: Buffer): void => {
    if (isCut || piece.length === 0) return;
    parts.push(piece);
    held += piece.length;
    if (held <= limit) return;
    parts = [Buffer.from(Buffer.concat(parts).subarray(0, HEAD))];
    isCut = true;
  };
  const end = (): void => {
    const text = Buffer.concat(parts).toString("utf8");
    const wasCut = isCut;
    parts = [];
    held = 0;
    isCut = false;
    if (text !== "") onLine(text, wasCut);
  };
  return (chunk) => {
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to !== -1; to = chunk.indexOf(NEWLINE, from)) {
      keep(chunk.subarray(from, to));
      end();
      from = to + 1;
    }
    keep(chunk.subarray(from));
  };
}
