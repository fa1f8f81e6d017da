const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const PAIRS = [
  { large: "d", size: 24 * HOUR, small: "h", part: HOUR },
  { large: "h", size: HOUR, small: "m", part: MINUTE },
  { large: "m", size: MINUTE, small: "s", part: 1_000 },
] as const;

/** A span of time in at most two units, as lists show it: `850ms`, `12s`, `4m10s`, `3h`, `2d5h`. */
export function span(ms: number): string {
  const value = Math.max(0, Math.round(ms));
  if (value < 1_000) return `${value}ms`;
  if (value < 10_000) return `${(value / 1_000).toFixed(1).replace(/\.0$/, "")}s`;
  for (const { large, size, small, part } of PAIRS) {
    if (value < size) continue;
    const rest = Math.floor((value % size) / part);
    return `${Math.floor(value / size)}${large}${rest === 0 ? "" : `${rest}${small}`}`;
  }
  return `${Math.floor(value / 1_000)}s`;
}

/** How old something is: nobody needs to know that to less than a second. */
export function age(ms: number): string {
  return span(Math.floor(Math.max(0, ms) / 1_000) * 1_000).replace(/^0ms$/, "0s");
}
