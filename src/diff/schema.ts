import { z } from "zod";
import { PLAN_VERSION } from "../model/plan.ts";

const owner = z.strictObject({ kind: z.enum(["sync", "apply", "person"]), name: z.string() });

const change = z
  .strictObject({
    path: z.string().describe("Path of a manifest: spec.merge.method, steps[name=build].run"),
    before: z.json().optional(),
    after: z.json().optional(),
  })
  .describe("One field that differs; before or after is absent where the field is.");

const current = z
  .strictObject({
    uid: z.string(),
    resourceVersion: z.number().int(),
    generation: z.number().int(),
    specHash: z.string(),
    file: z.string().optional(),
    spec: z.json().optional().describe("For an update whose spec differs."),
  })
  .describe("The stored resource that the plan saw.");

const desired = z
  .strictObject({
    file: z.string(),
    line: z.number().int(),
    column: z.number().int(),
    specHash: z.string(),
    labels: z.record(z.string(), z.string()),
    dependsOn: z.array(z.string()),
    prune: z.boolean().optional(),
    suspend: z.boolean().optional(),
    spec: z.json().optional().describe("For create and update."),
  })
  .describe("What a spec file declares.");

const action = z.strictObject({
  kind: z.enum(["create", "update", "unchanged", "move", "prune", "conflict", "invalid"]),
  resourceManager: z.string(),
  key: z.string(),
  reasons: z.array(z.string()),
  current: current.optional(),
  desired: desired.optional(),
  changes: z.array(change).optional(),
  owner: owner.optional().describe("Who owns the stored resource; for update and conflict."),
});

const reasons = z.array(z.string());

const prune = z
  .discriminatedUnion("state", [
    z.strictObject({ state: z.literal("clear") }),
    z.strictObject({ state: z.literal("blocked"), reasons }),
    z.strictObject({
      state: z.literal("held"),
      reasons,
      hash: z.string().describe("Confirms exactly this set: --confirm-prune HASH."),
    }),
  ])
  .describe("Whether the actions of kind prune are carried out.");

const problem = z.strictObject({
  file: z.string(),
  line: z.number().int(),
  column: z.number().int(),
  path: z.string(),
  message: z.string(),
  frame: z.string().optional(),
});

const count = z.number().int().nonnegative();

/** A plan as it is shown: secrets masked, bodies only where they change. What `-o json` prints. */
export const planJsonSchema = z
  .strictObject({
    version: z.literal(PLAN_VERSION),
    id: z.string().describe("For apply --plan ID."),
    project: z.string(),
    owner,
    storeRevision: z.number().int(),
    counts: z.strictObject({
      create: count,
      update: count,
      unchanged: count,
      move: count,
      prune: count,
      conflict: count,
      invalid: count,
    }),
    prune,
    problems: z.array(problem),
    actions: z.array(action).describe("In the order in which apply does them."),
  })
  .describe("What apply would do. Values of secret fields read *** (N): equal values, equal N.");

/** The value that every renderer takes; only `maskPlan` makes one. */
export type ShownPlan = z.infer<typeof planJsonSchema>;
export type ShownAction = ShownPlan["actions"][number];
export type ShownChange = NonNullable<ShownAction["changes"]>[number];
