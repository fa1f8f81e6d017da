import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/model/limits.ts";
import { createFrameReader, encodeFrame } from "../../src/runner/frames.ts";
import { createOutputCapture } from "../../src/runner/output.ts";

function read(limit: number, chunks: Buffer[]): { frames: unknown[]; oversized: number[] } {
  const frames: unknown[] = [];
  const oversized: number[] = [];
  const reader = createFrameReader(
    limit,
    (text) => frames.push(JSON.parse(text)),
    (bytes) => oversized.push(bytes),
  );
  for (const chunk of chunks) reader.push(chunk);
  return { frames, oversized };
}

/** Cuts `bytes` at the places given. */
function cut(bytes: Buffer, places: number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % bytes.length))].sort((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
}

describe("frames", () => {
  it("are read whole however the stream is cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue(), { minLength: 1 }),
        fc.array(fc.nat()),
        (messages, places) => {
          const bytes = Buffer.from(messages.map(encodeFrame).join(""));

          const { frames, oversized } = read(LIMITS.runnerMessage, cut(bytes, places));

          expect(frames).toEqual(JSON.parse(JSON.stringify(messages)));
          expect(oversized).toEqual([]);
        },
      ),
      { numRuns: 200 },
    );
  });

  it("may be as large as the limit, and not one byte larger", () => {
    const frame = (bytes: number) => Buffer.from(encodeFrame("x".repeat(bytes - 2)));

    expect(read(LIMITS.runnerMessage, [frame(LIMITS.runnerMessage)]).frames).toHaveLength(1);
    expect(read(LIMITS.runnerMessage, [frame(LIMITS.runnerMessage + 1)])).toEqual({
      frames: [],
      oversized: [LIMITS.runnerMessage + 1],
    });
  });

  it("that do not end are given up at the limit, once, with all that follows", () => {
    const piece = Buffer.alloc(10, "x");

    const { frames, oversized } = read(25, [piece, piece, piece, piece, Buffer.from('\n"a"\n')]);

    expect(frames).toEqual([]);
    expect(oversized).toEqual([30]);
  });
});

describe("captured output", () => {
  it("is kept whole up to the limit", () => {
    const capture = createOutputCapture(10);
    for (const text of ["abc", "defg", "hij"]) capture.push(Buffer.from(text));

    expect(capture.text()).toBe("abcdefghij");
  });

  it("keeps head and tail past it and says how much is missing", () => {
    const capture = createOutputCapture(10);
    for (const text of ["abcdef", "XX", "uvwxyz"]) capture.push(Buffer.from(text));

    expect(capture.text()).toBe("abcde\n… (4 bytes left out)\nvwxyz");
  });

  it("keeps the same however the stream is cut", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 60 }),
        fc.array(fc.nat()),
        (text, places) => {
          const whole = createOutputCapture(20);
          const inPieces = createOutputCapture(20);
          const bytes = Buffer.from(text);
          whole.push(bytes);
          for (const chunk of cut(bytes, places)) inPieces.push(chunk);

          expect(inPieces.text()).toBe(whole.text());
        },
      ),
    );
  });
});
