import type { Json } from "./canonical.ts";

/** One thing that happened to a resource; repeated events are folded into one with a count. */
export type ResourceEvent = {
  /** Store-wide order; the cursor of streams. */
  sequence: number;
  uid: string;
  project: string;
  resourceManager: string;
  key: string;
  type: "Normal" | "Warning";
  /** CamelCase, e.g. `SpecChanged`, `EffectApplied`, `HotLoop`. */
  reason: string;
  message: string;
  /** At most LIMITS.eventPayload bytes. */
  payload?: Json;
  count: number;
  /** Epoch milliseconds, UTC. */
  firstAt: number;
  lastAt: number;
};

/** An event as it is written: the store adds order, count and times. */
export type EventInput = Pick<ResourceEvent, "type" | "reason" | "message" | "payload">;
