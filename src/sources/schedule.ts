import type { SourceCause } from "../model/queue.ts";
import type { SourceDefinition, SourceOf } from "../model/source.ts";
import { LIMITS } from "../model/limits.ts";
import { nextCron } from "./cron.ts";

/** When a source of time wants a resource looked at, and which one it is. */
export type Due = { delayMs: number; cause: "schedule" | SourceCause };

/** `every` comes up to this part sooner. */
const JITTER = 0.1;

/**
 * The first time at which one of the sources wants resource `uid` looked at again, counted from
 * `now` (epoch milliseconds); undefined where none goes by time.
 */
export function nextDue(
  sources: readonly SourceDefinition[],
  uid: string,
  now: number,
): Due | undefined {
  let first: Due | undefined;
  for (const source of sources) {
    const due = dueOf(source, uid, now);
    if (due && !(first && first.delayMs <= due.delayMs)) first = due;
  }
  return first;
}

function dueOf(source: SourceDefinition, uid: string, now: number): Due | undefined {
  switch (source.kind) {
    case "every":
      return { delayMs: intervalOf(source, uid), cause: "schedule" };
    case "cron": {
      const at = nextCron(source.expression, source.timezone, now);
      if (at === undefined) return undefined;
      // A leap day may be further away than a row may wait; a look in between does no harm.
      return {
        delayMs: Math.min(at - now, LIMITS.maxRequeueMs),
        cause: `cron:${source.expression}`,
      };
    }
    case "files":
    case "watch":
    case "webhook":
      return undefined;
  }
}

/**
 * Each resource has an interval of its own, a little shorter than asked for: resources that were
 * applied together drift apart, and one's rhythm stays the same over a restart.
 */
function intervalOf({ everyMs }: SourceOf<"every">, uid: string): number {
  return Math.ceil(everyMs * (1 - JITTER * fraction(uid)));
}

/** A number in [0, 1) that differs wildly between neighbours (FNV-1a, murmur3's finaliser). */
function fraction(uid: string): number {
  let mixed = 0x811c9dc5;
  for (let index = 0; index < uid.length; index += 1) {
    mixed = Math.imul(mixed ^ uid.charCodeAt(index), 0x01000193);
  }
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
}
