import { z } from "zod";
import { LIMITS } from "../model/limits.ts";
import { managerName, resourceKey } from "../model/manifest.ts";
import { sourceDefinitionSchema } from "../model/source.ts";
import type { Params, RouteName, StreamApi, StreamName } from "./protocol.ts";
import {
  count,
  cursor,
  flag,
  jsonSchema,
  jsonText,
  project,
  sha256,
  uid,
} from "./request-parts.ts";
import { RUN_REQUESTS, RUN_STREAM_REQUESTS } from "./run-schemas.ts";

const ref = z.strictObject({ project, resourceManager: managerName, key: resourceKey });
const count0 = z.int().min(0);
const shortText = z.string().max(LIMITS.message);

const owner = z.strictObject({
  kind: z.enum(["sync", "apply", "person"]),
  name: z.string().min(1).max(LIMITS.key),
});
const origin = z.strictObject({
  owner,
  file: z.string().max(4_096).exactOptional(),
  line: count0.exactOptional(),
  blob: z.string().max(128).exactOptional(),
  commit: z.string().max(128).exactOptional(),
  author: z.string().max(LIMITS.message).exactOptional(),
  committedAt: count0.exactOptional(),
  dirty: z.boolean().exactOptional(),
  command: shortText.exactOptional(),
});
const labels = z
  .record(z.string().min(1).max(LIMITS.label), z.string().max(LIMITS.label))
  .refine((found) => Object.keys(found).length <= LIMITS.labels, `at most ${LIMITS.labels}`);

// Sizes in bytes are checked where the text is parsed; here a first bound in characters.
const write = z.strictObject({
  spec: z.string().min(1).max(LIMITS.spec),
  specHash: sha256,
  initialStatus: z.string().min(1).max(LIMITS.status),
  labels,
  dependsOn: z
    .array(
      z
        .string()
        .min(3)
        .max(LIMITS.name + LIMITS.key + 1),
    )
    .max(LIMITS.dependsOn),
  prunable: z.boolean(),
  suspended: z.boolean(),
  origin,
});
const identity = { manager: managerName, key: resourceKey };
const change = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("create"), ...identity, write, expected: z.literal(0) }),
  z.strictObject({ kind: z.enum(["update", "move"]), ...identity, write, expected: count0 }),
  z.strictObject({ kind: z.literal("prune"), ...identity, expected: count0, origin }),
]);

const proposal = z.strictObject({
  name: managerName,
  path: z.string().min(1).max(4_096),
  scope: z.enum(["project", "global", "hosted"]),
  digest: sha256,
  inputs: z.array(z.strictObject({ path: z.string().min(1).max(4_096), sha256 })).max(10_000),
  specSchema: jsonSchema.exactOptional(),
  storedSchema: jsonSchema.exactOptional(),
  statusSchema: jsonSchema.exactOptional(),
  secretPaths: z.array(z.string().max(LIMITS.message)).max(1_000),
  sources: z.array(sourceDefinitionSchema).max(LIMITS.sources),
  deadlineMs: z.int().min(1).max(LIMITS.maxDeadlineMs),
  maxConcurrent: z.int().min(1).max(LIMITS.maxConcurrent),
  bundle: z.string().min(1).max(LIMITS.bundle),
});

const list = z.strictObject({
  project: project.exactOptional(),
  manager: managerName.exactOptional(),
  labels: z.union([labels, jsonText.pipe(labels)]).exactOptional(),
  owner: z.union([owner, jsonText.pipe(owner)]).exactOptional(),
  notReady: flag.exactOptional(),
  limit: count.exactOptional(),
  after: z.string().max(8_192).exactOptional(),
});
const nothing = z.strictObject({});

/** What each route takes; unknown members are refused. */
export const REQUESTS = {
  hello: nothing,
  status: nothing,
  metrics: nothing,
  snapshot: z.strictObject({ project }),
  specs: z.strictObject({ uids: z.array(uid).max(10_000) }),
  managers: z.strictObject({ project: project.exactOptional() }),
  acceptManagers: z.strictObject({ project, proposals: z.array(proposal).max(LIMITS.batch) }),
  commit: z.strictObject({ project, changes: z.array(change).max(LIMITS.batch) }),
  get: ref,
  list,
  effects: z.strictObject({
    uid: uid.exactOptional(),
    project: project.exactOptional(),
    open: flag.exactOptional(),
    limit: count.exactOptional(),
  }),
  history: ref,
  passes: z.strictObject({ uid, limit: count.exactOptional() }),
  queue: z.strictObject({
    uid: uid.exactOptional(),
    project: project.exactOptional(),
    limit: count.exactOptional(),
  }),
  delete: z.strictObject({ ref, origin, force: z.boolean().exactOptional() }),
  suspend: z.strictObject({ ref, suspended: z.boolean() }),
  reconcile: z.strictObject({
    target: z.union([ref, z.strictObject({ project, resourceManager: managerName })]),
  }),
  resolveEffect: z.strictObject({
    uid,
    key: z.string().min(1).max(LIMITS.effectKey),
    outcome: z.discriminatedUnion("state", [
      z.strictObject({ state: z.literal("applied"), externalRef: shortText.exactOptional() }),
      z.strictObject({ state: z.literal("rejected"), reason: shortText }),
    ]),
  }),
  repair: z.strictObject({ dryRun: z.boolean().exactOptional() }),
  pruneHistory: z.strictObject({
    olderThanMs: z.int().min(0),
    dryRun: z.boolean().exactOptional(),
  }),
  syncEnable: z.strictObject({
    project,
    branch: z.string().min(1).max(1_024).exactOptional(),
    workingTree: z.boolean().exactOptional(),
    roots: z.array(z.string().min(1).max(4_096)).min(1).max(100).exactOptional(),
    prune: z.boolean().exactOptional(),
    guard: z.strictObject({ count: count0, fraction: z.number().min(0).max(1) }).exactOptional(),
    worktree: z.string().min(1).max(4_096).exactOptional(),
  }),
  syncDisable: z.strictObject({ project }),
  syncStatus: z.strictObject({ project: project.exactOptional() }),
  syncNow: z.strictObject({ project, allowEmpty: z.boolean().exactOptional() }),
  syncSuspend: z.strictObject({ project, suspended: z.boolean() }),
  syncConfirmPrune: z.strictObject({
    project,
    hash: z
      .string()
      .regex(/^[0-9a-f]{12,64}$/, "must be the hash of a prune, or its first twelve digits"),
  }),
  prunes: z.strictObject({ project }),
  undelete: ref,
  stop: nothing,
  ...RUN_REQUESTS,
} satisfies { [R in RouteName]: z.ZodType<Params<R>> };

/** What each stream takes. */
export const STREAM_REQUESTS = {
  events: z.strictObject({
    project: project.exactOptional(),
    uid: uid.exactOptional(),
    after: cursor.exactOptional(),
  }),
  watch: list,
  sync: z.strictObject({ project: project.exactOptional() }),
  ...RUN_STREAM_REQUESTS,
} satisfies { [S in StreamName]: z.ZodType<StreamApi[S]["params"]> };

/** Every request by name, from which `schemas/` is generated. */
export function requestSchemas(): [name: string, schema: z.ZodType][] {
  return [...Object.entries(REQUESTS), ...Object.entries(STREAM_REQUESTS)];
}
