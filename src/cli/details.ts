import type { ResourceEvent } from "../model/event.ts";
import type { PassRecord } from "../model/pass.ts";
import type { QueueEntry } from "../model/queue.ts";
import type { ResourceRef, StoredResource } from "../model/resource.ts";
import type { RunSummary } from "../model/run.ts";
import type { EffectListing, StoreReader } from "../store/store.ts";
import { findResource } from "./find.ts";

/** Everything that is stored of one resource. */
export type Details = {
  resource: StoredResource;
  /** Absent where nothing is to be done. */
  queue?: QueueEntry;
  effects: EffectListing[];
  /** Its child runs, the newest first; of many, the latest. */
  workflows: RunSummary[];
  /** Newest first. */
  passes: PassRecord[];
  /** The latest ones, oldest first. */
  events: ResourceEvent[];
};

const EVENTS_SHOWN = 20;
const RUNS_SHOWN = 20;

/**
 * Reads one resource with all that belongs to it.
 * @throws PiWorkflowsError NOT_FOUND
 */
export async function readDetails(reader: StoreReader, ref: ResourceRef): Promise<Details> {
  const resource = await findResource(reader, ref);
  const { uid } = resource.resource.metadata;
  const [queue] = await reader.queue({ uid });
  return {
    resource,
    ...(queue ? { queue } : {}),
    effects: await reader.effects({ uid }),
    workflows: (await reader.runs({ parentUid: uid, limit: RUNS_SHOWN })).items,
    passes: await reader.passes(uid),
    events: (await reader.events({ uid, limit: EVENTS_SHOWN, newestFirst: true })).reverse(),
  };
}
