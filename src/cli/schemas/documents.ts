import { z } from "zod";
import type { WaitOutcome } from "../../apply/waiting.ts";
import { planJsonSchema } from "../../diff/schema.ts";
import { ERRORS, type ErrorCode, type ErrorJson } from "../../model/errors.ts";
import type { ActionReceipt } from "../../model/plan.ts";
import type { ServerStatus, WatchItem } from "../../server/protocol.ts";
import type { Diagnosis } from "../../server/doctor.ts";
import type { Backup, Restored } from "../../server/backup.ts";
import type { DeleteReceipt } from "../../store/store.ts";
import type { ApplyResult } from "../apply-result.ts";
import type { Details } from "../details.ts";
import type { Present } from "../present.ts";
import type { Readiness } from "../readiness.ts";
import type { ShownSync } from "../sync-text.ts";
import type { Link } from "../timeline.ts";
import { exactly } from "./exactly.ts";
import {
  condition,
  count,
  effect,
  effectListing,
  event,
  generation,
  json,
  origin,
  pass,
  queueEntry,
  resourceSummary,
  storedResource,
  time,
} from "./resource.ts";
import { RUN_DOCUMENTS, runSummary } from "./run.ts";
import { problem, pruneRecord, shownSync, syncStatus } from "./sync.ts";
import { WORKFLOW_DOCUMENTS } from "./workflows.ts";

const errorJson = exactly<ErrorJson>()(
  z
    .strictObject({
      code: z.enum(Object.keys(ERRORS) as ErrorCode[]),
      message: z.string().describe("What happened"),
      hint: z.string().describe("What to do about it"),
      details: z.record(z.string(), json).exactOptional(),
    })
    .meta({ id: "Error" }),
);

const failure = z.strictObject({
  error: errorJson.extend({ stack: z.string().exactOptional().describe("With --verbose") }),
});

const readinessMembers = {
  ready: z.enum(["True", "False", "Unknown"]),
  reason: z.string(),
  message: z.string().exactOptional(),
};
const readiness = exactly<Readiness>()(z.strictObject(readinessMembers));

const waitOutcome = exactly<WaitOutcome>()(
  z
    .strictObject({
      resourceManager: z.string(),
      key: z.string(),
      uid: z.string().exactOptional(),
      generation: count.exactOptional(),
      state: z
        .enum(["met", "stalled", "suspended"])
        .describe("stalled: the runtime has stopped trying; suspended: a person has stopped it"),
      condition: condition.exactOptional(),
    })
    .meta({ id: "WaitOutcome" }),
);

const actionReceipt = exactly<ActionReceipt>()(
  z.strictObject({
    kind: planJsonSchema.shape.actions.element.shape.kind,
    resourceManager: z.string(),
    key: z.string(),
    outcome: z.enum(["done", "skipped", "failed"]),
    uid: z.string().exactOptional(),
    generation: count.exactOptional(),
    resourceVersion: count.exactOptional(),
    message: z.string().exactOptional(),
  }),
);

const applyResult = exactly<ApplyResult>()(
  z.strictObject({
    planId: z.string(),
    actions: z.array(actionReceipt),
    storeRevision: count,
    prune: planJsonSchema.shape.prune,
    problems: planJsonSchema.shape.problems,
    workflowProblems: z
      .array(problem)
      .describe("Of workflows: those can't be started, and nothing else waits for them"),
    waited: z.array(waitOutcome).describe("What became of --wait"),
    error: errorJson.exactOptional().describe("Why it is not all done"),
  }),
);

const plan = planJsonSchema.meta({ id: "Plan" });

const details = exactly<Details>()(
  z.strictObject({
    resource: storedResource,
    queue: queueEntry.exactOptional().describe("Absent where nothing is to be done"),
    effects: z.array(effectListing),
    workflows: z.array(runSummary).describe("Its child runs, the newest first; of many, the latest"),
    passes: z.array(pass).describe("Newest first"),
    events: z.array(event).describe("The latest ones, oldest first"),
  }),
);

const why = z.strictObject({
  resource: resourceSummary,
  readiness,
  timeline: z.array(
    exactly<Link>()(
      z.strictObject({
        at: time,
        kind: z.enum([
          "spec",
          "generation",
          "queue",
          "pass",
          "effect",
          "run",
          "condition",
          "deletion",
        ]),
        text: z.string(),
      }),
    ),
  ),
  now: exactly<Present>()(
    z.strictObject({ state: z.string(), sentences: z.array(z.string()) }),
  ).describe("What it waits for"),
});

const resourceManagers = z.strictObject({
  resourceManagers: z.array(
    z.strictObject({
      project: z.string(),
      name: z.string(),
      path: z.string().exactOptional().describe("Of its definition; absent where there is none"),
      resources: z.array(z.strictObject({ key: z.string(), ...readinessMembers })),
    }),
  ),
});

const watchItem = exactly<Exclude<WatchItem, { kind: "listed" }>>()(
  z.strictObject({ kind: z.enum(["present", "removed"]), resource: resourceSummary }),
);

const history = z.strictObject({
  generations: z
    .array(
      generation.extend({
        changes: planJsonSchema.shape.actions.element.shape.changes
          .unwrap()
          .exactOptional()
          .describe("With --diff; absent for the first"),
      }),
    )
    .describe("Newest first"),
});

const blame = z.strictObject({
  fields: z.array(
    z.strictObject({ path: z.string(), value: json, generation: count, origin, at: time }),
  ),
});

