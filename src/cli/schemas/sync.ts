import { z } from "zod";
import { planJsonSchema } from "../../diff/schema.ts";
import type { Problem } from "../../model/manifest.ts";
import {
  SYNC_CONDITIONS,
  type PendingPrune,
  type PruneRecord,
  type StoredSyncSet,
  type SyncAttempt,
  type SyncReport,
  type SyncRevision,
  type SyncSet,
} from "../../model/sync.ts";
import type { SyncStatus } from "../../server/protocol.ts";
import { exactly } from "./exactly.ts";
import { count, isoTime, time } from "./resource.ts";

const place = { file: z.string(), line: count, column: count };

/** A problem with a file. */
export const problem = exactly<Problem>()(
  z
    .strictObject({
      ...place,
      path: z.string().describe("Path of the field; empty where it is about the file"),
      message: z.string(),
      frame: z.string().exactOptional().describe("The lines around the place"),
      specFile: z.string().exactOptional().describe("The spec file that imports the file"),
    })
    .meta({ id: "Problem" }),
);

const set = exactly<SyncSet>()(
  z
    .strictObject({
      project: z.string().describe("Canonical path"),
      commonDir: z.string().exactOptional().describe("The repository; absent without git"),
      source: z.discriminatedUnion("kind", [
        z.strictObject({ kind: z.literal("committed"), branch: z.string() }),
        z.strictObject({ kind: z.literal("working-tree") }),
      ]),
      roots: z.array(z.string()),
      prune: z.boolean(),
      guard: z.strictObject({ count, fraction: z.number() }).exactOptional(),
      suspended: z.boolean(),
      enabledAt: time,
      enabledBy: z.string(),
    })
    .meta({ id: "SyncSet" }),
);

const revision = exactly<SyncRevision>()(
  z
    .strictObject({
      id: z.string().describe("A commit, or the hash of what a scan found"),
      kind: z.enum(["commit", "scan"]),
      tree: z.string().exactOptional(),
      author: z.string().exactOptional(),
      committedAt: time.exactOptional(),
      subject: z.string().exactOptional(),
    })
    .meta({ id: "Revision" }),
);

const attempt = exactly<SyncAttempt>()(
  z
    .strictObject({
      revision,
      at: time,
      durationMs: count,
      outcome: z.enum(["applied", "incomplete", "planned", "failed"]),
      counts: planJsonSchema.shape.counts.exactOptional(),
      error: z.string().exactOptional(),
    })
    .meta({ id: "SyncAttempt" }),
);

const pruneItem = z
  .strictObject({
    resourceManager: z.string(),
    key: z.string(),
    uid: z.string(),
    generation: count,
    file: z.string().describe("What declared it"),
    reason: z.string(),
    removedBy: revision.exactOptional(),
    dependents: z.array(z.string()).describe("What stays and depends on it, each MANAGER/KEY"),
  })
  .meta({ id: "PruneItem" });

const pendingPrune = exactly<PendingPrune>()(
  z
    .strictObject({
      state: z.enum(["blocked", "held"]),
      reasons: z.array(z.string()),
      hash: z.string().exactOptional().describe("For sync confirm-prune HASH"),
      items: z.array(pruneItem),
      since: time,
      revision: z.string(),
    })
    .meta({ id: "PendingPrune" }),
);

const report = exactly<SyncReport>()(
  z
    .strictObject({
      attempted: attempt.exactOptional(),
      applied: attempt.exactOptional(),
      conditions: z.array(
        z.strictObject({
          type: z.enum(SYNC_CONDITIONS),
          status: z.boolean(),
          reason: z.string(),
          message: z.string().exactOptional(),
          revision: z.string().exactOptional(),
          lastTransitionTime: isoTime,
        }),
      ),
      problems: z.array(problem),
      workflowProblems: z
        .array(problem)
        .exactOptional()
        .describe("Of workflows: those can't be started, and nothing else waits for them"),
      conflicts: z.array(z.string()),
      drift: z.array(
        z.strictObject({
          resourceManager: z.string(),
          key: z.string(),
          by: z.string(),
          fields: z.array(z.string()),
          place: z.strictObject(place),
          at: time,
          setRight: z.boolean(),
        }),
      ),
      pendingPrune: pendingPrune.exactOptional(),
    })
    .meta({ id: "SyncReport" }),
);

const activity = exactly<SyncStatus["activity"]>()(
  z.strictObject({
    state: z.enum(["waiting", "settling", "loading", "planning", "applying", "retrying"]),
    since: time,
    revision: z.string().exactOptional(),
    retryAt: time.exactOptional(),
  }),
);

const stored = exactly<StoredSyncSet>()(z.strictObject({ set, report }));

/** A sync as the server reports it. */
export const syncStatus = exactly<SyncStatus>()(
  stored.extend({ activity }).meta({ id: "SyncStatus" }),
);

/** The same where no server may run. */
export const shownSync = stored.extend({
  activity: activity.exactOptional().describe("Absent where no server runs"),
});

export const pruneRecord = exactly<PruneRecord>()(
  z
    .strictObject({
      revision: z.string(),
      items: z.array(pruneItem),
      at: time,
      hash: z.string().exactOptional(),
      confirmedBy: z.string().exactOptional(),
    })
    .meta({ id: "PruneRecord" }),
);
