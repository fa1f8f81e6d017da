import { z } from "zod";
import type { Json } from "../model/canonical.ts";
import type { WorkflowProposal } from "../model/graph.ts";
import { graphSchema } from "../model/graph-schema.ts";
import { LIMITS } from "../model/limits.ts";
import { managerName } from "../model/manifest.ts";
import { RUN_STATES } from "../model/run.ts";
import { count, cursor, flag, jsonSchema, project, sha256, uid } from "./request-parts.ts";
import type { RunApi, RunStreamApi } from "./run-protocol.ts";

// Sizes are checked where values are stored; the request body bounds them here.
const json = z
  .unknown()
  .refine((value) => value !== undefined, "is missing")
  .transform((value) => value as Json);
const text = z.string().max(LIMITS.message);
const runId = uid;
const requestKey = z.string().min(1).max(LIMITS.key);
const session = z.string().min(1).max(LIMITS.key);
const visit = z.coerce.number().int().min(1);

// A path in the flat graph: the names of includes, slashes between them, and the node's own.
const node = z.string().min(1).max(LIMITS.key);
const workflowProposal = z.strictObject({
  name: managerName,
  path: z.string().min(1).max(4_096),
  scope: z.enum(["project", "global"]),
  digest: sha256,
  inputs: z.array(z.strictObject({ path: z.string().min(1).max(4_096), sha256 })).max(10_000),
  inputSchema: jsonSchema.exactOptional(),
  outputSchema: jsonSchema.exactOptional(),
  secretPaths: z.array(text).max(1_000),
  deadlineMs: z.int().min(1).max(LIMITS.maxRequeueMs),
  graph: graphSchema,
  bundle: z.string().min(1).max(LIMITS.bundle),
}) satisfies z.ZodType<WorkflowProposal>;

const query = z.strictObject({
  project: project.exactOptional(),
  workflow: managerName.exactOptional(),
  state: z.enum(RUN_STATES).exactOptional(),
  open: flag.exactOptional(),
  parentUid: uid.exactOptional(),
  session: session.exactOptional(),
  prefix: z.string().min(1).max(64).exactOptional(),
  limit: count.exactOptional(),
  after: z.string().max(8_192).exactOptional(),
});
const page = { after: cursor.exactOptional(), limit: count.exactOptional() };
const oneRun = z.strictObject({ runId });

/** What each route about workflows and runs takes; unknown members are refused. */
export const RUN_REQUESTS = {
  workflows: z.strictObject({ project: project.exactOptional() }),
  acceptWorkflows: z.strictObject({
    project,
    proposals: z.array(workflowProposal).max(LIMITS.batch),
  }),
  startRun: z.strictObject({
    project,
    workflow: managerName,
    input: json,
    session: session.exactOptional(),
    requestKey: requestKey.exactOptional(),
  }),
  run: oneRun,
  runs: query,
  journal: z.strictObject({ runId, ...page, bodies: flag.exactOptional() }),
  runLog: z.strictObject({ runId, ...page }),
  questions: z.strictObject({ runId: runId.exactOptional(), session: session.exactOptional() }),
  pauseRun: oneRun,
  resumeRun: oneRun,
  cancelRun: oneRun,
  answerRun: z.strictObject({
    runId,
    node: node.exactOptional(),
    visit: visit.exactOptional(),
    value: json,
  }),
  resolveRun: z.strictObject({
    runId,
    visit: visit.exactOptional(),
    resolution: z.discriminatedUnion("outcome", [
      z.strictObject({ outcome: z.literal("succeeded"), output: json.exactOptional() }),
      z.strictObject({ outcome: z.literal("failed"), message: text }),
      z.strictObject({ outcome: z.literal("retry") }),
    ]),
  }),
  retryRun: oneRun,
} satisfies { [R in keyof RunApi]: z.ZodType<RunApi[R]["params"]> };

/** What each stream about runs takes. */
export const RUN_STREAM_REQUESTS = {
  watchRuns: query,
  followRunLog: z.strictObject({ runId, after: cursor.exactOptional() }),
} satisfies { [S in keyof RunStreamApi]: z.ZodType<RunStreamApi[S]["params"]> };