const deleteReceipt = exactly<DeleteReceipt>()(
  z.strictObject({
    uid: z.string(),
    removed: z.boolean().describe("False while its manager must still clean up"),
    finalizers: z.array(z.string()),
    unsettledEffects: z.array(effect).describe("What may be left behind"),
  }),
);

const suspension = z.strictObject({ resource: resourceSummary });

const helloMembers = {
  version: z.string(),
  protocol: count,
  pid: count,
  home: z.string(),
  stopping: z.literal(true).exactOptional(),
};

const serverStatus = exactly<ServerStatus>()(
  z.strictObject({
    ...helloMembers,
    startedAt: time,
    store: z.strictObject({
      storeId: z.string(),
      epoch: count,
      revision: count,
      schemaVersion: count,
      sqliteVersion: z.string(),
      resources: count,
    }),
    lanes: z.array(
      z.strictObject({
        lane: count,
        project: z.string(),
        manager: z.string(),
        ready: count,
        running: count,
        nextReadyAt: time.exactOptional(),
      }),
    ),
    runners: z.strictObject({ alive: count, busy: count }),
    passes: z.strictObject({ running: count, done: count, failed: count }),
    runs: z.strictObject({ pending: count, running: count, waiting: count, interrupted: count }),
    walBytes: count,
    webhookPort: count.exactOptional(),
  }),
);

const diagnosis = z.strictObject({
  home: z.string(),
  ok: z.boolean().describe("False where there is a problem"),
  findings: z.array(
    z.strictObject({
      check: z.string(),
      level: z.enum(["ok", "warning", "problem"]),
      message: z.string(),
      hint: z.string().exactOptional().describe("What to do"),
    }),
  ),
});

const backupMembers = {
  file: z.string(),
  takenAt: time,
  storeId: z.string().describe("Of the store that was copied"),
  schemaVersion: count,
  resources: count,
  openRuns: count,
  openEffects: count,
  files: count.describe("Files of definitions"),
  missing: z.array(z.string()).describe("Digests of definitions of which no file was found"),
};
const backup = z.strictObject({ ...backupMembers, bytes: count });
const restored = z.strictObject({
  ...backupMembers,
  newStoreId: z.string(),
  kept: z.string().exactOptional().describe("Where the database that it replaced was put"),
});

const syncs = z.strictObject({ syncs: z.array(exactly<ShownSync>()(shownSync)) });

/**
 * What each verb prints with `-o json`: one document, or where the name ends in `-watch` or
 * `-follow`, and for `server-logs` and `run-logs`, one on each line. A verb that fails prints `error` instead.
 */
const DOCUMENTS = {
  error: failure,
  ...WORKFLOW_DOCUMENTS,
  ...RUN_DOCUMENTS,
  apply: z.union([applyResult, plan]).describe("The plan with --dry-run"),
  diff: plan,
  "diff-watch": z.union([plan, failure]),
  "sync-enable": syncStatus,
  "sync-disable": z.strictObject({ disabled: z.boolean() }),
  "sync-status": syncs,
  "sync-status-watch": syncs,
  "sync-now": syncStatus,
  "sync-suspend": syncStatus,
  "sync-resume": syncStatus,
  "sync-confirm-prune": syncStatus,
  "sync-prunes": z.strictObject({ prunes: z.array(pruneRecord) }),
  get: z.union([z.strictObject({ items: z.array(resourceSummary) }), storedResource]),
  "get-watch": watchItem,
  describe: details,
  "resource-managers": resourceManagers,
  "resource-manager": details,
  delete: deleteReceipt,
  reconcile: z.strictObject({ enqueued: count }),
  wait: z.strictObject({ outcomes: z.array(waitOutcome) }),
  suspend: suspension,
  resume: suspension,
  undelete: storedResource,
  why,
  events: z.strictObject({ events: z.array(event).describe("Oldest first") }),
  "events-follow": event,
  history,
  effects: z.strictObject({ effects: z.array(effectListing) }),
  "effect-resolve": z.strictObject({ effect }),
  blame,
  doctor: exactly<Diagnosis>()(diagnosis),
  backup: exactly<Backup>()(backup),
  restore: exactly<Restored>()(restored),
  repair: z.strictObject({ enqueued: count, dryRun: z.boolean() }),
  "prune-history": z.strictObject({ resources: count, runs: count, dryRun: z.boolean() }),
  "server-start": z.strictObject({ ...helloMembers, started: z.boolean() }),
  "server-stop": z.union([
    z.strictObject({ stopped: z.literal(true), pid: count }),
    z.strictObject({ stopped: z.literal(false) }),
  ]),
  "server-status": serverStatus,
  "server-logs": z.looseObject({
    message: z.string(),
    time: z.string().exactOptional(),
    level: z.string().exactOptional(),
  }),
} satisfies Record<string, z.ZodType>;

/** The documents by the name of their verb, its words joined by `-`. */
export type Documents = {
  [Name in keyof typeof DOCUMENTS]: z.output<(typeof DOCUMENTS)[Name]>;
};

/** The JSON Schema of all of them: one definition each. */
export function documentsJsonSchema(): object {
  const named = Object.entries(DOCUMENTS).map(([id, type]: [string, z.ZodType]) =>
    type.meta({ ...type.meta(), id }),
  );
  return z.toJSONSchema(z.union(named));
}
