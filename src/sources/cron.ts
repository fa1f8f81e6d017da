import { createRequire } from "node:module";
import type * as Croner from "croner";

type Known = { cron: Croner.Cron; from: number; next: number | undefined };

// Loaded for the first definition that has a cron expression: it takes 15 ms, which every load of
// specs would pay for otherwise.
const require = createRequire(import.meta.url);

// Of definitions that are accepted, so few; the bound is for a server that lives for months.
const MOST = 1_000;
const known = new Map<string, Known>();

/** What is wrong with a cron expression or its time zone; undefined where nothing is. */
export function cronProblem(
  expression: string,
  timezone: string | undefined,
  now: number,
): string | undefined {
  try {
    return parse(expression, timezone).nextRun(new Date(now)) === null
      ? "this time never comes"
      : undefined;
  } catch (thrown) {
    const { message } = thrown as Error;
    return isTimeZone(timezone)
      ? message.replace(/^Cron\w+: /, "")
      : `unknown time zone ${timezone}`;
  }
}

/**
 * When a cron expression is due next, strictly after `now`; epoch milliseconds. Undefined where it
 * is not again. Remembers the answer, which stays the same until then: working it out takes half a
 * millisecond.
 */
export function nextCron(
  expression: string,
  timezone: string | undefined,
  now: number,
): number | undefined {
  const id = `${timezone ?? ""}\0${expression}`;
  const before = known.get(id);
  if (before && before.from <= now && now < (before.next ?? Number.POSITIVE_INFINITY)) {
    return before.next;
  }
  if (known.size >= MOST) known.clear();
  const cron = before?.cron ?? parse(expression, timezone);
  const next = cron.nextRun(new Date(now))?.getTime();
  known.set(id, { cron, from: now, next });
  return next;
}

function parse(expression: string, timezone: string | undefined): Croner.Cron {
  // One path for all: what the machine's own zone is called is asked for, too.
  const zone = timezone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const croner = require("croner") as typeof Croner;
  return new croner.Cron(expression, { paused: true, timezone: zone, mode: "5-part" });
}

function isTimeZone(timezone: string | undefined): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: timezone }).format(0) !== "";
  } catch {
    return false;
  }
}
