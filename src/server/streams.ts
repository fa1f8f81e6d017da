import { LIMITS } from "../model/limits.ts";
import type { Clock } from "../model/ports.ts";
import type { ResourceEvent } from "../model/event.ts";
import type { ResourceSummary, StoredResource } from "../model/resource.ts";
import { isConditionTrue } from "../model/condition.ts";
import type { ListQuery, StoreReader } from "../store/store.ts";
import type { Changes, Touched } from "./changes.ts";
import type { EventsQuery, WatchItem } from "./protocol.ts";

/** What streams are made of. */
export type StreamSources = { store: StoreReader; changes: Changes; clock: Clock };

/**
 * Events from a cursor on, as they are stored, until `signal` aborts. It pulls pages by cursor, so
 * a reader that is slow holds nothing in memory and misses nothing.
 */
export async function* streamEvents(
  sources: StreamSources,
  query: EventsQuery,
  signal: AbortSignal,
): AsyncGenerator<ResourceEvent> {
  const { project, uid } = query;
  const filter = { ...(project === undefined ? {} : { project }), ...(uid === undefined ? {} : { uid }) };
  const wake = createWake(sources, signal);
  try {
    let after = query.after ?? (await latestEvent(sources.store));
    while (!signal.aborted) {
      const page = await sources.store.events({ ...filter, after, limit: LIMITS.page });
      for (const event of page) {
        after = event.sequence;
        yield event;
        if (signal.aborted) return;
      }
      if (page.length < LIMITS.page) await wake.next();
    }
  } finally {
    wake.close();
  }
}
