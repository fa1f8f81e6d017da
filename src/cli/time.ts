import { age, span } from "../model/span.ts";
import { PiWorkflowsError } from "../model/errors.ts";

export { age, span };

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Shorter than this is now. */
const MOMENT = 1_000;

/** A hundred years: no later instant is a date everywhere. */
const LONGEST = 36_525 * 86_400_000;

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
  if (
    parts.length === 0 ||
    parts.map(([part]) => part).join("") !== text ||
    !(total > 0) ||
    total > LONGEST
  ) {
    throw new PiWorkflowsError("USAGE", `${JSON.stringify(text)} is not a duration`, {
      hint: "Write a number and a unit: 500ms, 30s, 5m, 1h30m, 2d.",
    });
  }
  return Math.round(total);
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
  if (distance >= 0) return distance < MOMENT ? "just now" : `${age(distance)} ago`;
  return distance > -MOMENT ? "now" : `in ${age(-distance)}`;
}

/** `for 12s`: how long something has lasted that began at an instant. */
export function lasting(at: number | string, now: number): string {
  const distance = now - new Date(at).getTime();
  return distance < MOMENT ? "just now" : `for ${age(distance)}`;
}
