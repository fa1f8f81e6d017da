import { z } from "zod";
import type { Condition } from "../../model/condition.ts";
import type { StoredEffect } from "../../model/effect.ts";
import type { ResourceEvent } from "../../model/event.ts";
import type { PassRecord } from "../../model/pass.ts";
import { QUEUE_CLASSES, type QueueEntry, type WakeCause } from "../../model/queue.ts";
import type { Origin, Owner, ResourceSummary, StoredResource } from "../../model/resource.ts";
import type { EffectListing, GenerationRecord } from "../../store/store.ts";
import { exactly } from "./exactly.ts";

/** A whole number from zero up. */
export const count = z.int().nonnegative();
/** Any JSON. */
export const json = z.unknown();
export const time = z.int().describe("Epoch milliseconds, UTC");
export const isoTime = z.string().meta({ format: "date-time", description: "ISO 8601" });
const duration = z.number().nonnegative().describe("Milliseconds");
const names = z.array(z.string());

const owner = exactly<Owner>()(
  z
    .strictObject({ kind: z.enum(["sync", "apply", "person"]), name: z.string() })
    .meta({ id: "Owner", description: "Who alone may change or prune a resource without force" }),
);

export const origin = exactly<Origin>()(
  z
    .strictObject({
      owner,
      file: z.string().exactOptional().describe("Relative to the project"),
      line: count.exactOptional(),
      blob: z.string().exactOptional().describe("Object id of the file's content in the commit"),
      commit: z.string().exactOptional(),
      author: z.string().exactOptional().describe("Of the commit: NAME <EMAIL>"),
      committedAt: time.exactOptional(),
      dirty: z.boolean().exactOptional().describe("True where the files differed from the commit"),
      command: z.string().exactOptional().describe("What a person ran"),
    })
    .meta({ id: "Origin", description: "Where one generation of a spec came from" }),
);

export const condition = exactly<Condition>()(
  z
    .strictObject({
      type: z.string(),
      status: z.union([z.boolean(), z.literal("unknown")]),
      reason: z.string().describe("CamelCase, stable, for programs"),
      message: z.string().exactOptional().describe("A sentence for people"),
      observedGeneration: count.describe("An older one than the resource's proves nothing"),
      lastTransitionTime: isoTime.describe("ISO 8601; moves only when the status changes"),
    })
    .meta({ id: "Condition" }),
);

const metadata = exactly<StoredResource["resource"]["metadata"]>()(
  z
    .strictObject({
      uid: z.string().describe("Stable for the life of the resource, never used again"),
      resourceManager: z.string(),
      key: z.string(),
      resourceVersion: count.describe("Changes with every write"),
      generation: count.describe("Changes with the spec and with the request to delete"),
      deletionTimestamp: isoTime.exactOptional(),
      finalizers: names.describe("What its manager must clean up before it is gone"),
    })
    .meta({ id: "Metadata" }),
);

const workflowRun = z
  .strictObject({
    requestId: z.string(),
    runId: z.string().exactOptional(),
    state: z.enum(["pending", "running", "waiting", "succeeded", "failed", "interrupted"]),
    attempt: count,
  })
  .meta({ id: "WorkflowRun" });

/** What the store keeps beyond what a manager sees. */
const kept = {
  project: z.string().describe("Canonical path"),
  specHash: z.string(),
  labels: z.record(z.string(), z.string()),
  dependsOn: names.describe("Each MANAGER/KEY"),
  owner,
  origin,
  prunable: z.boolean().describe("False where its spec file says prune: false"),
  suspended: z.boolean(),
  createdAt: time,
  updatedAt: time,
};

export const storedResource = exactly<StoredResource>()(
  z
    .strictObject({
      ...kept,
      resource: z.strictObject({
        metadata,
        spec: json.describe("Secret fields read ***"),
        status: z.strictObject({
          observedGeneration: count,
          conditions: z.array(condition),
          workflowRun: workflowRun.exactOptional(),
          resourceManagerStatus: json,
        }),
      }),
    })
    .meta({ id: "Resource" }),
);

export const resourceSummary = exactly<ResourceSummary>()(
  z
    .strictObject({
      ...kept,
      metadata,
      observedGeneration: count,
      conditions: z.array(condition),
      workflowRun: workflowRun.exactOptional(),
    })
    .meta({ id: "ResourceSummary", description: "A resource without its spec and status" }),
);

const effectMembers = z.strictObject({
  key: z.string(),
  resourceUid: z.string(),
  generation: count,
  requestFingerprint: z.string(),
  state: z.enum(["pending", "applied", "rejected", "indeterminate"]),
  externalRef: z.string().exactOptional().describe("What the provider calls the result"),
  startedAt: isoTime,
  completedAt: isoTime.exactOptional(),
  kind: z.string(),
  request: json,
  result: json.exactOptional(),
  reason: z.string().exactOptional().describe("Why it was rejected or can't be told"),
  attempts: count.describe("Calls made to the provider"),
  parked: z.boolean().describe("True where it waits for a person or a later observation"),
  sequence: count.describe("Store-wide order of the latest move"),
});

export const effect = exactly<StoredEffect>()(effectMembers.meta({ id: "Effect" }));

export const effectListing = exactly<EffectListing>()(
  effectMembers
    .extend({ project: z.string(), resourceManager: z.string(), resourceKey: z.string() })
    .meta({ id: "EffectListing", description: "An effect with the resource that it is of" }),
);

export const event = exactly<ResourceEvent>()(
  z
    .strictObject({
      sequence: count.describe("Store-wide order"),
      uid: z.string(),
      project: z.string(),
      resourceManager: z.string(),
      key: z.string(),
      type: z.enum(["Normal", "Warning"]),
      reason: z.string().describe("CamelCase, for programs"),
      message: z.string(),
      payload: json.exactOptional(),
      count: count.describe("How often it happened: equal events are folded into one"),
      firstAt: time,
      lastAt: time,
    })
    .meta({ id: "Event" }),
);

const cause = exactly<WakeCause>()(
  z
    .union([
      z.enum(["spec", "delete", "request", "schedule", "requeue", "retry", "effect", "child"]),
      z.enum(["status", "recovery", "repair", "source"]),
      z.templateLiteral([z.enum(["cron", "files", "watch", "webhook"]), ":", z.string()]),
    ])
    .meta({ id: "Cause", description: "Why a key was looked at" }),
);

export const pass = exactly<PassRecord>()(
  z
    .strictObject({
      reconcileId: z.string(),
      uid: z.string(),
      project: z.string(),
      resourceManager: z.string(),
      key: z.string(),
      generation: count,
      cause,
      outcome: z.enum(["settled", "requeue", "requeueAfter", "failed", "parked", "crashed"]),
      detail: z.string().exactOptional(),
      requeueAfterMs: duration.exactOptional(),
      startedAt: time,
      durationMs: duration,
    })
    .meta({ id: "Pass" }),
);

export const queueEntry = exactly<QueueEntry>()(
  z
    .strictObject({
      uid: z.string(),
      project: z.string(),
      resourceManager: z.string(),
      key: z.string(),
      class: z.enum(QUEUE_CLASSES),
      cause,
      readyAt: time,
      attempts: count.describe("Failed passes in a row"),
      crashAttempts: count.describe("Passes in a row that ended without an answer"),
      claimed: z.boolean().describe("True while a pass runs"),
      dirty: z.boolean().describe("True where another pass will follow it"),
    })
    .meta({ id: "QueueEntry" }),
);

export const generation = exactly<GenerationRecord>()(
  z.strictObject({
    generation: count,
    spec: json,
    specHash: z.string(),
    origin,
    at: time,
  }),
);
