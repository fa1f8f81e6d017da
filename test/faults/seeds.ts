/** Numbers in [0, 1) that a seed repeats (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A size that `npm run soak` raises, by a variable of the environment. */
export function sized(variable: string, usual: number): number {
  const given = Number(process.env[variable] ?? usual);
  if (!Number.isSafeInteger(given) || given < 1)
    throw new Error(`${variable} is no count: ${given}`);
  return given;
}
