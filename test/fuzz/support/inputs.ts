import fc from "fast-check";
import { afterAll, expect, vi } from "vitest";
import { count } from "../../support/figures.ts";

const TIMES = Number(process.env["FUZZ_TIMES"] ?? 1);
vi.setConfig({ testTimeout: 120_000 * Math.max(1, TIMES) });

let tried = 0;
afterAll(() => count("inputs", tried));

/**
 * How many inputs a fuzz test tries: its share of what CI has time for, times FUZZ_TIMES. A failure
 * prints its seed; FUZZ_SEED repeats it.
 */
export function tries(share: number): { numRuns: number; seed?: number; endOnFailure: boolean } {
  const seed = process.env["FUZZ_SEED"];
  const numRuns = Math.max(1, Math.round(share * TIMES));
  tried += numRuns;
  return {
    numRuns,
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    // A shrunk counterexample may be another fault; the first is printed whole.
    endOnFailure: false,
  };
}

const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));

/** Values where another kind, size or alphabet was expected. */
const ODD: unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  "",
  " ",
  "x",
  "\u0000",
  "\u001b[2J",
  "\ud800",
  "\u202e",
  "../../etc/passwd",
  "__proto__",
  "constructor",
  "x".repeat(5_000),
  [],
  {},
  [[[]]],
  nested(800),
  JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
];

/** A fresh one each time, since edits go into it. */
const oddAt = (index: number): unknown => structuredClone(ODD[index % ODD.length]);

/** A change of one place within a value, by numbers that fit any value. */
export type Edit = { at: number; how: "replace" | "remove" | "add" | "repeat"; odd: number };

const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat(),
  how: fc.constantFrom("replace", "remove", "add", "repeat"),
  odd: fc.nat(ODD.length - 1),
});

/** One of the samples, as JSON values, with some places of it changed. */
export function changed(samples: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc
    .tuple(fc.constantFrom(...samples), fc.array(edit, { maxLength: 4 }))
    .map(([sample, edits]) => edits.reduce<unknown>(editAt, structuredClone(sample)));
}

type Spot = { holder: Record<string, unknown>; name: string };

/** The value after the edit, which may go into it. */
export function editAt(value: unknown, { at, how, odd }: Edit): unknown {
  const spots: Spot[] = [];
  collect(value, spots, 0);
  const spot = spots[at % (spots.length + 1)];
  if (spot === undefined) return how === "replace" ? oddAt(odd) : value;
  const { holder, name } = spot;
  if (how === "remove") delete holder[name];
  else if (how === "add") define(holder, ["__proto__", "toString", "extra"][at % 3] as string, odd);
  else if (how === "repeat" && Array.isArray(holder))
    holder.push(structuredClone(holder[Number(name)]));
  else holder[name] = oddAt(odd);
  return value;
}

function define(holder: object, name: string, odd: number): void {
  const own = { value: oddAt(odd), enumerable: true, configurable: true, writable: true };
  Object.defineProperty(holder, name, own);
}

function collect(value: unknown, spots: Spot[], depth: number): void {
  if (typeof value !== "object" || value === null || depth > 20) return;
  for (const name of Object.keys(value)) {
    spots.push({ holder: value as Record<string, unknown>, name });
    collect((value as Record<string, unknown>)[name], spots, depth + 1);
  }
}

/** Bytes of one of these texts, some of them changed, cut out, or put in again elsewhere. */
export function mangled(texts: fc.Arbitrary<string | Uint8Array>): fc.Arbitrary<Buffer> {
  const cut = fc.record({ from: fc.nat(), length: fc.nat(40), to: fc.nat() });
  const bytes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 });
  return fc.tuple(texts, bytes, fc.array(cut, { maxLength: 2 })).map(([text, edits, cuts]) => {
    let buffer = Buffer.from(text as string);
    for (const [at, byte] of edits) if (buffer.length > 0) buffer[at % buffer.length] = byte;
    for (const { from, length, to } of cuts) {
      const start = from % (buffer.length + 1);
      const piece = buffer.subarray(start, start + length);
      const goal = to % (buffer.length + 1);
      buffer =
        to % 2 === 0
          ? Buffer.concat([buffer.subarray(0, start), buffer.subarray(start + length)])
          : Buffer.concat([buffer.subarray(0, goal), piece, buffer.subarray(goal)]);
    }
    return buffer;
  });
}

/** No input may change what every object inherits. */
export function expectUnpolluted(): void {
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  expect(Object.keys(Object.prototype)).toEqual([]);
}
