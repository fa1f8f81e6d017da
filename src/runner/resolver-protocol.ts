import { z } from "zod";
import { graphSchema } from "../model/graph-schema.ts";
import { LIMITS } from "../model/limits.ts";
import { managerName } from "../model/manifest.ts";
import { sourceDefinitionSchema } from "../model/source.ts";
import type { LoadRequest } from "../sources/load.ts";

/**
 * The messages between a process that loads specs and its resolver, one JSON line each over file
 * descriptor 3. Project code runs in the resolver and can write there too, so the parent checks the
 * shape of all that comes; what a definition says of itself is judged again where it is accepted.
 */
export const REPORTS_FD = 3;

/** What the parent sends, once. */
export type ResolverRequest = LoadRequest & {
  /** Whether each file is marked before its code runs (see resolver-marks.ts). */
  exactMarks: boolean;
};

const text = z.string();
const count = z.int().min(0);
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const jsonSchema = z.record(z.string(), z.unknown());

const problem = z.strictObject({
  file: text,
  line: count,
  column: count,
  path: text,
  message: text,
  frame: text.exactOptional(),
  specFile: text.exactOptional(),
});
const definition = {
  name: managerName,
  path: text,
  digest: sha256,
  inputs: z.array(z.strictObject({ path: text, sha256 })),
  secretPaths: z.array(text),
  deadlineMs: z.int().min(1).max(LIMITS.maxRequeueMs),
  bundle: text,
  revision: z.strictObject({ gitDir: text, commit: text }).exactOptional(),
};
const scope = z.enum(["project", "global"]);
const manager = z.strictObject({
  ...definition,
  scope: z.enum([...scope.options, "hosted"]),
  specSchema: jsonSchema.exactOptional(),
  storedSchema: jsonSchema.exactOptional(),
  statusSchema: jsonSchema.exactOptional(),
  sources: z.array(sourceDefinitionSchema),
  maxConcurrent: z.int().min(1).max(LIMITS.maxConcurrent),
});
const workflow = z.strictObject({
  ...definition,
  scope,
  inputSchema: jsonSchema.exactOptional(),
  outputSchema: jsonSchema.exactOptional(),
  graph: graphSchema,
});
const workflowFile = z.strictObject({
  name: text,
  path: text,
  scope,
  shadowed: z.boolean(),
});

const resolverReport = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("managers"), items: z.array(manager) }),
  z.strictObject({ kind: z.literal("problems"), items: z.array(problem) }),
  z.strictObject({
    kind: z.literal("files"),
    items: z.array(z.strictObject({ file: text, sha256 })),
  }),
  z.strictObject({ kind: z.literal("imports"), items: z.record(text, z.array(text)) }),
  /** All but workflows has been sent. */
  z.strictObject({ kind: z.literal("specsLoaded") }),
  z.strictObject({
    kind: z.literal("workflows"),
    files: z.array(workflowFile),
    workflows: z.array(workflow),
    problems: z.array(problem),
  }),
  z.strictObject({ kind: z.literal("done") }),
  /** The loader itself failed: a mistake in this product. */
  z.strictObject({ kind: z.literal("failed"), message: text }),
]);

/** What the child sends besides manifests: parts of the result as they are found, then `done`. */
export type ResolverReport = z.infer<typeof resolverReport>;

/** Reads one report. @throws Error where it has not the form of one */
export function parseReport(frame: string): ResolverReport {
  return resolverReport.parse(JSON.parse(frame));
}
