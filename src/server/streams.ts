import { isConditionTrue } from "../model/condition.ts";
import type { ResourceEvent } from "../model/event.ts";
import { isWorkflowLane } from "../model/graph.ts";
import { LIMITS } from "../model/limits.ts";
import type { Clock } from "../model/ports.ts";
import type { ResourceSummary, StoredResource } from "../model/resource.ts";
import type { ListQuery, StoreReader } from "../store/store.ts";
import type { Changes, Touched } from "./changes.ts";
import type { EventsQuery, WatchItem } from "./protocol.ts";
import { nextTurn } from "./turn.ts";

/** What tells a stream that there may be something to read. */
export type WakeSources = { changes: Changes; clock: Clock };
/** What streams are made of. */
export type StreamSources = WakeSources & { store: StoreReader };

// A busy server touches thousands of resources a second; one read per stream this often shows people
// all they can see. The first read after a quiet time is at once.
const PACE_MS = 25;

/**
 * Events from a cursor on, as they are stored, until `signal` aborts. Pages are pulled by cursor, so
 * a slow reader holds nothing in memory and misses nothing.
 */
export async function* streamEvents(
  sources: StreamSources,
  query: EventsQuery,
  signal: AbortSignal,
): AsyncGenerator<ResourceEvent> {
  const { after: from, ...filter } = query;
  const wake = createWake(sources, signal);
  try {
    let after = from ?? (await latestEvent(sources.store));
    while (!signal.aborted) {
      const page = await sources.store.events({ ...filter, after, limit: LIMITS.page });
      for (const event of page) {
        after = event.sequence;
        yield event;
        if (signal.aborted) return;
      }
      await (page.length < LIMITS.page ? wake.next() : nextTurn());
    }
  } finally {
    wake.close();
  }
}

async function latestEvent(store: StoreReader): Promise<number> {
  const [latest] = await store.events({ limit: 1, newestFirst: true });
  return latest?.sequence ?? 0;
}

/**
 * Resources that match: all of them, then `listed`, then each as it changes, or is removed or no
 * longer matches. What changes in between is told once, in its latest state.
 */
export async function* streamWatch(
  sources: StreamSources,
  query: ListQuery,
  signal: AbortSignal,
): AsyncGenerator<WatchItem> {
  const shown = new Map<string, ResourceSummary>();
  const wake = createWake(sources, signal);
  try {
    let after: string | undefined = query.after;
    do {
      const page = await sources.store.list({
        ...query,
        ...(after === undefined ? {} : { after }),
      });
      for (const resource of page.items) {
        shown.set(resource.metadata.uid, resource);
        yield { kind: "present", resource };
      }
      after = page.next;
      // Nothing else in here waits for the outside where the reader is quick.
      await nextTurn();
    } while (after !== undefined && !signal.aborted);
    yield { kind: "listed" };
    while (!signal.aborted) {
      for (const touched of wake.take()) {
        yield* await changeOf(sources.store, query, shown, touched);
        if (signal.aborted) return;
      }
      await wake.next();
    }
  } finally {
    wake.close();
  }
}

async function changeOf(
  store: StoreReader,
  query: ListQuery,
  shown: Map<string, ResourceSummary>,
  touched: Touched,
): Promise<WatchItem[]> {
  if (isWorkflowLane(touched.resourceManager)) return [];
  const stored = await store.get(touched);
  const before = shown.get(touched.uid);
  const now = stored && summaryOf(stored);
  if (now?.metadata.uid === touched.uid && matches(query, now)) {
    if (before?.metadata.resourceVersion === now.metadata.resourceVersion) return [];
    shown.set(touched.uid, now);
    return [{ kind: "present", resource: now }];
  }
  shown.delete(touched.uid);
  return before ? [{ kind: "removed", resource: before }] : [];
}

function summaryOf({ resource, ...rest }: StoredResource): ResourceSummary {
  return {
    ...rest,
    metadata: resource.metadata,
    observedGeneration: resource.status.observedGeneration,
    conditions: resource.status.conditions,
    ...(resource.status.workflowRun ? { workflowRun: resource.status.workflowRun } : {}),
  };
}

/** Whether a list with this query would hold the resource. */
function matches(query: ListQuery, resource: ResourceSummary): boolean {
  const { metadata, owner, labels } = resource;
  return (
    (query.project ?? resource.project) === resource.project &&
    (query.manager ?? metadata.resourceManager) === metadata.resourceManager &&
    Object.entries(query.labels ?? {}).every(([name, value]) => labels[name] === value) &&
    (query.owner === undefined ||
      (query.owner.kind === owner.kind && query.owner.name === owner.name)) &&
    (query.notReady !== true || !isConditionTrue(resource.conditions, "Ready", metadata.generation))
  );
}

/** Collects touches from now on, so that none between two reads is lost. */
export function createWake({ changes, clock }: WakeSources, signal: AbortSignal) {
  let dirty = new Map<string, Touched>();
  let ring = false;
  let resolve: (() => void) | undefined;
  let lastAt = Number.NEGATIVE_INFINITY;
  const wakeUp = (): void => {
    ring = true;
    resolve?.();
  };
  const unsubscribe = changes.subscribe((changed) => {
    for (const touched of changed) dirty.set(touched.uid, touched);
    wakeUp();
  });
  signal.addEventListener("abort", wakeUp);

  const wait = async (until: () => boolean, delayMs: number): Promise<void> => {
    if (until()) return;
    await new Promise<void>((done) => {
      const cancel = clock.schedule(done, delayMs);
      resolve = () => {
        if (!until()) return;
        cancel();
        done();
      };
    });
    resolve = undefined;
  };

  return {
    /** Resources touched since the last call. */
    take(): Touched[] {
      const taken = [...dirty.values()];
      dirty = new Map();
      return taken;
    },
    /** Resolves at the next touch, at an abort, or at the latest after the heartbeat. */
    async next(): Promise<void> {
      await wait(() => ring || signal.aborted, LIMITS.heartbeatMs);
      const rest = PACE_MS - (clock.monotonic() - lastAt);
      if (rest > 0) await wait(() => signal.aborted, rest);
      ring = false;
      lastAt = clock.monotonic();
    },
    close(): void {
      unsubscribe();
      signal.removeEventListener("abort", wakeUp);
    },
  };
}
