import type { PullRequestSpec } from "./spec.ts";

type Freeze = NonNullable<PullRequestSpec["freeze"]>;
type Window = Freeze["windows"][number];

const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
const DAY_MINUTES = 24 * 60;

/** Why nothing may be merged now, in words; undefined where something may. */
export function frozenBy(
  freeze: Freeze | undefined,
  labels: readonly string[],
  now: number,
): string | undefined {
  if (!freeze) return undefined;
  if (freeze.until !== undefined && now < Date.parse(freeze.until)) return `until ${freeze.until}`;
  if (freeze.label !== undefined && hasLabel(labels, freeze.label))
    return `by label ${freeze.label}`;
  const open = freeze.windows.find((window) => isWithin(window, now));
  return open && `daily from ${open.from} to ${open.to} (${open.timeZone})`;
}

/** GitHub's labels differ by more than case. */
export function hasLabel(labels: readonly string[], label: string): boolean {
  return labels.some((one) => one.toLowerCase() === label.toLowerCase());
}

function isWithin(window: Window, now: number): boolean {
  const { day, minute } = localTime(now, window.timeZone);
  const from = minuteOf(window.from);
  const to = minuteOf(window.to);
  const beginsOn = (date: number) =>
    window.days === undefined || window.days.includes(DAYS[(date + 7) % 7] ?? "sun");
  if (from < to) return beginsOn(day) && minute >= from && minute < to;
  return (beginsOn(day) && minute >= from) || (beginsOn(day - 1) && minute < to);
}

function minuteOf(clock: string): number {
  return Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
}

function localTime(now: number, timeZone: string): { day: number; minute: number } {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).formatToParts(now);
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? "";
  const day = DAYS.indexOf(part("weekday").toLowerCase() as (typeof DAYS)[number]);
  const minute = Number(part("hour")) * 60 + Number(part("minute"));
  return { day, minute: minute % DAY_MINUTES };
}
