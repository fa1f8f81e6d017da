const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A length of time as people write it: `"30s"`, `"5m"`, `"1h"`, `"2d"`. */
export type Duration = `${number}${"s" | "m" | "h" | "d"}`;

/** What a duration must be, for messages. */
export const DURATION_FORM = 'a positive whole number and s, m, h or d, such as "5m"';

/** The milliseconds of `"5m"`; undefined where it is not a positive number with one of the units. */
export function parseDuration(text: unknown): number | undefined {
  const match = typeof text === "string" ? /^(\d+)(s|m|h|d)$/.exec(text) : null;
  const milliseconds = Number(match?.[1]) * (UNITS[match?.[2] ?? ""] ?? Number.NaN);
  return milliseconds > 0 && Number.isSafeInteger(milliseconds) ? milliseconds : undefined;
}
