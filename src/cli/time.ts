import { PiWorkflowsError } from "../model/errors.ts";

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Milliseconds of a duration as a person writes it: `30s`, `5m`, `1h30m`, `250ms`.
 * @throws PiWorkflowsError USAGE
 */
export function parseDuration(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  const total = parts.reduce(
    (sum, [, count, unit]) => sum + Number(count) * (UNITS[unit as string] as number),
    0,
  );
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text || !(total > 0)) {
    throw new PiWorkflowsError("USAGE", `${JSON.stringify(text)} is not a duration`, {
      hint: "Write a number and a unit: 500ms, 30s, 5m, 1h30m, 2d.",
    });
  }
  return Math.round(total);
}

/** A span of time in at most two units, as lists show it: `850ms`, `12s`, `4m10s`, `3h`, `2d5h`. */
export function span(ms: number): string {
  const value = Math.max(0, Math.round(ms));
  if (value < 1_000) return `${value}ms`;
  if (value < 10_000) return `${(value / 1_000).toFixed(1).replace(/\.0$/, "")}s`;
  for (const [large, small] of [
    ["d", "h"],
    ["h", "m"],
    ["m", "s"],
  ] as const) {
    const size = UNITS[large] as number;
    if (value < size) continue;
    const rest = Math.floor((value % size) / (UNITS[small] as number));
    return rest === 0
      ? `${Math.floor(value / size)}${large}`
      : `${Math.floor(value / size)}${large}${rest}${small}`;
  }
  return `${Math.floor(value / 1_000)}s`;
}

/** An instant for people: local date and time with seconds. */
export function instant(at: number | string): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** `12s ago`, or `in 12s` for an instant to come. */
export function relative(at: number | string, now: number): string {
  const distance = now - new Date(at).getTime();
  return distance >= 0 ? `${span(distance)} ago` : `in ${span(-distance)}`;
}
